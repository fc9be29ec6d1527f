/* `weigh`: all 64 sums of a word stay in eight registers; the hash masks the additions. */

#ifndef SIMDB_WEIGH_AVX512_H
#define SIMDB_WEIGH_AVX512_H

#include "cpu.h"
#include "weigh_scalar.h"

#if CPU_X86

CPU_AVX512 static void weigh_word_avx512(const uint64_t *hashes, const float *weights,
                                         int64_t count, int word, float *projected)
{
    __m512d sums[8];

    for (int j = 0; j < 8; j++)
        sums[j] = _mm512_setzero_pd();
    for (int64_t i = 0; i < count; i++) {
        double weight = weights ? weights[i] : 1.0;
        uint64_t bits = word_of(hashes[i], word);
        __m512d plus = _mm512_set1_pd(weight), minus = _mm512_set1_pd(-weight);
        for (int j = 0; j < 8; j++)
            sums[j] = _mm512_add_pd(
                sums[j], _mm512_mask_blend_pd((__mmask8)(bits >> 8 * j), minus, plus));
    }
    for (int j = 0; j < 8; j++)
        _mm256_storeu_ps(projected + 8 * j, _mm512_cvtpd_ps(sums[j]));
}

CPU_AVX512 static void weigh_avx512(const uint64_t *hashes, const float *weights, int64_t count,
                                    int words, float *projected)
{
    for (int word = 0; word < words; word++)
        weigh_word_avx512(hashes, weights, count, word, projected + 64 * word);
}

#endif

#endif
