/* `words`: 64 characters are classified at a time, and borders are found in the bits. */

#ifndef SIMDB_WORDS_NEON_H
#define SIMDB_WORDS_NEON_H

#include <string.h>

#include "ascii_neon.h"

#if CPU_NEON

static int64_t words_neon(const uint8_t *text, int64_t length, int lowercase, uint8_t *copy,
                          uint32_t *starts, uint32_t *stops)
{
    uint64_t before = 0;
    int64_t started = 0, stopped = 0;

    for (int64_t i = 0; i < length; i += 64) {
        uint8_t padded[64] = {0};
        const uint8_t *block = text + i;
        uint8x16_t characters[4];

        if (length - i < 64)
            block = memcpy(padded, block, (size_t)(length - i));
        for (int j = 0; j < 4; j++)
            characters[j] = vld1q_u8(block + 16 * j);
        uint64_t words = words_mask_neon(characters, 4, lowercase, copy + i);
        uint64_t shifted = words << 1 | before;
        started += positions_neon(words & ~shifted, 64, (uint32_t)i, starts + started);
        stopped += positions_neon(~words & shifted, 64, (uint32_t)i, stops + stopped);
        before = words >> 63;
    }
    if (stopped < started)
        stops[stopped] = (uint32_t)length;
    return started;
}

#endif

#endif
