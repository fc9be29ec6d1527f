/* The cosine of a query and packed vectors, sixteen vectors at a time, with and without VNNI.

   Both sums of 64 bytes fit into one 32-bit lane, 65536 dot + norm: |dot| is at most 128 * 225,
   norm is from -128 * 56 to 0.  So one tree of additions sums up sixteen vectors. */
#ifndef SIMDB_SEARCH_WEIGH_AVX512_H
#define SIMDB_SEARCH_WEIGH_AVX512_H

#include <immintrin.h>

#include "kernel.h"
#include "weigh_avx2.h"

#define AVX512 __attribute__((target("avx512f,avx512bw,bmi2")))
#define ALWAYS_INLINE inline __attribute__((always_inline))
#define VNNI __attribute__((target("avx512f,avx512bw,avx512vnni,bmi2")))

/* Return both sums of the bytes at `place` that are `inside`, spread over all lanes. */
AVX512 static inline __m512i sums_avx512(const int8_t *low_weights, const int8_t *high_weights,
                                         const uint8_t *place, __mmask64 inside)
{
    const __m512i ones = _mm512_set1_epi16(1), half = _mm512_set1_epi8(15);
    __m512i bytes = _mm512_maskz_loadu_epi8(inside, place);
    __m512i low = _mm512_and_si512(bytes, half);
    __m512i high = _mm512_and_si512(_mm512_srli_epi16(bytes, 4), half);
    __m512i dots = _mm512_add_epi16(
        _mm512_maddubs_epi16(low, _mm512_loadu_si512(low_weights)),
        _mm512_maddubs_epi16(high, _mm512_loadu_si512(high_weights)));
    __m512i norms = _mm512_add_epi16(_mm512_maddubs_epi16(low, _mm512_sub_epi8(low, half)),
                                     _mm512_maddubs_epi16(high, _mm512_sub_epi8(high, half)));

    return _mm512_add_epi32(_mm512_slli_epi32(_mm512_madd_epi16(dots, ones), 16),
                            _mm512_madd_epi16(norms, ones));
}

VNNI static inline __m512i sums_vnni(const int8_t *low_weights, const int8_t *high_weights,
                                     const uint8_t *place, __mmask64 inside)
{
    const __m512i half = _mm512_set1_epi8(15);
    __m512i bytes = _mm512_maskz_loadu_epi8(inside, place);
    __m512i low = _mm512_and_si512(bytes, half);
    __m512i high = _mm512_and_si512(_mm512_srli_epi16(bytes, 4), half);
    __m512i sums = _mm512_setzero_si512();

    sums = _mm512_dpbusd_epi32(sums, low, _mm512_loadu_si512(low_weights));
    sums = _mm512_dpbusd_epi32(sums, high, _mm512_loadu_si512(high_weights));
    sums = _mm512_slli_epi32(sums, 16);
    sums = _mm512_dpbusd_epi32(sums, low, _mm512_sub_epi8(low, half));
    return _mm512_dpbusd_epi32(sums, high, _mm512_sub_epi8(high, half));
}

AVX512 static inline __m512i add_pairs_avx512(__m512i one, __m512i other)
{
    return _mm512_add_epi32(_mm512_unpacklo_epi32(one, other), _mm512_unpackhi_epi32(one, other));
}

AVX512 static inline __m512i add_quads_avx512(__m512i one, __m512i other)
{
    return _mm512_add_epi32(_mm512_unpacklo_epi64(one, other), _mm512_unpackhi_epi64(one, other));
}

AVX512 static inline __m512i add_quarters_avx512(__m512i one, __m512i other)
{
    return _mm512_add_epi32(_mm512_shuffle_i64x2(one, other, 0x88),
                            _mm512_shuffle_i64x2(one, other, 0xdd));
}

AVX512 static inline __m256 cosines_avx512(__m256i dots, __m256i norms, int32_t own)
{
    __m512d product = _mm512_mul_pd(_mm512_cvtepi32_pd(norms), _mm512_set1_pd((double)own));

    return _mm512_cvtpd_ps(_mm512_div_pd(_mm512_cvtepi32_pd(dots), _mm512_sqrt_pd(product)));
}

/* Write similarities from the sums of sixteen vectors, of which the first `some` are wanted. */
AVX512 static inline void store_avx512(const struct search_weights *query, size_t width,
                                       __m512i dots, __m512i norms, size_t some,
                                       float *similarities)
{
    const __m512i shift = _mm512_set1_epi32(-15 * query->sum);
    const __m512i base = _mm512_set1_epi32(450 * (int32_t)width);
    dots = _mm512_add_epi32(_mm512_add_epi32(dots, dots), shift);
    norms = _mm512_add_epi32(_mm512_slli_epi32(norms, 2), base);
    __m256 lower = cosines_avx512(_mm512_castsi512_si256(dots), _mm512_castsi512_si256(norms),
                                  query->norm);
    __m512d both = _mm512_castpd256_pd512(_mm256_castps_pd(lower));

    if (some > 8) {
        __m256 upper = cosines_avx512(_mm512_extracti64x4_epi64(dots, 1),
                                      _mm512_extracti64x4_epi64(norms, 1), query->norm);
        both = _mm512_insertf64x4(both, _mm256_castps_pd(upper), 1);
    }
    _mm512_mask_storeu_ps(similarities, (__mmask16)((1u << some) - 1), _mm512_castpd_ps(both));
}

