/* `counts`, 64 words at a time with carry-save adders, as in counts_avx512.h. */

#ifndef SIMDB_COUNTS_AVX2_H
#define SIMDB_COUNTS_AVX2_H

#include "cpu.h"

#if CPU_X86

#define BLOCK_AVX2 64  /* words: 16 vectors of 4 */
#define BLOCKS_AVX2 63 /* each carries at most 4 into a byte, which holds 255 */

struct planes_avx2 {
    __m256i one, two, four, eight;
};

/* Counters of the 64 bits of a word, one byte each. */
struct bytes_avx2 {
    __m256i low, high;
};

/* Add two vectors to a plane and return the carry. */
CPU_AVX2 static inline __m256i carry_avx2(__m256i *plane, __m256i left, __m256i right)
{
    __m256i odd = _mm256_xor_si256(*plane, left);
    __m256i carried = _mm256_or_si256(_mm256_and_si256(*plane, left),
                                      _mm256_and_si256(odd, right));
    *plane = _mm256_xor_si256(odd, right);
    return carried;
}

CPU_AVX2 static inline __m256i carry_2_avx2(struct planes_avx2 *planes, const uint64_t *words)
{
    return carry_avx2(&planes->one, _mm256_loadu_si256((const __m256i *)words),
                      _mm256_loadu_si256((const __m256i *)(words + 4)));
}

CPU_AVX2 static inline __m256i carry_4_avx2(struct planes_avx2 *planes, const uint64_t *words)
{
    __m256i left = carry_2_avx2(planes, words);
    return carry_avx2(&planes->two, left, carry_2_avx2(planes, words + 8));
}

CPU_AVX2 static inline __m256i carry_8_avx2(struct planes_avx2 *planes, const uint64_t *words)
{
    __m256i left = carry_4_avx2(planes, words);
    return carry_avx2(&planes->four, left, carry_4_avx2(planes, words + 16));
}

CPU_AVX2 static inline __m256i carry_16_avx2(struct planes_avx2 *planes, const uint64_t *words)
{
    __m256i left = carry_8_avx2(planes, words);
    return carry_avx2(&planes->eight, left, carry_8_avx2(planes, words + 32));
}

/* Return -1 in each byte whose bit of the 32-bit word is set. */
CPU_AVX2 static inline __m256i spread_avx2(uint32_t word)
{
    const __m256i bytes = _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202,
                                             0x0303030303030303);
    const __m256i bits = _mm256_set1_epi64x((int64_t)0x8040201008040201);
    __m256i copies = _mm256_shuffle_epi8(_mm256_set1_epi32((int)word), bytes);
    return _mm256_cmpeq_epi8(_mm256_and_si256(copies, bits), bits);
}

/* Add `weight` to the byte of each bit that is set, for each of `count` words. */
CPU_AVX2 static inline void add_masks_avx2(struct bytes_avx2 *bytes, const uint64_t *words,
                                           int64_t count, char weight)
{
    const __m256i added = _mm256_set1_epi8(weight);

    for (int64_t i = 0; i < count; i++) {
        __m256i low = spread_avx2((uint32_t)words[i]);
        __m256i high = spread_avx2((uint32_t)(words[i] >> 32));
        bytes->low = _mm256_add_epi8(bytes->low, _mm256_and_si256(low, added));
        bytes->high = _mm256_add_epi8(bytes->high, _mm256_and_si256(high, added));
    }
}

CPU_AVX2 static inline void add_plane_avx2(struct bytes_avx2 *bytes, __m256i plane, char weight)
{
    uint64_t words[4];

    _mm256_storeu_si256((__m256i *)words, plane);
    add_masks_avx2(bytes, words, 4, weight);
}

/* ones[j] += bytes[j] << shift */
CPU_AVX2 static inline void add_bytes_avx2(const struct bytes_avx2 *bytes, int shift,
                                           uint32_t *ones)
{
    uint8_t counts[64];

    _mm256_storeu_si256((__m256i *)counts, bytes->low);
    _mm256_storeu_si256((__m256i *)(counts + 32), bytes->high);
    for (int j = 0; j < 64; j++)
        ones[j] += (uint32_t)counts[j] << shift;
}

CPU_AVX2 static void counts_word_avx2(const uint64_t *words, int64_t count, uint32_t *ones)
{
    const __m256i zero = _mm256_setzero_si256();
    struct bytes_avx2 bytes = {zero, zero};

    while (count >= BLOCK_AVX2) {
        struct planes_avx2 planes = {zero, zero, zero, zero};

        for (int i = 0; i < BLOCKS_AVX2 && count >= BLOCK_AVX2; i++) {
            add_plane_avx2(&bytes, carry_16_avx2(&planes, words), 1);
            words += BLOCK_AVX2;
            count -= BLOCK_AVX2;
        }
        add_bytes_avx2(&bytes, 4, ones);
        bytes.low = bytes.high = zero;
        add_plane_avx2(&bytes, planes.one, 1);
        add_plane_avx2(&bytes, planes.two, 2);
        add_plane_avx2(&bytes, planes.four, 4);
        add_plane_avx2(&bytes, planes.eight, 8);
        add_bytes_avx2(&bytes, 0, ones);
        bytes.low = bytes.high = zero;
    }
    add_masks_avx2(&bytes, words, count, 1);
    add_bytes_avx2(&bytes, 0, ones);
}

CPU_AVX2 static void counts_avx2(const uint64_t *first, const uint64_t *second, int64_t count,
                                 uint32_t *ones)
{
    counts_word_avx2(first, count, ones);
    counts_word_avx2(second, count, ones + 64);
}

#endif

#endif
