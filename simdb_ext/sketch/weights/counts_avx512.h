/* `counts`, 128 words at a time with carry-save adders: a positional population count (after Harley
   & Seal).  Bit planes hold the lowest four digits of 512 counters.  A word that is carried out of
   them is the mask of the byte counters that go up. */

#ifndef SIMDB_COUNTS_AVX512_H
#define SIMDB_COUNTS_AVX512_H

#include "cpu.h"

#if CPU_X86

#define BLOCK_AVX512 128   /* words: 16 vectors of 8 */
#define BLOCKS_AVX512 31   /* each carries at most 8 into a byte, which holds 255 */

struct planes_avx512 {
    __m512i one, two, four, eight;
};

/* Add two vectors to a plane and return the carry. */
CPU_AVX512 static inline __m512i carry_avx512(__m512i *plane, __m512i left, __m512i right)
{
    __m512i carried = _mm512_ternarylogic_epi64(*plane, left, right, 0xE8);
    *plane = _mm512_ternarylogic_epi64(*plane, left, right, 0x96);
    return carried;
}

CPU_AVX512 static inline __m512i carry_2_avx512(struct planes_avx512 *planes,
                                                const uint64_t *words)
{
    return carry_avx512(&planes->one, _mm512_loadu_si512(words), _mm512_loadu_si512(words + 8));
}

CPU_AVX512 static inline __m512i carry_4_avx512(struct planes_avx512 *planes,
                                                const uint64_t *words)
{
    __m512i left = carry_2_avx512(planes, words);
    return carry_avx512(&planes->two, left, carry_2_avx512(planes, words + 16));
}

CPU_AVX512 static inline __m512i carry_8_avx512(struct planes_avx512 *planes,
                                                const uint64_t *words)
{
    __m512i left = carry_4_avx512(planes, words);
    return carry_avx512(&planes->four, left, carry_4_avx512(planes, words + 32));
}

CPU_AVX512 static inline __m512i carry_16_avx512(struct planes_avx512 *planes,
                                                 const uint64_t *words)
{
    __m512i left = carry_8_avx512(planes, words);
    return carry_avx512(&planes->eight, left, carry_8_avx512(planes, words + 64));
}

/* Add `weight` to the byte of each bit that is set, for each of `count` words. */
CPU_AVX512 static inline __m512i add_masks_avx512(__m512i bytes, const uint64_t *words,
                                                  int64_t count, char weight)
{
    for (int64_t i = 0; i < count; i++)
        bytes = _mm512_mask_add_epi8(bytes, words[i], bytes, _mm512_set1_epi8(weight));
    return bytes;
}

CPU_AVX512 static inline __m512i add_plane_avx512(__m512i bytes, __m512i plane, char weight)
{
    uint64_t words[8];

    _mm512_storeu_si512(words, plane);
    return add_masks_avx512(bytes, words, 8, weight);
}

/* ones[j] += bytes[j] << shift */
CPU_AVX512 static inline void add_bytes_avx512(__m512i bytes, unsigned shift, uint32_t *ones)
{
    uint8_t counts[64];

    _mm512_storeu_si512(counts, bytes);
    for (int j = 0; j < 64; j += 16) {
        __m512i some = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(counts + j)));
        some = _mm512_slli_epi32(some, shift);
        _mm512_storeu_si512(ones + j, _mm512_add_epi32(_mm512_loadu_si512(ones + j), some));
    }
}

CPU_AVX512 static void counts_word_avx512(const uint64_t *words, int64_t count, uint32_t *ones)
{
    const __m512i zero = _mm512_setzero_si512();

    while (count >= BLOCK_AVX512) {
        struct planes_avx512 planes = {zero, zero, zero, zero};
        __m512i bytes = zero;

        for (int i = 0; i < BLOCKS_AVX512 && count >= BLOCK_AVX512; i++) {
            bytes = add_plane_avx512(bytes, carry_16_avx512(&planes, words), 1);
            words += BLOCK_AVX512;
            count -= BLOCK_AVX512;
        }
        add_bytes_avx512(bytes, 4, ones);
        bytes = add_plane_avx512(zero, planes.one, 1);
        bytes = add_plane_avx512(bytes, planes.two, 2);
        bytes = add_plane_avx512(bytes, planes.four, 4);
        add_bytes_avx512(add_plane_avx512(bytes, planes.eight, 8), 0, ones);
    }
    add_bytes_avx512(add_masks_avx512(zero, words, count, 1), 0, ones);
}

CPU_AVX512 static void counts_avx512(const uint64_t *first, const uint64_t *second, int64_t count,
                                     uint32_t *ones)
{
    counts_word_avx512(first, count, ones);
    counts_word_avx512(second, count, ones + 64);
}

#endif

#endif
