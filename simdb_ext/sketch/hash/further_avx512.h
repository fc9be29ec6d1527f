/* `further`, eight words at a time. */

#ifndef SIMDB_FURTHER_AVX512_H
#define SIMDB_FURTHER_AVX512_H

#include "cpu.h"
#include "further_scalar.h"
#include "mix_avx512.h"

#if CPU_X86

CPU_AVX512 static void further_avx512(const uint64_t *first, int64_t count, uint64_t *third,
                                      uint64_t *fourth)
{
    const __m512i one = _mm512_set1_epi64((int64_t)MIX_THIRD_WORD);
    const __m512i other = _mm512_set1_epi64((int64_t)MIX_FOURTH_WORD);
    int64_t i = 0;

    for (; i + 8 <= count; i += 8) {
        __m512i words = _mm512_loadu_si512(first + i);
        _mm512_storeu_si512(third + i, mix_final_avx512(_mm512_xor_si512(words, one)));
        _mm512_storeu_si512(fourth + i, mix_final_avx512(_mm512_xor_si512(words, other)));
    }
    further_scalar(first + i, count - i, third + i, fourth + i);
}

#endif

#endif
