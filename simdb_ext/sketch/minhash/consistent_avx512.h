/* `consistent`, eight permutations at a time. */

#ifndef SIMDB_CONSISTENT_AVX512_H
#define SIMDB_CONSISTENT_AVX512_H

#include "consistent_scalar.h"
#include "hash/mix_avx512.h"

#if CPU_X86

#define CONSISTENT_BATCH 256 /* features prepared at a time */
#define CONSISTENT_INLINE CPU_AVX512 __attribute__((always_inline)) static inline

CONSISTENT_INLINE __m512d logarithm_avx512(__m512d numbers)
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

CONSISTENT_INLINE __m512d uniform_avx512(__m512i halves)
{
    __m512d number = _mm512_add_pd(_mm512_cvtepi64_pd(halves), _mm512_set1_pd(0.5));
    return _mm512_mul_pd(number, _mm512_set1_pd(0x1p-32));
}

CONSISTENT_INLINE __m512d gamma_avx512(__m512i words)
{
    __m512d low = uniform_avx512(_mm512_and_si512(words, _mm512_set1_epi64(0xFFFFFFFF)));
    __m512d high = uniform_avx512(_mm512_srli_epi64(words, 32));
    __m512d logarithm = logarithm_avx512(_mm512_mul_pd(low, high));

    return _mm512_xor_pd(logarithm, _mm512_set1_pd(-0.0));
}

CONSISTENT_INLINE __m512i draw_avx512(__m512i draws, uint64_t times)
{
    __m512i step = _mm512_set1_epi64((int64_t)(times * DRAW_STEP));
    return mix_final_avx512(_mm512_add_epi64(draws, step));
}

CONSISTENT_INLINE __m512d sample_avx512(uint64_t feature, __m512i keys, double logarithm,
                                        __m512i *words)
{
    __m512i all = _mm512_set1_epi64((int64_t)feature);
    __m512i draws = mix_final_avx512(_mm512_xor_si512(all, keys));
    __m512d rate = gamma_avx512(draw_avx512(draws, 1));
    __m512d cost = logarithm_avx512(gamma_avx512(draw_avx512(draws, 2)));
    __m512d shift = uniform_avx512(_mm512_srli_epi64(draw_avx512(draws, 3), 32));
    __m512d place = _mm512_add_pd(_mm512_div_pd(_mm512_set1_pd(logarithm), rate), shift);
    __m512d step = _mm512_roundscale_pd(place, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
    __m512i steps = _mm512_mullo_epi64(_mm512_cvttpd_epi64(step),
                                       _mm512_set1_epi64((int64_t)DRAW_STEP));
    __m512d reach = _mm512_add_pd(_mm512_sub_pd(step, shift), _mm512_set1_pd(1));

    *words = _mm512_srli_epi64(mix_final_avx512(_mm512_add_epi64(all, steps)), 32);
    return _mm512_sub_pd(cost, _mm512_mul_pd(rate, reach));
}

/* Lower the samples of eight permutations with some features. */
CPU_AVX512 static void consistent_eight_avx512(const uint64_t *keys, const uint64_t *features,
                                               const double *logarithms, int64_t count,
                                               double *least, uint32_t *row)
{
    __m512i eight = _mm512_loadu_si512(keys), words;
    __m512i chosen = _mm512_cvtepu32_epi64(_mm256_loadu_si256((const __m256i *)row));
    __m512d lowest = _mm512_loadu_pd(least);

    for (int64_t i = 0; i < count; i++) {
        __m512d value = sample_avx512(features[i], eight, logarithms[i], &words);
        __mmask8 is_less = _mm512_cmp_pd_mask(value, lowest, _CMP_LT_OQ);
        is_less |= _mm512_cmp_pd_mask(value, lowest, _CMP_EQ_OQ) &
                   _mm512_cmplt_epu64_mask(words, chosen);
        lowest = _mm512_mask_mov_pd(lowest, is_less, value);
        chosen = _mm512_mask_mov_epi64(chosen, is_less, words);
    }
    _mm512_storeu_pd(least, lowest);
    _mm256_storeu_si256((__m256i *)row, _mm512_cvtepi64_epi32(chosen));
}

CPU_AVX512 static int64_t consistent_avx512(const uint64_t *keys, int permutations,
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
            consistent_eight_avx512(keys + j, features, logarithms, held, least + j, row + j);
        all += held;
    }
    return all;
}

#endif

#endif
