/* Eight permutations at a time: only the highest 32 bits of a x + b are made. */

#ifndef SIMDB_MINIMA_AVX2_H
#define SIMDB_MINIMA_AVX2_H

#include "mix_avx2.h"
#include "minima_scalar.h"

#if CPU_X86

CPU_AVX2 static void mix_features_avx2(uint64_t *hashes, int64_t count, int is_narrow)
{
    int64_t i = 0;

    for (; i + 4 <= count; i += 4) {
        __m256i mixed = mix_final_avx2(_mm256_loadu_si256((const __m256i *)(hashes + i)));
        if (is_narrow)
            mixed = _mm256_srli_epi64(mixed, 32);
        _mm256_storeu_si256((__m256i *)(hashes + i), mixed);
    }
    mix_features_scalar(hashes + i, count - i, is_narrow);
}

/* The 32-bit words at even places of two vectors, in order of their 64-bit words. */
CPU_AVX2 static inline __m256i low_words_avx2(__m256i first, __m256i second)
{
    __m256 both = _mm256_shuffle_ps(_mm256_castsi256_ps(first), _mm256_castsi256_ps(second), 0x88);
    return _mm256_permute4x64_epi64(_mm256_castps_si256(both), 0xD8);
}

CPU_AVX2 static void minima_eight_avx2(const uint64_t *multipliers, const uint64_t *increments,
                                       const uint64_t *features, int64_t count, uint32_t *values)
{
    const __m256i *factors = (const __m256i *)multipliers, *added = (const __m256i *)increments;
    __m256i first = _mm256_loadu_si256(factors), second = _mm256_loadu_si256(factors + 1);
    __m256i low = low_words_avx2(first, second);
    __m256i high = low_words_avx2(_mm256_srli_epi64(first, 32), _mm256_srli_epi64(second, 32));
    __m256i low_odd = _mm256_srli_epi64(low, 32);
    __m256i some = _mm256_loadu_si256(added), others = _mm256_loadu_si256(added + 1);
    __m256i even = _mm256_permute4x64_epi64(_mm256_unpacklo_epi64(some, others), 0xD8);
    __m256i odd = _mm256_permute4x64_epi64(_mm256_unpackhi_epi64(some, others), 0xD8);
    __m256i least = _mm256_loadu_si256((const __m256i *)values);

    for (int64_t i = 0; i < count; i++) {
        __m256i x_low = _mm256_set1_epi32((int32_t)features[i]);
        __m256i x_high = _mm256_set1_epi32((int32_t)(features[i] >> 32));
        __m256i at_even = _mm256_add_epi64(_mm256_mul_epu32(low, x_low), even);
        __m256i at_odd = _mm256_add_epi64(_mm256_mul_epu32(low_odd, x_low), odd);
        __m256i value = _mm256_blend_epi32(_mm256_srli_epi64(at_even, 32), at_odd, 0xAA);
        __m256i crossed = _mm256_add_epi32(_mm256_mullo_epi32(low, x_high),
                                           _mm256_mullo_epi32(high, x_low));
        least = _mm256_min_epu32(least, _mm256_add_epi32(value, crossed));
    }
    _mm256_storeu_si256((__m256i *)values, least);
}

CPU_AVX2 static void minima_shift_avx2(const struct minima_family *family,
                                       const uint64_t *features, int64_t count, uint32_t *values)
{
    for (int j = 0; j < family->count; j += 8)
        minima_eight_avx2(family->multipliers + j, family->increments + j, features, count,
                          values + j);
}

#endif

#endif
