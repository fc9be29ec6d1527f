/* `words`: 32 characters are classified at a time, and borders are found in the bits of 64. */

#ifndef SIMDB_WORDS_AVX2_H
#define SIMDB_WORDS_AVX2_H

#include <string.h>

#include "ascii_avx2.h"

#if CPU_X86

CPU_AVX2 static int64_t words_avx2(const uint8_t *text, int64_t length, int lowercase,
                                   uint8_t *copy, uint32_t *starts, uint32_t *stops)
{
    uint64_t before = 0;
    int64_t started = 0, stopped = 0;

    for (int64_t i = 0; i < length; i += 64) {
        uint8_t padded[64] = {0};
        const uint8_t *block = text + i;

        if (length - i < 64)
            block = memcpy(padded, block, (size_t)(length - i));
        __m256i low = _mm256_loadu_si256((const __m256i *)block);
        __m256i high = _mm256_loadu_si256((const __m256i *)(block + 32));
        uint64_t words = words_mask_avx2(low, lowercase, copy + i);
        words |= (uint64_t)words_mask_avx2(high, lowercase, copy + i + 32) << 32;
        uint64_t shifted = words << 1 | before;
        uint64_t begun = words & ~shifted, ended = ~words & shifted;
        for (int half = 0; half < 64; half += 32) {
            uint32_t base = (uint32_t)(i + half);
            started += positions_avx2((uint32_t)(begun >> half), base, starts + started);
            stopped += positions_avx2((uint32_t)(ended >> half), base, stops + stopped);
        }
        before = words >> 63;
    }
    if (stopped < started)
        stops[stopped] = (uint32_t)length;
    return started;
}

#endif

#endif
