/* The arithmetic of MurmurHash3_x64_128 on four words at a time. */

#ifndef SIMDB_MIX_AVX2_H
#define SIMDB_MIX_AVX2_H

#include "cpu.h"
#include "mix.h"

#if CPU_X86

/* AVX2 multiplies 32 by 32 bits.  Of both crossed products only the low half counts, so one
   instruction makes both. */
CPU_AVX2 static inline __m256i mix_product_avx2(__m256i words, uint64_t factor)
{
    __m256i both = _mm256_set1_epi64x((int64_t)factor);
    __m256i swapped = _mm256_set1_epi64x((int64_t)(factor << 32 | factor >> 32));
    __m256i crossed = _mm256_mullo_epi32(words, swapped);
    __m256i high = _mm256_and_si256(crossed, _mm256_set1_epi64x(INT64_MIN >> 31));
    __m256i sum = _mm256_add_epi64(_mm256_mul_epu32(words, both), high);
    return _mm256_add_epi64(sum, _mm256_slli_epi64(crossed, 32));
}

CPU_AVX2 static inline __m256i mix_rotate_avx2(__m256i words, int turn)
{
    return _mm256_or_si256(_mm256_slli_epi64(words, turn), _mm256_srli_epi64(words, 64 - turn));
}

CPU_AVX2 static inline __m256i mix_final_avx2(__m256i words)
{
    words = mix_product_avx2(_mm256_xor_si256(words, _mm256_srli_epi64(words, 33)),
                             MIX_FINAL_FIRST);
    words = mix_product_avx2(_mm256_xor_si256(words, _mm256_srli_epi64(words, 33)),
                             MIX_FINAL_SECOND);
    return _mm256_xor_si256(words, _mm256_srli_epi64(words, 33));
}

#endif

#endif
