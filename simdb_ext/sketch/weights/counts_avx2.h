/* `counts`, 64 words at a time with carry-save adders, as in counts_avx512.h. */

#ifndef SIMDB_COUNTS_AVX2_H
#define SIMDB_COUNTS_AVX2_H

#include "cpu.h"

#if CPU_X86

#define BLOCK_AVX2 64  /* words: 16 vectors of 4 */
#define FEW_AVX2 14    /* fewer words than this behind a block are added one by one, */
#define ALONE_AVX2 44  /* and fewer than this without a block */
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

/* Add 1 to the byte of each bit that is set, for each of `count` words. */
CPU_AVX2 static inline void add_words_avx2(struct bytes_avx2 *bytes, const uint64_t *words,
                                           int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        bytes->low = _mm256_sub_epi8(bytes->low, spread_avx2((uint32_t)words[i]));
        bytes->high = _mm256_sub_epi8(bytes->high, spread_avx2((uint32_t)(words[i] >> 32)));
    }
}

/* Double the bytes, then add 1 for each bit of a plane: the planes come from the highest digit
   down. */
CPU_AVX2 static inline void add_plane_avx2(struct bytes_avx2 *bytes, __m256i plane)
{
    uint64_t words[4];

    _mm256_storeu_si256((__m256i *)words, plane);
    bytes->low = _mm256_add_epi8(bytes->low, bytes->low);
    bytes->high = _mm256_add_epi8(bytes->high, bytes->high);
    add_words_avx2(bytes, words, 4);
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

/* Copy fewer words than a block has, and zeros behind them. */
CPU_AVX2 static inline void pad_avx2(const uint64_t *words, int64_t count, uint64_t *block)
{
    for (int64_t i = 0; i < BLOCK_AVX2; i += 4) {
        __m256i places = _mm256_add_epi64(_mm256_set1_epi64x(i), _mm256_setr_epi64x(0, 1, 2, 3));
        __m256i some = _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), places);
        _mm256_storeu_si256((__m256i *)(block + i),
                            _mm256_maskload_epi64((const long long *)words + i, some));
    }
}

CPU_AVX2 static void counts_word_avx2(const uint64_t *words, int64_t count, uint32_t *ones)
{
    const __m256i zero = _mm256_setzero_si256();
    struct bytes_avx2 bytes = {zero, zero};
    uint64_t block[BLOCK_AVX2];

    while (count >= ALONE_AVX2) {
        struct planes_avx2 planes = {zero, zero, zero, zero};

        for (int i = 0; i < BLOCKS_AVX2 && count >= FEW_AVX2; i++) {
            const uint64_t *next = words;
            if (count < BLOCK_AVX2) {
                pad_avx2(words, count, block);
                next = block;
            }
            __m256i carried = carry_16_avx2(&planes, next);
            uint64_t sixteens[4];
            _mm256_storeu_si256((__m256i *)sixteens, carried);
            add_words_avx2(&bytes, sixteens, 4);
            words += BLOCK_AVX2;
            count -= BLOCK_AVX2;
        }
        add_bytes_avx2(&bytes, 4, ones);
        bytes.low = bytes.high = zero;
        add_plane_avx2(&bytes, planes.eight);
        add_plane_avx2(&bytes, planes.four);
        add_plane_avx2(&bytes, planes.two);
        add_plane_avx2(&bytes, planes.one);
        add_bytes_avx2(&bytes, 0, ones);
        bytes.low = bytes.high = zero;
    }
    if (count > 0) {
        add_words_avx2(&bytes, words, count);
        add_bytes_avx2(&bytes, 0, ones);
    }
}

CPU_AVX2 static void counts_avx2(const uint64_t *first, const uint64_t *second, int64_t count,
                                 uint32_t *ones)
{
    counts_word_avx2(first, count, ones);
    counts_word_avx2(second, count, ones + 64);
}

#endif

#endif
