/* The cosine of a query and packed vectors, 32 bytes at a time.

   No sum of 16 bits overflows: a product is at most 225, and four of them are added. */
#ifndef SIMDB_SEARCH_WEIGH_AVX2_H
#define SIMDB_SEARCH_WEIGH_AVX2_H

#include <immintrin.h>
#include <string.h>

#include "kernel.h"
#include "weigh_scalar.h"

#define AVX2 __attribute__((target("avx2")))

/* Return the sums of both vectors, as (dot, norm, dot, norm). */
AVX2 static inline __m128i fold_avx2(__m256i dots, __m256i norms)
{
    __m256i both = _mm256_hadd_epi32(dots, norms);
    __m128i halves = _mm_add_epi32(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1));

    return _mm_hadd_epi32(halves, halves);
}

AVX2 static inline void sums_avx2(const struct search_weights *query, const uint8_t *place,
                                  size_t width, int32_t *dot, int32_t *norm)
{
    const __m256i ones = _mm256_set1_epi16(1), half = _mm256_set1_epi8(15);
    __m256i dots = _mm256_setzero_si256(), norms = _mm256_setzero_si256();

    for (size_t j = 0; j < width; j += 32) {
        __m256i bytes;
        if (width - j >= 32) {
            bytes = _mm256_loadu_si256((const __m256i *)(place + j));
        } else {
            uint8_t rest[32] = {0};
            memcpy(rest, place + j, width - j);
            bytes = _mm256_loadu_si256((const __m256i *)rest);
        }
        __m256i low = _mm256_and_si256(bytes, half);
        __m256i high = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), half);
        __m256i dots16 = _mm256_add_epi16(
            _mm256_maddubs_epi16(low, _mm256_loadu_si256((const __m256i *)(query->low + j))),
            _mm256_maddubs_epi16(high, _mm256_loadu_si256((const __m256i *)(query->high + j))));
        __m256i norms16 = _mm256_add_epi16(
            _mm256_maddubs_epi16(low, _mm256_sub_epi8(low, half)),
            _mm256_maddubs_epi16(high, _mm256_sub_epi8(high, half)));
        dots = _mm256_add_epi32(dots, _mm256_madd_epi16(dots16, ones));
        norms = _mm256_add_epi32(norms, _mm256_madd_epi16(norms16, ones));
    }
    __m128i sums = fold_avx2(dots, norms);
    *dot = _mm_cvtsi128_si32(sums);
    *norm = _mm_extract_epi32(sums, 1);
}

AVX2 static void weigh_avx2(const struct search_weights *query, const uint8_t *const *places,
                            size_t count, size_t width, float *similarities)
{
    const __m256d own = _mm256_set1_pd((double)query->norm);

    for (size_t i = 0; i < count; i += 4) {
        int32_t dots[4] = {0}, norms[4] = {1, 1, 1, 1};
        float result[4];
        size_t some = count - i < 4 ? count - i : 4;
        for (size_t k = 0; k < some; k++) {
            sums_avx2(query, places[i + k], width, &dots[k], &norms[k]);
            dots[k] = dot_of(query, dots[k]);
            norms[k] = norm_of(width, norms[k]);
        }
        __m256d dot = _mm256_cvtepi32_pd(_mm_loadu_si128((const __m128i *)dots));
        __m256d norm = _mm256_cvtepi32_pd(_mm_loadu_si128((const __m128i *)norms));
        __m256d root = _mm256_sqrt_pd(_mm256_mul_pd(own, norm));
        _mm_storeu_ps(result, _mm256_cvtpd_ps(_mm256_div_pd(dot, root)));
        memcpy(similarities + i, result, some * sizeof(float));
    }
}

/* Return 32 bytes; if only `left` bytes are there, the others are 0, which adds nothing to any
   sum. */
AVX2 static inline __m256i bytes_avx2(const uint8_t *place, size_t left)
{
    uint8_t rest[32] = {0};

    if (left >= 32)
        return _mm256_loadu_si256((const __m256i *)place);
    memcpy(rest, place, left);
    return _mm256_loadu_si256((const __m256i *)rest);
}

/* Return 2 a b - 15 a - 15 b of half bytes, added in pairs; the next function, a (a - 15). */
AVX2 static inline __m256i dots_of_pair_avx2(__m256i left, __m256i right)
{
    const __m256i half = _mm256_set1_epi8(15);
    __m256i weights = _mm256_sub_epi8(_mm256_add_epi8(right, right), half);

    return _mm256_sub_epi16(_mm256_maddubs_epi16(left, weights),
                            _mm256_maddubs_epi16(right, half));
}

AVX2 static inline __m256i norms_avx2(__m256i halves)
{
    return _mm256_maddubs_epi16(halves, _mm256_sub_epi8(halves, _mm256_set1_epi8(15)));
}

AVX2 static inline float pair_avx2(const uint8_t *left, const uint8_t *right, size_t width)
{
    const __m256i ones = _mm256_set1_epi16(1), half = _mm256_set1_epi8(15);
    __m256i dots = _mm256_setzero_si256(), left_norms = dots, right_norms = dots;

    for (size_t j = 0; j < width; j += 32) {
        __m256i one = bytes_avx2(left + j, width - j), other = bytes_avx2(right + j, width - j);
        __m256i low = _mm256_and_si256(one, half), other_low = _mm256_and_si256(other, half);
        __m256i high = _mm256_and_si256(_mm256_srli_epi16(one, 4), half);
        __m256i other_high = _mm256_and_si256(_mm256_srli_epi16(other, 4), half);
        dots = _mm256_add_epi32(
            dots, _mm256_madd_epi16(_mm256_add_epi16(dots_of_pair_avx2(low, other_low),
                                                     dots_of_pair_avx2(high, other_high)), ones));
        left_norms = _mm256_add_epi32(
            left_norms,
            _mm256_madd_epi16(_mm256_add_epi16(norms_avx2(low), norms_avx2(high)), ones));
        right_norms = _mm256_add_epi32(
            right_norms,
            _mm256_madd_epi16(_mm256_add_epi16(norms_avx2(other_low), norms_avx2(other_high)),
                              ones));
    }
    __m128i norms = fold_avx2(left_norms, right_norms);
    __m128i dot = fold_avx2(dots, dots);
    return cosine(dot_of_pair(width, _mm_cvtsi128_si32(dot)),
                  norm_of(width, _mm_cvtsi128_si32(norms)),
                  norm_of(width, _mm_extract_epi32(norms, 1)));
}

AVX2 static void weigh_pairs_avx2(const uint8_t *const *lefts, const uint8_t *const *rights,
                                  size_t count, size_t width, float *similarities)
{
    for (size_t i = 0; i < count; i++)
        similarities[i] = pair_avx2(lefts[i], rights[i], width);
}

#undef AVX2

#endif
