/* `shingles`, eight at a time. */

#ifndef SIMDB_SHINGLES_AVX512_H
#define SIMDB_SHINGLES_AVX512_H

#include "cpu.h"
#include "mix_avx512.h"

#if CPU_X86

CPU_AVX512 static void shingles_avx512(uint64_t *words, int64_t count, int shingle)
{
    for (int64_t i = 0; i < count; i += 8) {
        __mmask8 some = (__mmask8)_bzhi_u32(0xFF, count - i < 8 ? (unsigned)(count - i) : 8);
        __m512i hash = _mm512_loadu_si512(words + i);

        for (int j = 1; j < shingle; j++)
            hash = _mm512_xor_si512(_mm512_rol_epi64(hash, MIX_ROTATION),
                                    _mm512_loadu_si512(words + i + j));
        _mm512_mask_storeu_epi64(words + i, some, mix_final_avx512(hash));
    }
}

#endif

#endif