/* Define the functions of a variant: the sums of four vectors in each quarter, with the first
   vector in place of those beyond `some`; the similarities of up to sixteen vectors; and of all. */
#define WEIGH(TARGET, quads, sixteen, weigh_width, weigh, sums)                                   \
    TARGET ALWAYS_INLINE static __m512i quads(const int8_t *low, const int8_t *high,              \
                                              const uint8_t *const *places, size_t some,          \
                                              size_t offset, __mmask64 inside)                    \
    {                                                                                             \
        if (some == 0)                                                                            \
            return _mm512_setzero_si512();                                                        \
        __m512i zero = sums(low, high, places[0] + offset, inside);                               \
        __m512i one = sums(low, high, places[some > 1 ? 1 : 0] + offset, inside);                 \
        __m512i two = sums(low, high, places[some > 2 ? 2 : 0] + offset, inside);                 \
        __m512i three = sums(low, high, places[some > 3 ? 3 : 0] + offset, inside);               \
        return add_quads_avx512(add_pairs_avx512(zero, one), add_pairs_avx512(two, three));       \
    }                                                                                             \
                                                                                                  \
    TARGET ALWAYS_INLINE static void sixteen(const struct search_weights *query,                  \
                                             const uint8_t *const *places, size_t some,           \
                                             size_t width, float *similarities)                   \
    {                                                                                             \
        __m512i dots = _mm512_setzero_si512(), norms = _mm512_setzero_si512();                    \
        for (size_t j = 0; j < width; j += 64) {                                                  \
            __mmask64 inside = ~(__mmask64)0 >> (width - j < 64 ? 64 - (width - j) : 0);          \
            const int8_t *low = query->low + j, *high = query->high + j;                          \
            __m512i zero = quads(low, high, places, some, j, inside);                             \
            __m512i one = quads(low, high, places + 4, some > 4 ? some - 4 : 0, j, inside);       \
            __m512i two = quads(low, high, places + 8, some > 8 ? some - 8 : 0, j, inside);       \
            __m512i three = quads(low, high, places + 12, some > 12 ? some - 12 : 0, j, inside);  \
            __m512i all = add_quarters_avx512(add_quarters_avx512(zero, one),                     \
                                              add_quarters_avx512(two, three));                   \
            __m512i norm = _mm512_srai_epi32(_mm512_slli_epi32(all, 16), 16);                     \
            __m512i dot = _mm512_srai_epi32(_mm512_sub_epi32(all, norm), 16);                     \
            norms = _mm512_add_epi32(norms, norm);                                                \
            dots = _mm512_add_epi32(dots, dot);                                                   \
        }                                                                                         \
        store_avx512(query, width, dots, norms, some, similarities);                              \
    }                                                                                             \
                                                                                                  \
    TARGET ALWAYS_INLINE static void weigh_width(const struct search_weights *query,              \
                                                 const uint8_t *const *places, size_t count,      \
                                                 size_t width, float *similarities)               \
    {                                                                                             \
        size_t i = 0;                                                                             \
        for (; count - i >= 16; i += 16)                                                          \
            sixteen(query, places + i, 16, width, similarities + i);                              \
        if (i < count)                                                                            \
            sixteen(query, places + i, count - i, width, similarities + i);                       \
    }                                                                                             \
                                                                                                  \
    TARGET static void weigh(const struct search_weights *query, const uint8_t *const *places,    \
                             size_t count, size_t width, float *similarities)                     \
    {                                                                                             \
        /* Compiled once more for the usual width, with its loop and mask worked out. */          \
        if (width == 64)                                                                          \
            weigh_width(query, places, count, 64, similarities);                                  \
        else                                                                                      \
            weigh_width(query, places, count, width, similarities);                               \
    }

WEIGH(AVX512, quads_avx512, sixteen_avx512, weigh_width_avx512, weigh_avx512, sums_avx512)
WEIGH(VNNI, quads_vnni, sixteen_vnni, weigh_width_vnni, weigh_avx512_vnni, sums_vnni)

/* Write the packed sums of up to 64 bytes of a pair: the dot product, and both norms as left +
   65536 right. */
