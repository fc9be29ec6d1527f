/* `weigh` and `weigh_pairs`: the cosine of a query and packed vectors.

   A half q encodes the weight 2 q - 15.  If a are the weights of the query, the dot product is 2
   sum(a q) - 15 sum(a).  The squared norm in d dimensions is 4 sum(q (q - 15)) + 225 d.  No sum of
   16 bits overflows: a product is at most 450, and six of them are added. */
#ifndef SIMDB_SEARCH_WEIGH_H
#define SIMDB_SEARCH_WEIGH_H

#include <math.h>

#include "kernel.h"
#include "vector.h"

static inline int32_t dot_of(const struct search_weights *query, int32_t products)
{
    return 2 * products - 15 * query->sum;
}

static inline int32_t norm_of(size_t width, int32_t products)
{
    return 4 * products + 450 * (int32_t)width;
}

static inline float cosine(int32_t dot, int32_t one, int32_t other)
{
    return (float)((double)dot / sqrt((double)one * (double)other));
}

/* If both sides are packed, the dot product is 2 sum(2 a b - 15 a - 15 b) + 225 d. */
static inline int32_t dot_of_pair(size_t width, int32_t products)
{
    return 2 * products + 450 * (int32_t)width;
}

#if VECTORS_X86

/* Return the sums of both vectors as (dot, norm, dot, norm). */
static inline __m128i fold(__m256i dots, __m256i norms)
{
    __m256i both = _mm256_hadd_epi32(dots, norms);
    __m128i halves = _mm_add_epi32(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1));

    return _mm_hadd_epi32(halves, halves);
}

/* Return 32 bytes.  If only `left` bytes exist, the rest are 0, which add nothing to any sum. */
static inline __m256i bytes(const uint8_t *place, size_t left)
{
    uint8_t rest[32] = {0};

    if (left >= 32)
        return _mm256_loadu_si256((const __m256i *)place);
    memcpy(rest, place, left);
    return _mm256_loadu_si256((const __m256i *)rest);
}

/* Return 2 a b - 15 a - 15 b of half bytes, added in pairs; the next function: a (a - 15). */
static inline __m256i dots_of_pair(__m256i left, __m256i right)
{
    const __m256i half = _mm256_set1_epi8(15);
    __m256i weights = _mm256_sub_epi8(_mm256_add_epi8(right, right), half);

    return _mm256_sub_epi16(_mm256_maddubs_epi16(left, weights),
                            _mm256_maddubs_epi16(right, half));
}

static inline __m256i norms_of(__m256i halves)
{
    return _mm256_maddubs_epi16(halves, _mm256_sub_epi8(halves, _mm256_set1_epi8(15)));
}

static inline float pair(const uint8_t *left, const uint8_t *right, size_t width)
{
    const __m256i ones = _mm256_set1_epi16(1), half = _mm256_set1_epi8(15);
    __m256i dots = _mm256_setzero_si256(), left_norms = dots, right_norms = dots;

    for (size_t j = 0; j < width; j += 32) {
        __m256i one = bytes(left + j, width - j), other = bytes(right + j, width - j);
        __m256i low = _mm256_and_si256(one, half), other_low = _mm256_and_si256(other, half);
        __m256i high = _mm256_and_si256(_mm256_srli_epi16(one, 4), half);
        __m256i other_high = _mm256_and_si256(_mm256_srli_epi16(other, 4), half);
        dots = _mm256_add_epi32(
            dots, _mm256_madd_epi16(_mm256_add_epi16(dots_of_pair(low, other_low),
                                                     dots_of_pair(high, other_high)), ones));
        left_norms = _mm256_add_epi32(
            left_norms,
            _mm256_madd_epi16(_mm256_add_epi16(norms_of(low), norms_of(high)), ones));
        right_norms = _mm256_add_epi32(
            right_norms,
            _mm256_madd_epi16(_mm256_add_epi16(norms_of(other_low), norms_of(other_high)),
                              ones));
    }
    __m128i norms = fold(left_norms, right_norms);
    __m128i dot = fold(dots, dots);
    return cosine(dot_of_pair(width, _mm_cvtsi128_si32(dot)),
                  norm_of(width, _mm_cvtsi128_si32(norms)),
                  norm_of(width, _mm_extract_epi32(norms, 1)));
}

#endif

#if VECTORS == VECTORS_AVX512
#include "weigh_avx512.h"
#elif VECTORS == VECTORS_AVX2

static inline void sums(const struct search_weights *query, const uint8_t *place,
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
    __m128i sums = fold(dots, norms);
    *dot = _mm_cvtsi128_si32(sums);
    *norm = _mm_extract_epi32(sums, 1);
}

