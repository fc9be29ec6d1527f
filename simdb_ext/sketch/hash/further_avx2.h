/* `further`, four words at a time. */

#ifndef SIMDB_FURTHER_AVX2_H
#define SIMDB_FURTHER_AVX2_H

#include "cpu.h"
#include "further_scalar.h"
#include "mix_avx2.h"

#if CPU_X86

CPU_AVX2 static void further_avx2(const uint64_t *first, int64_t count, uint64_t *third,
                                  uint64_t *fourth)
{
    const __m256i one = _mm256_set1_epi64x((int64_t)MIX_THIRD_WORD);
    const __m256i other = _mm256_set1_epi64x((int64_t)MIX_FOURTH_WORD);
    int64_t i = 0;

    for (; i + 4 <= count; i += 4) {
        __m256i words = _mm256_loadu_si256((const __m256i *)(first + i));
        _mm256_storeu_si256((__m256i *)(third + i), mix_final_avx2(_mm256_xor_si256(words, one)));
        _mm256_storeu_si256((__m256i *)(fourth + i),
                            mix_final_avx2(_mm256_xor_si256(words, other)));
    }
    further_scalar(first + i, count - i, third + i, fourth + i);
}

#endif

#endif
