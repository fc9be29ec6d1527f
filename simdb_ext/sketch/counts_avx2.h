/* Bytes count to 255, then they are added to the 32-bit counters. */

#ifndef SIMDB_COUNTS_AVX2_H
#define SIMDB_COUNTS_AVX2_H

#include "cpu.h"

#if CPU_X86

/* -1 in each byte whose bit of the 32-bit word is set. */
CPU_AVX2 static inline __m256i spread_avx2(uint32_t word)
{
    const __m256i bytes = _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202,
                                             0x0303030303030303);
    const __m256i bits = _mm256_set1_epi64x((int64_t)0x8040201008040201);
    __m256i copies = _mm256_shuffle_epi8(_mm256_set1_epi32((int)word), bytes);
    return _mm256_cmpeq_epi8(_mm256_and_si256(copies, bits), bits);
}

CPU_AVX2 static inline void add_bytes_avx2(__m256i bytes, uint32_t *ones)
{
    uint8_t counts[32];

    _mm256_storeu_si256((__m256i *)counts, bytes);
    for (int j = 0; j < 32; j++)
        ones[j] += counts[j];
}

CPU_AVX2 static void counts_avx2(const uint64_t *first, const uint64_t *second, int64_t count,
                                 uint32_t *ones)
{
    while (count > 0) {
        int64_t some = count < 255 ? count : 255;
        __m256i a = _mm256_setzero_si256(), b = a, c = a, d = a;

        for (int64_t i = 0; i < some; i++) {
            a = _mm256_sub_epi8(a, spread_avx2((uint32_t)first[i]));
            b = _mm256_sub_epi8(b, spread_avx2((uint32_t)(first[i] >> 32)));
            c = _mm256_sub_epi8(c, spread_avx2((uint32_t)second[i]));
            d = _mm256_sub_epi8(d, spread_avx2((uint32_t)(second[i] >> 32)));
        }
        add_bytes_avx2(a, ones);
        add_bytes_avx2(b, ones + 32);
        add_bytes_avx2(c, ones + 64);
        add_bytes_avx2(d, ones + 96);
        first += some;
        second += some;
        count -= some;
    }
}

#endif

#endif