static void weigh(const struct search_weights *query, const uint8_t *const *places,
                  size_t count, size_t width, float *similarities)
{
    const __m256d own = _mm256_set1_pd((double)query->norm);

    for (size_t i = 0; i < count; i += 4) {
        int32_t dots[4] = {0}, norms[4] = {1, 1, 1, 1};
        float result[4];
        size_t some = count - i < 4 ? count - i : 4;
        for (size_t k = 0; k < some; k++) {
            sums(query, places[i + k], width, &dots[k], &norms[k]);
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

static void weigh_pairs(const uint8_t *const *lefts, const uint8_t *const *rights,
                        size_t count, size_t width, float *similarities)
{
    for (size_t i = 0; i < count; i++)
        similarities[i] = pair(lefts[i], rights[i], width);
}

#elif VECTORS == VECTORS_NEON

/* The low and the high halves of 16 bytes. */
struct halves {
    int8x16_t low, high;
};

/* Split 16 bytes.  If only `left` bytes exist, the rest are 0, which add nothing to any sum. */
static inline struct halves halves_at(const uint8_t *place, size_t left)
{
    uint8_t rest[16] = {0};
    uint8x16_t bytes;

    if (left >= 16) {
        bytes = vld1q_u8(place);
    } else {
        memcpy(rest, place, left);
        bytes = vld1q_u8(rest);
    }
    return (struct halves){
        vreinterpretq_s8_u8(vandq_u8(bytes, vdupq_n_u8(15))),
        vreinterpretq_s8_u8(vshrq_n_u8(bytes, 4)),
    };
}

/* Return sums of four products each: of the lanes of the low and the high halves. */
static inline int16x8_t products(struct halves halves, int8x16_t low, int8x16_t high)
{
    int16x8_t sums = vmull_s8(vget_low_s8(halves.low), vget_low_s8(low));

    sums = vmlal_high_s8(sums, halves.low, low);
    sums = vmlal_s8(sums, vget_low_s8(halves.high), vget_low_s8(high));
    return vmlal_high_s8(sums, halves.high, high);
}

/* Return a (a - 15) of half bytes a, added by fours. */
static inline int16x8_t norms_of(struct halves halves)
{
    const int8x16_t most = vdupq_n_s8(15);

    return products(halves, vsubq_s8(halves.low, most), vsubq_s8(halves.high, most));
}

static void weigh(const struct search_weights *query, const uint8_t *const *places,
                  size_t count, size_t width, float *similarities)
{
    for (size_t i = 0; i < count; i++) {
        int32x4_t dots = vdupq_n_s32(0), norms = dots;
        for (size_t j = 0; j < width; j += 16) {
            struct halves halves = halves_at(places[i] + j, width - j);
            dots = vpadalq_s16(dots, products(halves, vld1q_s8(query->low + j),
                                              vld1q_s8(query->high + j)));
            norms = vpadalq_s16(norms, norms_of(halves));
        }
        similarities[i] = cosine(dot_of(query, vaddvq_s32(dots)), query->norm,
                                 norm_of(width, vaddvq_s32(norms)));
    }
}

/* Return a (2 b - 15) - 15 b of half bytes a and b, added by fours. */
static inline int16x8_t dots_of_pair(struct halves left, struct halves right)
{
    const int8x16_t most = vdupq_n_s8(15);
    int16x8_t sums = products(
        left, vsubq_s8(vaddq_s8(right.low, right.low), most),
        vsubq_s8(vaddq_s8(right.high, right.high), most));
    int8x16_t both = vaddq_s8(right.low, right.high);

    sums = vmlsl_s8(sums, vget_low_s8(both), vget_low_s8(most));
    return vmlsl_high_s8(sums, both, most);
}

static inline float pair(const uint8_t *left, const uint8_t *right, size_t width)
{
    int32x4_t dots = vdupq_n_s32(0), left_norms = dots, right_norms = dots;

    for (size_t j = 0; j < width; j += 16) {
        struct halves one = halves_at(left + j, width - j);
        struct halves other = halves_at(right + j, width - j);
        dots = vpadalq_s16(dots, dots_of_pair(one, other));
        left_norms = vpadalq_s16(left_norms, norms_of(one));
        right_norms = vpadalq_s16(right_norms, norms_of(other));
    }
    return cosine(dot_of_pair(width, vaddvq_s32(dots)), norm_of(width, vaddvq_s32(left_norms)),
                  norm_of(width, vaddvq_s32(right_norms)));
}

static void weigh_pairs(const uint8_t *const *lefts, const uint8_t *const *rights,
                        size_t count, size_t width, float *similarities)
{
    for (size_t i = 0; i < count; i++)
        similarities[i] = pair(lefts[i], rights[i], width);
}

#else

static void weigh(const struct search_weights *query, const uint8_t *const *places,
                  size_t count, size_t width, float *similarities)
{
    for (size_t i = 0; i < count; i++) {
        int32_t dot = 0, norm = 0;
        for (size_t j = 0; j < width; j++) {
            int32_t low = places[i][j] & 15, high = places[i][j] >> 4;
            dot += query->low[j] * low + query->high[j] * high;
            norm += low * (low - 15) + high * (high - 15);
        }
        similarities[i] = cosine(dot_of(query, dot), query->norm, norm_of(width, norm));
    }
}

static void weigh_pairs(const uint8_t *const *lefts, const uint8_t *const *rights,
                        size_t count, size_t width, float *similarities)
{
    for (size_t i = 0; i < count; i++) {
        int32_t dot = 0, left_norm = 0, right_norm = 0;
        for (size_t j = 0; j < width; j++)
            for (int shift = 0; shift <= 4; shift += 4) {
                int32_t left = lefts[i][j] >> shift & 15, right = rights[i][j] >> shift & 15;
                dot += 2 * left * right - 15 * left - 15 * right;
                left_norm += left * (left - 15);
                right_norm += right * (right - 15);
            }
        similarities[i] = cosine(dot_of_pair(width, dot), norm_of(width, left_norm),
                                 norm_of(width, right_norm));
    }
}

#endif

#endif
