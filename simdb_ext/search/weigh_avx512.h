/* The cosine of a query and packed vectors, 64 bytes at a time, with and without VNNI. */
#ifndef SIMDB_SEARCH_WEIGH_AVX512_H
#define SIMDB_SEARCH_WEIGH_AVX512_H

#include <immintrin.h>

#include "kernel.h"
#include "weigh_scalar.h"

#define AVX512 __attribute__((target("avx512f,avx512bw,bmi2")))
#define VNNI __attribute__((target("avx512f,avx512bw,avx512vnni,bmi2")))

/* Sums of the two, side by side, in each quarter: (dot, norm), (dot, norm). */
AVX512 static inline __m512i mix_avx512(__m512i dots, __m512i norms)
{
    return _mm512_add_epi32(_mm512_unpacklo_epi32(dots, norms),
                            _mm512_unpackhi_epi32(dots, norms));
}

/* Sums over the quarters, two by two: half as many as there were, of twice as many vectors. */
AVX512 static inline __m512i fold_avx512(__m512i one, __m512i other)
{
    return _mm512_add_epi32(_mm512_shuffle_i64x2(one, other, 0x88),
                            _mm512_shuffle_i64x2(one, other, 0xdd));
}

AVX512 static inline __m512i pair_avx512(__m512i one, __m512i other)
{
    return _mm512_add_epi32(_mm512_unpacklo_epi64(one, other),
                            _mm512_unpackhi_epi64(one, other));
}

/* Cosines of eight vectors, or of the first `some` of them, from the mixed sums of each. */
AVX512 static inline void cosines_avx512(const struct search_weights *query, size_t width,
                                         const __m512i *mixed, size_t some, float *similarities)
{
    const __m512i shift = _mm512_set1_epi64(-15 * (int64_t)query->sum);
    const __m512i base = _mm512_set1_epi64(450 * (int64_t)width);
    __m512i both = fold_avx512(
        fold_avx512(pair_avx512(mixed[0], mixed[1]), pair_avx512(mixed[2], mixed[3])),
        fold_avx512(pair_avx512(mixed[4], mixed[5]), pair_avx512(mixed[6], mixed[7])));
    __m512i dots = _mm512_srai_epi64(_mm512_slli_epi64(both, 32), 31);
    __m512i norms = _mm512_slli_epi64(_mm512_srai_epi64(both, 32), 2);
    __m512d dot = _mm512_cvtepi32_pd(_mm512_cvtepi64_epi32(_mm512_add_epi64(dots, shift)));
    __m512d norm = _mm512_cvtepi32_pd(_mm512_cvtepi64_epi32(_mm512_add_epi64(norms, base)));
    __m512d root = _mm512_sqrt_pd(_mm512_mul_pd(norm, _mm512_set1_pd((double)query->norm)));
    __m512 result = _mm512_castps256_ps512(_mm512_cvtpd_ps(_mm512_div_pd(dot, root)));

    _mm512_mask_storeu_ps(similarities, (__mmask16)((1u << some) - 1), result);
}

AVX512 static inline __m512i sums_avx512(const struct search_weights *query, const uint8_t *place,
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
    return mix_avx512(dots, norms);
}

VNNI static inline __m512i sums_avx512_vnni(const struct search_weights *query,
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
    return mix_avx512(dots, norms);
}

/* Eight vectors at a time; where fewer are left, the last one stands in for those missing. */
#define WEIGH_EIGHTS(sums)                                                                       \
    for (size_t i = 0; i < count; i += 8) {                                                      \
        __m512i mixed[8];                                                                        \
        size_t some = count - i < 8 ? count - i : 8;                                             \
        for (size_t k = 0; k < 8; k++)                                                           \
            mixed[k] = sums(query, places[i + (k < some ? k : some - 1)], width);                \
        cosines_avx512(query, width, mixed, some, similarities + i);                             \
    }

/* These are compiled once more for each usual width, with its loops and masks worked out. */
AVX512 static inline __attribute__((always_inline)) void weigh_width_avx512(
    const struct search_weights *query, const uint8_t *const *places, size_t count, size_t width,
    float *similarities)
{
    WEIGH_EIGHTS(sums_avx512)
}

VNNI static inline __attribute__((always_inline)) void weigh_width_vnni(
    const struct search_weights *query, const uint8_t *const *places, size_t count, size_t width,
    float *similarities)
{
    WEIGH_EIGHTS(sums_avx512_vnni)
}

AVX512 static void weigh_avx512(const struct search_weights *query, const uint8_t *const *places,
                                size_t count, size_t width, float *similarities)
{
    if (width == 64)
        weigh_width_avx512(query, places, count, 64, similarities);
    else if (width == 32)
        weigh_width_avx512(query, places, count, 32, similarities);
    else
        weigh_width_avx512(query, places, count, width, similarities);
}

VNNI static void weigh_avx512_vnni(const struct search_weights *query,
                                   const uint8_t *const *places, size_t count, size_t width,
                                   float *similarities)
{
    if (width == 64)
        weigh_width_vnni(query, places, count, 64, similarities);
    else if (width == 32)
        weigh_width_vnni(query, places, count, 32, similarities);
    else
        weigh_width_vnni(query, places, count, width, similarities);
}

#undef WEIGH_EIGHTS
#undef AVX512
#undef VNNI

#endif
