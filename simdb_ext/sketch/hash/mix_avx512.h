/* The finaliser of MurmurHash3_x64_128 on eight words at a time. */

#ifndef SIMDB_MIX_AVX512_H
#define SIMDB_MIX_AVX512_H

#include "cpu.h"
#include "mix.h"

#if CPU_X86

CPU_AVX512 static inline __m512i mix_final_avx512(__m512i words)
{
    words = _mm512_xor_si512(words, _mm512_srli_epi64(words, 33));
    words = _mm512_mullo_epi64(words, _mm512_set1_epi64((int64_t)MIX_FINAL_FIRST));
    words = _mm512_xor_si512(words, _mm512_srli_epi64(words, 33));
    words = _mm512_mullo_epi64(words, _mm512_set1_epi64((int64_t)MIX_FINAL_SECOND));
    return _mm512_xor_si512(words, _mm512_srli_epi64(words, 33));
}

#endif

#endif
