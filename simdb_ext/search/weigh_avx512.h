/* The cosine of a query and packed vectors, 64 bytes at a time, with and without VNNI. */
#ifndef SIMDB_SEARCH_WEIGH_AVX512_H
#define SIMDB_SEARCH_WEIGH_AVX512_H

#include <immintrin.h>

#include "kernel.h"
#include "weigh_scalar.h"

#define AVX512 __attribute__((target("avx512f,avx512bw,bmi2")))
#define VNNI __attribute__((target("avx512f,avx512bw,avx512vnni,bmi2")))

/* Both sums, the dot product in the lower half. */
AVX512 static inline uint64_t fold_avx512(__m512i dots, __m512i norms)
{
    __m512i mixed = _mm512_add_epi32(_mm512_unpacklo_epi32(dots, norms),
                                     _mm512_unpackhi_epi32(dots, norms));
    __m256i half = _mm256_add_epi32(_mm512_castsi512_si256(mixed),
                                    _mm512_extracti64x4_epi64(mixed, 1));
    __m128i quarter = _mm_add_epi32(_mm256_castsi256_si128(half),
                                    _mm256_extracti128_si256(half, 1));
    __m128i sums = _mm_add_epi32(quarter, _mm_unpackhi_epi64(quarter, quarter));

    return (uint64_t)_mm_cvtsi128_si64(sums);
}

/* Cosines of eight (dot, norm) pairs of sums, or of the first `some` of them. */
AVX512 static inline void cosines_avx512(const struct search_weights *query, size_t width,
                                         const uint64_t *sums, size_t some, float *similarities)
{
    const __m512i shift = _mm512_set1_epi64(-15 * (int64_t)query->sum);
    const __m512i base = _mm512_set1_epi64(450 * (int64_t)width);
    __m512i both = _mm512_loadu_si512(sums);
    __m512i dots = _mm512_srai_epi64(_mm512_slli_epi64(both, 32), 31);
    __m512i norms = _mm512_slli_epi64(_mm512_srai_epi64(both, 32), 2);
    __m512d dot = _mm512_cvtepi32_pd(_mm512_cvtepi64_epi32(_mm512_add_epi64(dots, shift)));
    __m512d norm = _mm512_cvtepi32_pd(_mm512_cvtepi64_epi32(_mm512_add_epi64(norms, base)));
    __m512d root = _mm512_sqrt_pd(_mm512_mul_pd(norm, _mm512_set1_pd((double)query->norm)));
    __m512 result = _mm512_castps256_ps512(_mm512_cvtpd_ps(_mm512_div_pd(dot, root)));

    _mm512_mask_storeu_ps(similarities, (__mmask16)((1u << some) - 1), result);
}

AVX512 static inline uint64_t sums_avx512(const struct search_weights *query, const uint8_t *place,
                                          size_t width)
{
    const __m512i ones = _mm512_set1_epi16(1), half = _mm512_set1_epi8(15);
    __m512i dots = _mm512_setzero_si512(), norms = _mm512_setzero_si512();

    for (size_t j = 0; j < width; j += 64) {
        __mmask64 inside = width - j < 64 ? ((__mmask64)1 << (width - j)) - 1 : ~(__mmask64)0;
        __m512i bytes = _mm512_maskz_loadu_epi8(inside, place + j);
        __m512i low = _mm512_and_si512(bytes, half);
        __m512i high = _mm512_and_si512(_mm512_srli_epi16(bytes, 4), half);
        __m512i dots16 = _mm512_add_epi16(
            _mm512_maddubs_epi16(low, _mm512_loadu_si512(query->low + j)),
            _mm512_maddubs_epi16(high, _mm512_loadu_si512(query->high + j)));
        __m512i norms16 = _mm512_add_epi16(
            _mm512_maddubs_epi16(low, _mm512_sub_epi8(low, half)),
            _mm512_maddubs_epi16(high, _mm512_sub_epi8(high, half)));
        dots = _mm512_add_epi32(dots, _mm512_madd_epi16(dots16, ones));
        norms = _mm512_add_epi32(norms, _mm512_madd_epi16(norms16, ones));
    }
    return fold_avx512(dots, norms);
}

VNNI static inline uint64_t sums_avx512_vnni(const struct search_weights *query,
                                             const uint8_t *place, size_t width)
{
    const __m512i half = _mm512_set1_epi8(15);
    __m512i dots = _mm512_setzero_si512(), norms = _mm512_setzero_si512();

    for (size_t j = 0; j < width; j += 64) {
        __mmask64 inside = width - j < 64 ? ((__mmask64)1 << (width - j)) - 1 : ~(__mmask64)0;
        __m512i bytes = _mm512_maskz_loadu_epi8(inside, place + j);
        __m512i low = _mm512_and_si512(bytes, half);
        __m512i high = _mm512_and_si512(_mm512_srli_epi16(bytes, 4), half);
        dots = _mm512_dpbusd_epi32(dots, low, _mm512_loadu_si512(query->low + j));
        norms = _mm512_dpbusd_epi32(norms, low, _mm512_sub_epi8(low, half));
        dots = _mm512_dpbusd_epi32(dots, high, _mm512_loadu_si512(query->high + j));
        norms = _mm512_dpbusd_epi32(norms, high, _mm512_sub_epi8(high, half));
    }
    return fold_avx512(dots, norms);
}

AVX512 static void weigh_avx512(const struct search_weights *query, const uint8_t *const *places,
                                size_t count, size_t width, float *similarities)
{
    for (size_t i = 0; i < count; i += 8) {
        uint64_t sums[8] = {0};
        size_t some = count - i < 8 ? count - i : 8;
        for (size_t k = 0; k < some; k++)
            sums[k] = sums_avx512(query, places[i + k], width);
        cosines_avx512(query, width, sums, some, similarities + i);
    }
}

VNNI static void weigh_avx512_vnni(const struct search_weights *query,
                                   const uint8_t *const *places, size_t count, size_t width,
                                   float *similarities)
{
    for (size_t i = 0; i < count; i += 8) {
        uint64_t sums[8] = {0};
        size_t some = count - i < 8 ? count - i : 8;
        for (size_t k = 0; k < some; k++)
            sums[k] = sums_avx512_vnni(query, places[i + k], width);
        cosines_avx512(query, width, sums, some, similarities + i);
    }
}

#undef AVX512
#undef VNNI

#endif
