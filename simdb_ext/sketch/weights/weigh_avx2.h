/* `weigh`: 32 sums at a time in eight registers; a bit of the hash becomes the sign of the
   weight. */

#ifndef SIMDB_WEIGH_AVX2_H
#define SIMDB_WEIGH_AVX2_H

#include "cpu.h"
#include "weigh_scalar.h"

#if CPU_X86

/* Write the sums of bits shift .. shift + 31 of one word of each hash. */
CPU_AVX2 static void weigh_half_avx2(const uint64_t *hashes, const float *weights, int64_t count,
                                     int word, int shift, float *projected)
{
    const __m256i top = _mm256_set1_epi64x(INT64_MIN);
    const __m256i places = _mm256_setr_epi64x(63, 62, 61, 60);
    __m256d sums[8];

    for (int j = 0; j < 8; j++)
        sums[j] = _mm256_setzero_pd();
    for (int64_t i = 0; i < count; i++) {
        double weight = weights ? weights[i] : 1.0;
        uint64_t bits = word_of(hashes[i], word);
        __m256d minus = _mm256_set1_pd(-weight);
        for (int j = 0; j < 8; j++) {
            __m256i four = _mm256_set1_epi64x((int64_t)(bits >> (shift + 4 * j)));
            __m256i signs = _mm256_and_si256(_mm256_sllv_epi64(four, places), top);
            sums[j] = _mm256_add_pd(sums[j], _mm256_xor_pd(minus, _mm256_castsi256_pd(signs)));
        }
    }
    for (int j = 0; j < 8; j++)
        _mm_storeu_ps(projected + shift + 4 * j, _mm256_cvtpd_ps(sums[j]));
}

CPU_AVX2 static void weigh_avx2(const uint64_t *hashes, const float *weights, int64_t count,
                                int words, float *projected)
{
    for (int word = 0; word < words; word++, projected += 64) {
        weigh_half_avx2(hashes, weights, count, word, 0, projected);
        weigh_half_avx2(hashes, weights, count, word, 32, projected);
    }
}

#endif

#endif
