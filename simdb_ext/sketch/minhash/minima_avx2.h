/* 64 permutations at a time; their minima stay in registers. */

#ifndef SIMDB_MINIMA_AVX2_H
#define SIMDB_MINIMA_AVX2_H

#include "hash/mix_avx2.h"
#include "minima_scalar.h"

#if CPU_X86

CPU_AVX2 static void mix_features_avx2(uint64_t *hashes, int64_t count, int is_narrow)
{
    int64_t i = 0;

    for (; i + 4 <= count; i += 4) {
        __m256i mixed = mix_final_avx2(_mm256_loadu_si256((const __m256i *)(hashes + i)));
        if (is_narrow)
            mixed = _mm256_shuffle_epi32(mixed, 0xF5);
        _mm256_storeu_si256((__m256i *)(hashes + i), mixed);
    }
    mix_features_scalar(hashes + i, count - i, is_narrow);
}

/* Return the 32-bit words at even places of two vectors, in the order of their 64-bit words. */
CPU_AVX2 static inline __m256i low_words_avx2(__m256i first, __m256i second)
{
    __m256 both = _mm256_shuffle_ps(_mm256_castsi256_ps(first), _mm256_castsi256_ps(second), 0x88);
    return _mm256_permute4x64_epi64(_mm256_castps_si256(both), 0xD8);
}

/* Lower the minima of 8 `width` permutations from `first` on; `width` is a constant.  Only the
   upper 16 bits of a multiplier, and so of a product, are not 0: products of 16 bits are enough. */
CPU_AVX2 __attribute__((always_inline)) static inline void
stratified_some_avx2(const struct minima_family *family, int first, const int width,
                     const uint64_t *features, int64_t count, uint32_t *values)
{
    const __m256i *multipliers = (const __m256i *)(family->multipliers + first);
    __m256i *minima = (__m256i *)(values + first);
    __m256i factors[8], least[8];

    for (int j = 0; j < width; j++) {
        factors[j] = low_words_avx2(_mm256_loadu_si256(multipliers + 2 * j),
                                    _mm256_loadu_si256(multipliers + 2 * j + 1));
        least[j] = _mm256_loadu_si256(minima + j);
    }
    for (int64_t i = 0; i < count; i++) {
        __m256i step = _mm256_set1_epi32((int)(((uint32_t)features[i] | 1) << 16));
        __m256i start = _mm256_set1_epi32((int)(features[i] >> 32));
        for (int j = 0; j < width; j++) {
            __m256i value = _mm256_add_epi32(_mm256_mullo_epi16(factors[j], step), start);
            least[j] = _mm256_min_epu32(least[j], value);
        }
    }
    for (int j = 0; j < width; j++)
        _mm256_storeu_si256(minima + j, least[j]);
}

CPU_AVX2 static void minima_stratified_avx2(const struct minima_family *family,
                                            const uint64_t *features, int64_t count,
                                            uint32_t *values)
{
    int first = 0;

    for (; first + 64 <= family->count; first += 64)
        stratified_some_avx2(family, first, 8, features, count, values);
    for (; first + 32 <= family->count; first += 32)
        stratified_some_avx2(family, first, 4, features, count, values);
    for (; first < family->count; first += 8)
        stratified_some_avx2(family, first, 1, features, count, values);
}

/* Lower the minima of 8 `width` permutations from `first` on; `width` is a constant.  A feature
   fills every 64-bit lane: its lower half is in the even 32-bit lanes, its upper half in the odd
   ones. */
CPU_AVX2 __attribute__((always_inline)) static inline void
shift_some_avx2(const struct minima_family *family, int first, const int width,
                const uint64_t *features, int64_t count, uint32_t *values)
{
    const __m256i *multipliers = (const __m256i *)(family->multipliers + first);
    const __m256i *increments = (const __m256i *)(family->increments + first);
    __m256i *minima = (__m256i *)(values + first);
    __m256i factors[8], added[8], least[8];

    for (int j = 0; j < width; j++) {
        factors[j] = low_words_avx2(_mm256_loadu_si256(multipliers + 2 * j),
                                    _mm256_loadu_si256(multipliers + 2 * j + 1));
        added[j] = low_words_avx2(_mm256_loadu_si256(increments + 2 * j),
                                  _mm256_loadu_si256(increments + 2 * j + 1));
        least[j] = _mm256_loadu_si256(minima + j);
    }
    for (int64_t i = 0; i < count; i++) {
        __m256i feature = _mm256_set1_epi64x((int64_t)features[i]);
        for (int j = 0; j < width; j++) {
            __m256i value = _mm256_add_epi32(_mm256_mullo_epi32(factors[j], feature), added[j]);
            least[j] = _mm256_min_epu32(least[j], value);
        }
    }
    for (int j = 0; j < width; j++)
        _mm256_storeu_si256(minima + j, least[j]);
}

CPU_AVX2 static void minima_shift_avx2(const struct minima_family *family,
                                       const uint64_t *features, int64_t count, uint32_t *values)
{
    int first = 0;

    for (; first + 64 <= family->count; first += 64)
        shift_some_avx2(family, first, 8, features, count, values);
    for (; first + 32 <= family->count; first += 32)
        shift_some_avx2(family, first, 4, features, count, values);
    for (; first < family->count; first += 8)
        shift_some_avx2(family, first, 1, features, count, values);
}

#endif

#endif
