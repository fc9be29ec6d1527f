/* Levels of eight weights at a time, added in the same order as in level_scalar.h; packed vectors
   64 bytes at a time. */
#ifndef SIMDB_SEARCH_LEVEL_AVX512_H
#define SIMDB_SEARCH_LEVEL_AVX512_H

#include "cpu.h"
#include "level_scalar.h"

CPU_AVX512 static inline __m512d floats_avx512(const void *weights, size_t place, __mmask8 lanes)
{
    return _mm512_cvtps_pd(_mm256_maskz_loadu_ps(lanes, (const float *)weights + place));
}

CPU_AVX512 static inline __m512d wholes_avx512(const void *weights, size_t place, __mmask8 lanes)
{
    return _mm512_cvtepi32_pd(
        _mm256_maskz_loadu_epi32(lanes, (const int32_t *)weights + place));
}

CPU_AVX512 static inline double sum_avx512(__m512d sums)
{
    __m256d halves = _mm256_add_pd(_mm512_castpd512_pd256(sums), _mm512_extractf64x4_pd(sums, 1));
    __m128d quarters = _mm_add_pd(_mm256_castpd256_pd128(halves),
                                  _mm256_extractf128_pd(halves, 1));

    return _mm_cvtsd_f64(_mm_add_sd(quarters, _mm_unpackhi_pd(quarters, quarters)));
}

CPU_AVX512 static inline void level_row_avx512(
    __m512d (*weights_at)(const void *, size_t, __mmask8), const void *row, size_t dimensions,
    uint8_t *levels)
{
    __m512d first[8], sums = _mm512_setzero_pd(), factors;
    double factor;

    for (int k = 0; k < 8; k++) {
        first[k] = weights_at(row, 8 * (size_t)k, 255);
        sums = _mm512_add_pd(sums, _mm512_mul_pd(first[k], first[k]));
    }
    for (size_t i = 64; i < dimensions; i += 8) {
        __mmask8 lanes = (__mmask8)(dimensions - i < 8 ? (1u << (dimensions - i)) - 1 : 255);
        __m512d weights = weights_at(row, i, lanes);
        sums = _mm512_add_pd(sums, _mm512_mul_pd(weights, weights));
    }
    factor = level_factor(sum_avx512(sums), dimensions);
    if (!(factor > 0)) {
        memset(levels, LEVEL_MAX, 64);
        return;
    }
    factors = _mm512_set1_pd(factor);
    for (int k = 0; k < 8; k += 2) {
        __m256i low = _mm512_cvttpd_epi32(_mm512_mul_pd(first[k], factors));
        __m256i high = _mm512_cvttpd_epi32(_mm512_mul_pd(first[k + 1], factors));
        __m512i found = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
        /* NaN and values too large have become -2**31, which saturates to 255 as an unsigned
           number. */
        _mm_storeu_si128((__m128i *)(levels + 8 * k),
                         _mm512_cvtusepi32_epi8(_mm512_abs_epi32(found)));
    }
}

CPU_AVX512 static void level_floats_avx512(const float *weights, size_t count, size_t dimensions,
                                           uint8_t *levels)
{
    for (size_t row = 0; row < count; row++)
        level_row_avx512(floats_avx512, weights + row * dimensions, dimensions,
                         levels + row * 64);
}

CPU_AVX512 static void level_wholes_avx512(const int32_t *weights, size_t count,
                                           size_t dimensions, uint8_t *levels)
{
    for (size_t row = 0; row < count; row++)
        level_row_avx512(wholes_avx512, weights + row * dimensions, dimensions,
                         levels + row * 64);
}

/* Return the sum of the squares of all weights of a packed vector. */
CPU_AVX512 static inline uint64_t packed_squares_avx512(const uint8_t *vector, size_t width)
{
    const __m512i squares = _mm512_broadcast_i32x4(_mm_setr_epi8(
        (char)225, (char)169, 121, 81, 49, 25, 9, 1, 1, 9, 25, 49, 81, 121, (char)169, (char)225));
    const __m512i half = _mm512_set1_epi8(15);
    __m512i sums = _mm512_setzero_si512();

    for (size_t i = 0; i < width; i += 64) {
        __mmask64 lanes = _bzhi_u64(~(uint64_t)0, width - i < 64 ? (unsigned)(width - i) : 64);
        __m512i bytes = _mm512_maskz_loadu_epi8(lanes, vector + i);
        __m512i high = _mm512_and_si512(_mm512_srli_epi16(bytes, 4), half);
        __m512i low = _mm512_and_si512(bytes, half);
        low = _mm512_maskz_shuffle_epi8(lanes, squares, low);
        high = _mm512_maskz_shuffle_epi8(lanes, squares, high);
        sums = _mm512_add_epi64(sums, _mm512_sad_epu8(low, _mm512_setzero_si512()));
        sums = _mm512_add_epi64(sums, _mm512_sad_epu8(high, _mm512_setzero_si512()));
    }
    return (uint64_t)_mm512_reduce_add_epi64(sums);
}

CPU_AVX512 static void level_packed_avx512(const uint8_t *vectors, size_t count, size_t width,
                                           uint8_t *levels)
{
    for (size_t row = 0; row < count; row++) {
        const uint8_t *vector = vectors + row * width;
        uint8_t table[16];
        level_halves(packed_squares_avx512(vector, width), 2 * width, table);
        if (width < 64) {
            level_by_table(vector, width, table, levels + row * 64);
            continue;
        }
        __m512i halves = _mm512_and_si512(_mm512_loadu_si512(vector), _mm512_set1_epi8(15));
        __m512i by_half = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)table));
        _mm512_storeu_si512(levels + row * 64, _mm512_shuffle_epi8(by_half, halves));
    }
}

#endif
