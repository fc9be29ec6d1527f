/* From the bits of a mask to their positions. */

#ifndef SIMDB_POSITIONS_AVX512_H
#define SIMDB_POSITIONS_AVX512_H

#include "cpu.h"

#if CPU_X86

/* Return the numbers 0 .. 63 as bytes. */
CPU_AVX512 static inline __m512i count_up(void)
{
    __m512i lanes = _mm512_slli_epi64(_mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0), 3);
    return _mm512_add_epi8(_mm512_shuffle_epi8(lanes, _mm512_set_epi64(
        0x0808080808080808, 0, 0x0808080808080808, 0, 0x0808080808080808, 0,
        0x0808080808080808, 0)), _mm512_set1_epi64(0x0706050403020100));
}

/* Write the positions of the bits of `mask`, at most 32, plus `base`; return their number.  16 or
   32 entries of `out` are overwritten. */
CPU_AVX512 static inline int64_t positions_avx512(uint64_t mask, uint32_t base, uint32_t *out)
{
    __m512i bases = _mm512_set1_epi32((int)base);
    __m512i bytes = _mm512_maskz_compress_epi8(mask, count_up());
    __m512i low = _mm512_cvtepu8_epi32(_mm512_castsi512_si128(bytes));
    int64_t count = _mm_popcnt_u64(mask);

    _mm512_storeu_si512(out, _mm512_add_epi32(bases, low));
    if (count > 16) {
        __m512i high = _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(bytes, 1));
        _mm512_storeu_si512(out + 16, _mm512_add_epi32(bases, high));
    }
    return count;
}

#endif

#endif
