/* `quantise`, eight weights at a time in two registers. */

#ifndef SIMDB_QUANTISE_AVX2_H
#define SIMDB_QUANTISE_AVX2_H

#include "cpu.h"
#include "quantise_scalar.h"

#if CPU_X86

CPU_AVX2 QUANTISE_INLINE __m256d load_four(const void *weights, int is_float, int64_t place)
{
    if (is_float)
        return _mm256_cvtps_pd(_mm_loadu_ps((const float *)weights + place));
    const int32_t *integers = (const int32_t *)weights + place;
    return _mm256_cvtepi32_pd(_mm_loadu_si128((const __m128i *)integers));
}

CPU_AVX2 QUANTISE_INLINE __m128i quantise_four(__m256d weights, double scale)
{
    __m256d floors = _mm256_floor_pd(_mm256_mul_pd(weights, _mm256_set1_pd(scale)));
    floors = _mm256_max_pd(floors, _mm256_set1_pd(-8));
    floors = _mm256_min_pd(floors, _mm256_set1_pd(7));
    return _mm_add_epi32(_mm256_cvttpd_epi32(floors), _mm_set1_epi32(8));
}

CPU_AVX2 QUANTISE_INLINE void quantise_row_avx2(const void *weights, int is_float, int64_t place,
                                                int dimensions, double scale, uint8_t *halves)
{
    for (int j = 0; j < dimensions; j += 8) {
        __m128i low = quantise_four(load_four(weights, is_float, place + j), scale);
        __m128i high = quantise_four(load_four(weights, is_float, place + j + 4), scale);
        __m128i words = _mm_packs_epi32(low, high);
        _mm_storel_epi64((__m128i *)(halves + j), _mm_packus_epi16(words, words));
    }
}

CPU_AVX2 static int64_t quantise_avx2(const void *weights, int is_float, int64_t count,
                                      int dimensions, uint64_t *fingerprints, uint8_t *vectors)
{
    return quantise_any(weights, is_float, count, dimensions, fingerprints, vectors,
                        quantise_row_avx2);
}

#endif

#endif
