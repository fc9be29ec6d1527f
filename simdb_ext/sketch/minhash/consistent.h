/* `consistent`: consistent weighted sampling (Ioffe 2010).

   All variants do the same operations in the same order and round each one separately, so they
   agree to the bit.  The logarithm is our own for the same reason. */

#ifndef SIMDB_CONSISTENT_H
#define SIMDB_CONSISTENT_H

#include <math.h>

#include "hash/hashes.h"
#include "minima.h"

/* Added to a word for each further random number that is drawn from it. */
#define DRAW_STEP MIX_SECOND_WORD

#define LN_2 0.6931471805599453
#define SQRT_2 1.4142135623730951
#define LOGARITHM_TERMS 8 /* the next term would be below 1e-14 */

/* Return ln of a normal number above 0 as 2 artanh((m - 1) / (m + 1)) + e ln 2, with m of sqrt(1/2)
   or more. */
static inline double consistent_logarithm(double number)
{
    uint64_t bits;
    double part, exponent, ratio, square, sum = 1.0 / (2 * LOGARITHM_TERMS - 1);

    memcpy(&bits, &number, sizeof bits);
    exponent = (double)(int64_t)(bits >> 52) - 1023;
    bits = (bits & 0xFFFFFFFFFFFFFu) | 0x3FF0000000000000u;
    memcpy(&part, &bits, sizeof part);
    exponent = part > SQRT_2 ? exponent + 1 : exponent;
    part = part > SQRT_2 ? part * 0.5 : part;
    ratio = (part - 1) / (part + 1);
    square = ratio * ratio;
    for (int term = 2 * LOGARITHM_TERMS - 3; term > 0; term -= 2)
        sum = sum * square + 1.0 / term;
    return exponent * LN_2 + 2 * ratio * sum;
}

/* Return a number in the open interval (0, 1), made of 32 bits. */
static inline double consistent_uniform(uint64_t half)
{
    return ((double)(int64_t)half + 0.5) * 0x1p-32;
}

/* Return the product of two uniform numbers. */
static inline double consistent_product(uint64_t word)
{
    return consistent_uniform(word & 0xFFFFFFFF) * consistent_uniform(word >> 32);
}

/* Return a number of Gamma(2, 1): minus the logarithm of the product of two uniform numbers. */
static inline double consistent_gamma(uint64_t word)
{
    return -consistent_logarithm(consistent_product(word));
}

/* Draw the sample of a weight from the random numbers of a feature under one permutation.  Return
   its ln a, of which the least wins, and write its word. */
static inline double consistent_sample(uint64_t feature, uint64_t key, double logarithm,
                                       uint64_t *word)
{
    uint64_t draw = mix_final(feature ^ key);
    double rate = consistent_gamma(mix_final(draw + DRAW_STEP));
    double cost = consistent_logarithm(consistent_gamma(mix_final(draw + 2 * DRAW_STEP)));
    double shift = consistent_uniform(mix_final(draw + 3 * DRAW_STEP) >> 32);
    double step = floor(logarithm / rate + shift);

    *word = mix_final(feature + (uint64_t)(int64_t)step * DRAW_STEP) >> 32;
    return cost - rate * (step - shift + 1);
}

#if VECTORS == VECTORS_AVX512

#define CONSISTENT_BATCH 256 /* features prepared together */

VECTOR_INLINE __m512d logarithms(__m512d numbers)
{
    const __m512d one = _mm512_set1_pd(1);
    __m512i bits = _mm512_castpd_si512(numbers);
    __m512i exponents = _mm512_sub_epi64(_mm512_srli_epi64(bits, 52), _mm512_set1_epi64(1023));
    __m512d exponent = _mm512_cvtepi64_pd(exponents);

    bits = _mm512_and_si512(bits, _mm512_set1_epi64(0xFFFFFFFFFFFFF));
    bits = _mm512_or_si512(bits, _mm512_set1_epi64(0x3FF0000000000000));
    __m512d part = _mm512_castsi512_pd(bits);
    __mmask8 is_large = _mm512_cmp_pd_mask(part, _mm512_set1_pd(SQRT_2), _CMP_GT_OQ);
    exponent = _mm512_mask_add_pd(exponent, is_large, exponent, one);
    part = _mm512_mask_mul_pd(part, is_large, part, _mm512_set1_pd(0.5));
    __m512d ratio = _mm512_div_pd(_mm512_sub_pd(part, one), _mm512_add_pd(part, one));
    __m512d square = _mm512_mul_pd(ratio, ratio);
    __m512d sum = _mm512_set1_pd(1.0 / (2 * LOGARITHM_TERMS - 1));
    for (int term = 2 * LOGARITHM_TERMS - 3; term > 0; term -= 2)
        sum = _mm512_add_pd(_mm512_mul_pd(sum, square), _mm512_set1_pd(1.0 / term));
    ratio = _mm512_mul_pd(_mm512_mul_pd(_mm512_set1_pd(2), ratio), sum);
    return _mm512_add_pd(_mm512_mul_pd(exponent, _mm512_set1_pd(LN_2)), ratio);
}

VECTOR_INLINE __m512d uniforms(__m512i halves)
{
    __m512d number = _mm512_add_pd(_mm512_cvtepi64_pd(halves), _mm512_set1_pd(0.5));
    return _mm512_mul_pd(number, _mm512_set1_pd(0x1p-32));
}

VECTOR_INLINE __m512d gammas(__m512i words)
{
    __m512d low = uniforms(_mm512_and_si512(words, _mm512_set1_epi64(0xFFFFFFFF)));
    __m512d high = uniforms(_mm512_srli_epi64(words, 32));
    __m512d product = logarithms(_mm512_mul_pd(low, high));

    return _mm512_xor_pd(product, _mm512_set1_pd(-0.0));
}

