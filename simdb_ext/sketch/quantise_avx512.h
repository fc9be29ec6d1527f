/* Eight weights at a time. */

#ifndef SIMDB_QUANTISE_AVX512_H
#define SIMDB_QUANTISE_AVX512_H

#include "cpu.h"
#include "quantise_scalar.h"

#if CPU_X86

CPU_AVX512 QUANTISE_INLINE __m512d load_eight(const void *weights, int is_float, int64_t place)
{
    if (is_float)
        return _mm512_cvtps_pd(_mm256_loadu_ps((const float *)weights + place));
    const int32_t *integers = (const int32_t *)weights + place;
    return _mm512_cvtepi32_pd(_mm256_loadu_si256((const __m256i *)integers));
}

CPU_AVX512 QUANTISE_INLINE void quantise_row_avx512(const void *weights, int is_float,
                                                    int64_t place, int dimensions, double scale,
                                                    uint8_t *halves)
{
    const __m512d scales = _mm512_set1_pd(scale);

    for (int j = 0; j < dimensions; j += 8) {
        __m512d values = _mm512_mul_pd(load_eight(weights, is_float, place + j), scales);
        values = _mm512_roundscale_pd(values, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
        values = _mm512_max_pd(values, _mm512_set1_pd(-8));
        values = _mm512_min_pd(values, _mm512_set1_pd(7));
        values = _mm512_add_pd(values, _mm512_set1_pd(8));
        __m128i bytes = _mm256_cvtepi32_epi8(_mm512_cvttpd_epi32(values));
        _mm_storel_epi64((__m128i *)(halves + j), bytes);
    }
}

CPU_AVX512 static int64_t quantise_avx512(const void *weights, int is_float, int64_t count,
                                          int dimensions, uint64_t *fingerprints,
                                          uint8_t *vectors)
{
    return quantise_any(weights, is_float, count, dimensions, fingerprints, vectors,
                        quantise_row_avx512);
}

#endif

#endif
