/* `keep`, sixteen entries at a time. */

#ifndef SIMDB_KEEP_AVX512_H
#define SIMDB_KEEP_AVX512_H

#include "cpu.h"
#include "keep_scalar.h"

#if CPU_X86

#define KEEP_LANES 16
#define KEEP_BYTES_MAX ((int64_t)1 << 29) /* bytes of `dead` that cover all ordinals */

/* Return a mask of those of 16 ordinals whose bit in `dead` is clear; all of them have a bit.  The
   gather reads four bytes at once, so for the last three bytes of `dead` it begins earlier and the
   shift is larger. */
CPU_AVX512 static inline __mmask16 keep_living(__m512i ordinals, const uint8_t *dead,
                                               int64_t dead_size)
{
    __m512i bytes = _mm512_min_epu32(_mm512_srli_epi32(ordinals, 3),
                                     _mm512_set1_epi32((int)(dead_size - 4)));
    __m512i words = _mm512_i32gather_epi32(bytes, dead, 1);
    __m512i shifts = _mm512_sub_epi32(ordinals, _mm512_slli_epi32(bytes, 3));

    return _mm512_testn_epi32_mask(_mm512_srlv_epi32(words, shifts), _mm512_set1_epi32(1));
}

CPU_AVX512 static int64_t keep_avx512(const uint64_t *keys, const uint32_t *ordinals,
                                      int64_t count, const uint8_t *dead, int64_t dead_size,
                                      uint64_t *keys_out, uint32_t *ordinals_out)
{
    int64_t kept = 0, i = 0;

    if (dead_size > KEEP_BYTES_MAX)
        dead_size = KEEP_BYTES_MAX;
    if (dead_size < 4)
        return keep_scalar(keys, ordinals, count, dead, dead_size, keys_out, ordinals_out);
    /* Whole registers are stored, never beyond the entries that have been read. */
    for (; i + KEEP_LANES <= count; i += KEEP_LANES) {
        __m512i low = _mm512_loadu_si512(keys + i);
        __m512i high = _mm512_loadu_si512(keys + i + 8);
        __m512i names = _mm512_loadu_si512(ordinals + i);

        if (_mm512_cmpge_epu32_mask(_mm512_srli_epi32(names, 3),
                                    _mm512_set1_epi32((int)dead_size)))
            return -1;
        __mmask16 living = keep_living(names, dead, dead_size);
        int low_count = __builtin_popcount(living & 0xFF);

        _mm512_storeu_si512(keys_out + kept, _mm512_maskz_compress_epi64((__mmask8)living, low));
        _mm512_storeu_si512(keys_out + kept + low_count,
                            _mm512_maskz_compress_epi64((__mmask8)(living >> 8), high));
        _mm512_storeu_si512(ordinals_out + kept, _mm512_maskz_compress_epi32(living, names));
        kept += __builtin_popcount(living);
    }
    int64_t rest = keep_scalar(keys + i, ordinals + i, count - i, dead, dead_size,
                               keys_out + kept, ordinals_out + kept);
    return rest < 0 ? -1 : kept + rest;
}

#endif

#endif
