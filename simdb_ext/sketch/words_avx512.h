/* 64 characters at a time. */

#ifndef SIMDB_WORDS_AVX512_H
#define SIMDB_WORDS_AVX512_H

#include "cpu.h"

#if CPU_X86

CPU_AVX512 static inline __mmask64 between_avx512(__m512i characters, uint8_t low, uint8_t high)
{
    return _mm512_cmple_epu8_mask(_mm512_sub_epi8(characters, _mm512_set1_epi8((char)low)),
                                  _mm512_set1_epi8((char)(high - low)));
}

/* The numbers 0 .. 63 as bytes. */
CPU_AVX512 static inline __m512i count_up(void)
{
    __m128i low = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    __m512i lane = _mm512_broadcast_i32x4(low);
    return _mm512_add_epi8(lane, _mm512_slli_epi32(_mm512_set_epi64(0x0303030303030303,
        0x0303030303030303, 0x0202020202020202, 0x0202020202020202, 0x0101010101010101,
        0x0101010101010101, 0, 0), 4));
}

/* Write the positions of the bits of `mask`, at most 32, counted from `base`; returns how many. */
CPU_AVX512 static inline int64_t positions_avx512(__mmask64 mask, uint32_t base, uint32_t *out)
{
    __m512i bytes = _mm512_maskz_compress_epi8(mask, count_up());
    __m512i bases = _mm512_set1_epi32((int)base);
    int64_t count = _mm_popcnt_u64(mask);

    _mm512_storeu_si512(out, _mm512_add_epi32(
        bases, _mm512_cvtepu8_epi32(_mm512_castsi512_si128(bytes))));
    if (count > 16)
        _mm512_storeu_si512(out + 16, _mm512_add_epi32(
            bases, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(bytes, 1))));
    return count;
}

CPU_AVX512 static int64_t words_avx512(const uint8_t *text, int64_t length, int lowercase,
                                       uint8_t *copy, uint32_t *starts, uint32_t *stops)
{
    const __m512i offset = _mm512_set1_epi8(0x20);
    uint64_t before = 0;
    int64_t started = 0, stopped = 0;

    for (int64_t i = 0; i < length; i += 64) {
        __mmask64 some = _bzhi_u64(~(uint64_t)0, length - i < 64 ? (unsigned)(length - i) : 64);
        __m512i characters = _mm512_maskz_loadu_epi8(some, text + i);
        uint64_t mask = between_avx512(_mm512_or_si512(characters, offset), 'a', 'z') |
                        between_avx512(characters, '0', '9') |
                        _mm512_cmpeq_epi8_mask(characters, _mm512_set1_epi8('_'));
        if (lowercase)
            characters = _mm512_mask_add_epi8(characters, between_avx512(characters, 'A', 'Z'),
                                              characters, offset);
        _mm512_storeu_si512(copy + i, characters);
        uint64_t shifted = mask << 1 | before;
        before = mask >> 63;
        started += positions_avx512(mask & ~shifted, (uint32_t)i, starts + started);
        stopped += positions_avx512(~mask & shifted, (uint32_t)i, stops + stopped);
    }
    if (stopped < started)
        stops[stopped] = (uint32_t)length;
    return started;
}

#endif

#endif