VNNI static inline void pair_sums_vnni(const uint8_t *left, const uint8_t *right,
                                       __mmask64 inside, __m512i *dots, __m512i *norms)
{
    const __m512i half = _mm512_set1_epi8(15), less = _mm512_set1_epi8(-15);
    __m512i one = _mm512_maskz_loadu_epi8(inside, left);
    __m512i other = _mm512_maskz_loadu_epi8(inside, right);
    __m512i low = _mm512_and_si512(one, half), other_low = _mm512_and_si512(other, half);
    __m512i high = _mm512_and_si512(_mm512_srli_epi16(one, 4), half);
    __m512i other_high = _mm512_and_si512(_mm512_srli_epi16(other, 4), half);
    __m512i both = _mm512_add_epi8(other_low, other_high); /* at most 30 */
    __m512i sums = _mm512_setzero_si512();

    *dots = _mm512_dpbusd_epi32(sums, both, less);
    *dots = _mm512_dpbusd_epi32(
        *dots, low, _mm512_add_epi8(_mm512_add_epi8(other_low, other_low), less));
    *dots = _mm512_dpbusd_epi32(
        *dots, high, _mm512_add_epi8(_mm512_add_epi8(other_high, other_high), less));
    sums = _mm512_dpbusd_epi32(sums, other_low, _mm512_add_epi8(other_low, less));
    sums = _mm512_dpbusd_epi32(sums, other_high, _mm512_add_epi8(other_high, less));
    sums = _mm512_slli_epi32(sums, 16);
    sums = _mm512_dpbusd_epi32(sums, low, _mm512_add_epi8(low, less));
    *norms = _mm512_dpbusd_epi32(sums, high, _mm512_add_epi8(high, less));
}

/* Write the sums of four pairs in each quarter. */
VNNI ALWAYS_INLINE static void pair_quads_vnni(const uint8_t *const *lefts,
                                               const uint8_t *const *rights, size_t offset,
                                               __mmask64 inside, __m512i *dots, __m512i *norms)
{
    __m512i dot[4], norm[4];

    for (int i = 0; i < 4; i++)
        pair_sums_vnni(lefts[i] + offset, rights[i] + offset, inside, &dot[i], &norm[i]);
    *dots = add_quads_avx512(add_pairs_avx512(dot[0], dot[1]), add_pairs_avx512(dot[2], dot[3]));
    *norms = add_quads_avx512(add_pairs_avx512(norm[0], norm[1]),
                              add_pairs_avx512(norm[2], norm[3]));
}

/* Return the similarities of eight pairs. */
VNNI ALWAYS_INLINE static __m256 eight_pairs_vnni(const uint8_t *const *lefts,
                                                  const uint8_t *const *rights, size_t width)
{
    __m256i dots = _mm256_setzero_si256(), left_norms = dots, right_norms = dots;

    for (size_t j = 0; j < width; j += 64) {
        __mmask64 inside = ~(__mmask64)0 >> (width - j < 64 ? 64 - (width - j) : 0);
        __m512i dot[2], norm[2];
        pair_quads_vnni(lefts, rights, j, inside, &dot[0], &norm[0]);
        pair_quads_vnni(lefts + 4, rights + 4, j, inside, &dot[1], &norm[1]);
        __m512i all = add_quarters_avx512(add_quarters_avx512(dot[0], dot[1]),
                                          add_quarters_avx512(norm[0], norm[1]));
        __m256i both = _mm512_extracti64x4_epi64(all, 1);
        __m256i left = _mm256_srai_epi32(_mm256_slli_epi32(both, 16), 16);
        dots = _mm256_add_epi32(dots, _mm512_castsi512_si256(all));
        left_norms = _mm256_add_epi32(left_norms, left);
        right_norms = _mm256_add_epi32(right_norms,
                                       _mm256_srai_epi32(_mm256_sub_epi32(both, left), 16));
    }
    const __m256i base = _mm256_set1_epi32(450 * (int32_t)width);
    dots = _mm256_add_epi32(_mm256_add_epi32(dots, dots), base);
    left_norms = _mm256_add_epi32(_mm256_slli_epi32(left_norms, 2), base);
    right_norms = _mm256_add_epi32(_mm256_slli_epi32(right_norms, 2), base);
    __m512d product = _mm512_mul_pd(_mm512_cvtepi32_pd(left_norms),
                                    _mm512_cvtepi32_pd(right_norms));
    return _mm512_cvtpd_ps(_mm512_div_pd(_mm512_cvtepi32_pd(dots), _mm512_sqrt_pd(product)));
}

VNNI static void weigh_pairs_vnni(const uint8_t *const *lefts, const uint8_t *const *rights,
                                  size_t count, size_t width, float *similarities)
{
    size_t i = 0;

    for (; count - i >= 8; i += 8)
        _mm256_storeu_ps(similarities + i, eight_pairs_vnni(lefts + i, rights + i, width));
    for (; i < count; i++)
        similarities[i] = pair_avx2(lefts[i], rights[i], width);
}

#undef WEIGH
#undef ALWAYS_INLINE
#undef AVX512
#undef VNNI

#endif
