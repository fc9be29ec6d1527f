/* `words`, 64 characters at a time. */

#ifndef SIMDB_WORDS_AVX512_H
#define SIMDB_WORDS_AVX512_H

#include "ascii_avx512.h"
#include "positions_avx512.h"

#if CPU_X86

CPU_AVX512 static int64_t words_avx512(const uint8_t *text, int64_t length, int lowercase,
                                       uint8_t *copy, uint32_t *starts, uint32_t *stops)
{
    uint64_t before = 0;
    int64_t started = 0, stopped = 0;

    for (int64_t i = 0; i < length; i += 64) {
        uint64_t some = _bzhi_u64(~(uint64_t)0, length - i < 64 ? (unsigned)(length - i) : 64);
        __m512i characters = _mm512_maskz_loadu_epi8(some, text + i);
        uint64_t words = ascii_words(characters), shifted = words << 1 | before;

        _mm512_storeu_si512(copy + i, lowercase ? ascii_lower(characters) : characters);
        started += positions_avx512(words & ~shifted, (uint32_t)i, starts + started);
        stopped += positions_avx512(~words & shifted, (uint32_t)i, stops + stopped);
        before = words >> 63;
    }
    if (stopped < started)
        stops[stopped] = (uint32_t)length;
    return started;
}

#endif

#endif
