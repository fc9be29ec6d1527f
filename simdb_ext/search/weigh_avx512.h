/* `weigh` and `weigh_pairs`, sixteen vectors or eight pairs at a time, with products of VNNI.

   Both sums of 64 bytes fit into one 32-bit lane as 65536 dot + norm.  The size of dot is at most
   128 * 225, and norm is from -128 * 56 to 0.  So one tree of additions sums up sixteen vectors. */
#ifndef SIMDB_SEARCH_WEIGH_AVX512_H
#define SIMDB_SEARCH_WEIGH_AVX512_H

#include "kernel.h"
#include "vector.h"

/* Return both sums, in each lane, of the bytes at `place` in the mask `inside`. */
static inline __m512i sums(const int8_t *low_weights, const int8_t *high_weights,
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

static inline __m512i add_pairs(__m512i one, __m512i other)
{
    return _mm512_add_epi32(_mm512_unpacklo_epi32(one, other), _mm512_unpackhi_epi32(one, other));
}

static inline __m512i add_quads(__m512i one, __m512i other)
{
    return _mm512_add_epi32(_mm512_unpacklo_epi64(one, other), _mm512_unpackhi_epi64(one, other));
}

static inline __m512i add_quarters(__m512i one, __m512i other)
{
    return _mm512_add_epi32(_mm512_shuffle_i64x2(one, other, 0x88),
                            _mm512_shuffle_i64x2(one, other, 0xdd));
}

static inline __m256 cosines(__m256i dots, __m256i norms, int32_t own)
{
    __m512d product = _mm512_mul_pd(_mm512_cvtepi32_pd(norms), _mm512_set1_pd((double)own));

    return _mm512_cvtpd_ps(_mm512_div_pd(_mm512_cvtepi32_pd(dots), _mm512_sqrt_pd(product)));
}

/* Write similarities from the sums of sixteen vectors, of which the first `some` are wanted. */
static inline void store(const struct search_weights *query, size_t width,
                         __m512i dots, __m512i norms, size_t some,
                         float *similarities)
{
    const __m512i shift = _mm512_set1_epi32(-15 * query->sum);
    const __m512i base = _mm512_set1_epi32(450 * (int32_t)width);
    dots = _mm512_add_epi32(_mm512_add_epi32(dots, dots), shift);
    norms = _mm512_add_epi32(_mm512_slli_epi32(norms, 2), base);
    __m256 lower = cosines(_mm512_castsi512_si256(dots), _mm512_castsi512_si256(norms),
                           query->norm);
    __m512d both = _mm512_castpd256_pd512(_mm256_castps_pd(lower));

    if (some > 8) {
        __m256 upper = cosines(_mm512_extracti64x4_epi64(dots, 1),
                               _mm512_extracti64x4_epi64(norms, 1), query->norm);
        both = _mm512_insertf64x4(both, _mm256_castps_pd(upper), 1);
    }
    _mm512_mask_storeu_ps(similarities, (__mmask16)((1u << some) - 1), _mm512_castpd_ps(both));
}

/* Return the sums of four vectors in each quarter; the first replaces vectors beyond `some`. */
VECTOR_INLINE __m512i four_sums(const int8_t *low, const int8_t *high,
                                          const uint8_t *const *places, size_t some,
                                          size_t offset, __mmask64 inside)
{
    if (some == 0)
        return _mm512_setzero_si512();
    __m512i zero = sums(low, high, places[0] + offset, inside);
    __m512i one = sums(low, high, places[some > 1 ? 1 : 0] + offset, inside);
    __m512i two = sums(low, high, places[some > 2 ? 2 : 0] + offset, inside);
    __m512i three = sums(low, high, places[some > 3 ? 3 : 0] + offset, inside);
    return add_quads(add_pairs(zero, one), add_pairs(two, three));
}

/* Write the similarities of up to sixteen vectors. */
VECTOR_INLINE void sixteen(const struct search_weights *query,
                                         const uint8_t *const *places, size_t some,
                                         size_t width, float *similarities)
{
    __m512i dots = _mm512_setzero_si512(), norms = _mm512_setzero_si512();
    for (size_t j = 0; j < width; j += 64) {
        __mmask64 inside = ~(__mmask64)0 >> (width - j < 64 ? 64 - (width - j) : 0);
        const int8_t *low = query->low + j, *high = query->high + j;
        __m512i zero = four_sums(low, high, places, some, j, inside);
        __m512i one = four_sums(low, high, places + 4, some > 4 ? some - 4 : 0, j, inside);
        __m512i two = four_sums(low, high, places + 8, some > 8 ? some - 8 : 0, j, inside);
        __m512i three = four_sums(low, high, places + 12, some > 12 ? some - 12 : 0, j, inside);
        __m512i all = add_quarters(add_quarters(zero, one),
                                          add_quarters(two, three));
        __m512i norm = _mm512_srai_epi32(_mm512_slli_epi32(all, 16), 16);
        __m512i dot = _mm512_srai_epi32(_mm512_sub_epi32(all, norm), 16);
        norms = _mm512_add_epi32(norms, norm);
        dots = _mm512_add_epi32(dots, dot);
    }
    store(query, width, dots, norms, some, similarities);
}

VECTOR_INLINE void weigh_width(const struct search_weights *query,
                                             const uint8_t *const *places, size_t count,
                                             size_t width, float *similarities)
{
    size_t i = 0;
    for (; count - i >= 16; i += 16)
        sixteen(query, places + i, 16, width, similarities + i);
    if (i < count)
        sixteen(query, places + i, count - i, width, similarities + i);
}

static void weigh(const struct search_weights *query, const uint8_t *const *places,
                         size_t count, size_t width, float *similarities)
{
    /* Compiled separately for the usual width, which makes its loop and mask constants. */
    if (width == 64)
        weigh_width(query, places, count, 64, similarities);
    else
        weigh_width(query, places, count, width, similarities);
}

/* Write the packed sums of up to 64 bytes of a pair: the dot product, and both norms as left +
   65536 right. */
static inline void pair_sums(const uint8_t *left, const uint8_t *right,
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
VECTOR_INLINE void pair_quads(const uint8_t *const *lefts,
                                          const uint8_t *const *rights, size_t offset,
                                          __mmask64 inside, __m512i *dots, __m512i *norms)
{
    __m512i dot[4], norm[4];

    for (int i = 0; i < 4; i++)
        pair_sums(lefts[i] + offset, rights[i] + offset, inside, &dot[i], &norm[i]);
    *dots = add_quads(add_pairs(dot[0], dot[1]), add_pairs(dot[2], dot[3]));
    *norms = add_quads(add_pairs(norm[0], norm[1]),
                       add_pairs(norm[2], norm[3]));
}

/* Return the similarities of eight pairs. */
VECTOR_INLINE __m256 eight_pairs(const uint8_t *const *lefts,
                                             const uint8_t *const *rights, size_t width)
{
    __m256i dots = _mm256_setzero_si256(), left_norms = dots, right_norms = dots;

    for (size_t j = 0; j < width; j += 64) {
        __mmask64 inside = ~(__mmask64)0 >> (width - j < 64 ? 64 - (width - j) : 0);
        __m512i dot[2], norm[2];
        pair_quads(lefts, rights, j, inside, &dot[0], &norm[0]);
        pair_quads(lefts + 4, rights + 4, j, inside, &dot[1], &norm[1]);
        __m512i all = add_quarters(add_quarters(dot[0], dot[1]),
                                   add_quarters(norm[0], norm[1]));
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

static void weigh_pairs(const uint8_t *const *lefts, const uint8_t *const *rights,
                             size_t count, size_t width, float *similarities)
{
    size_t i = 0;

    for (; count - i >= 8; i += 8)
        _mm256_storeu_ps(similarities + i, eight_pairs(lefts + i, rights + i, width));
    for (; i < count; i++)
        similarities[i] = pair(lefts[i], rights[i], width);
}

#endif