VECTOR_INLINE __m512i drawn(__m512i draws, uint64_t times)
{
    __m512i step = _mm512_set1_epi64((int64_t)(times * DRAW_STEP));
    return mix_finals(_mm512_add_epi64(draws, step));
}

VECTOR_INLINE __m512d samples(uint64_t feature, __m512i keys, double logarithm,
                             __m512i *words)
{
    __m512i all = _mm512_set1_epi64((int64_t)feature);
    __m512i draws = mix_finals(_mm512_xor_si512(all, keys));
    __m512d rate = gammas(drawn(draws, 1));
    __m512d cost = logarithms(gammas(drawn(draws, 2)));
    __m512d shift = uniforms(_mm512_srli_epi64(drawn(draws, 3), 32));
    __m512d place = _mm512_add_pd(_mm512_div_pd(_mm512_set1_pd(logarithm), rate), shift);
    __m512d step = _mm512_roundscale_pd(place, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
    __m512i steps = _mm512_mullo_epi64(_mm512_cvttpd_epi64(step),
                                       _mm512_set1_epi64((int64_t)DRAW_STEP));
    __m512d reach = _mm512_add_pd(_mm512_sub_pd(step, shift), _mm512_set1_pd(1));

    *words = _mm512_srli_epi64(mix_finals(_mm512_add_epi64(all, steps)), 32);
    return _mm512_sub_pd(cost, _mm512_mul_pd(rate, reach));
}

/* Lower the samples of eight permutations with some features. */
static void consistent_eight(const uint64_t *keys, const uint64_t *features,
                             const double *logarithms, int64_t count,
                             double *least, uint32_t *row)
{
    __m512i eight = _mm512_loadu_si512(keys), words;
    __m512i chosen = _mm512_cvtepu32_epi64(_mm256_loadu_si256((const __m256i *)row));
    __m512d lowest = _mm512_loadu_pd(least);

    for (int64_t i = 0; i < count; i++) {
        __m512d value = samples(features[i], eight, logarithms[i], &words);
        __mmask8 is_less = _mm512_cmp_pd_mask(value, lowest, _CMP_LT_OQ);
        is_less |= _mm512_cmp_pd_mask(value, lowest, _CMP_EQ_OQ) &
                   _mm512_cmplt_epu64_mask(words, chosen);
        lowest = _mm512_mask_mov_pd(lowest, is_less, value);
        chosen = _mm512_mask_mov_epi64(chosen, is_less, words);
    }
    _mm512_storeu_pd(least, lowest);
    _mm256_storeu_si256((__m256i *)row, _mm512_cvtepi64_epi32(chosen));
}

static int64_t consistent(const uint64_t *keys, int permutations,
                          const uint64_t *hashes, const float *weights,
                          int64_t count, uint32_t *row)
{
    double least[MINIMA_MOST], logarithms[CONSISTENT_BATCH];
    uint64_t features[CONSISTENT_BATCH];
    int64_t all = 0;

    memset(row, 0xFF, (size_t)permutations * sizeof *row);
    for (int j = 0; j < permutations; j++)
        least[j] = INFINITY;
    for (int64_t i = 0; i < count;) {
        int64_t held = 0;
        for (; i < count && held < CONSISTENT_BATCH; i++) {
            features[held] = mix_final(hashes[i]);
            logarithms[held] = consistent_logarithm(weights[i]);
            held += weights[i] > 0;
        }
        for (int j = 0; j < permutations; j += 8)
            consistent_eight(keys + j, features, logarithms, held, least + j, row + j);
        all += held;
    }
    return all;
}

#else

/* Much larger than any change of a sample by rounding. */
#define CONSISTENT_MARGIN 1.0001

/* Return, without a logarithm, whether the a of a sample can be below `bound` / weight; one in ten
   can.

   In `consistent_sample`, rate * (step - shift + 1) is at most logarithm + rate.  So a is at least
   c exp(-rate) / weight, where ln c is the cost.  The factor exp(-rate) is the product of two
   uniform numbers.  The factor c is minus the logarithm of another such product, and so at least
   1 - that product. */
static inline int consistent_may_win(uint64_t feature, uint64_t key, double bound)
{
    uint64_t draw = mix_final(feature ^ key);
    double rate = consistent_product(mix_final(draw + DRAW_STEP));
    double cost = consistent_product(mix_final(draw + 2 * DRAW_STEP));

    return (1 - cost) * rate <= bound;
}

static int64_t consistent(const uint64_t *keys, int permutations, const uint64_t *hashes,
                          const float *weights, int64_t count, uint32_t *row)
{
    double least[MINIMA_MOST], bounds[MINIMA_MOST]; /* the least ln a so far, and the same as a */
    int64_t features = 0;

    memset(row, 0xFF, (size_t)permutations * sizeof *row);
    for (int j = 0; j < permutations; j++)
        least[j] = bounds[j] = INFINITY;
    for (int64_t i = 0; i < count; i++) {
        if (!(weights[i] > 0))
            continue;
        uint64_t feature = mix_final(hashes[i]), word;
        double logarithm = consistent_logarithm(weights[i]);
        for (int j = 0; j < permutations; j++) {
            if (!consistent_may_win(feature, keys[j], bounds[j] * weights[i]))
                continue;
            double value = consistent_sample(feature, keys[j], logarithm, &word);
            if (value < least[j] || (value == least[j] && word < row[j])) {
                least[j] = value;
                bounds[j] = exp(value) * CONSISTENT_MARGIN;
                row[j] = (uint32_t)word;
            }
        }
        features++;
    }
    return features;
}

#endif

#endif
