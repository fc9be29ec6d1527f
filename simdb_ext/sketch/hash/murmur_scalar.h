/* The definition of `hash`. */

#ifndef SIMDB_MURMUR_SCALAR_H
#define SIMDB_MURMUR_SCALAR_H

#include "mix.h"

/* Return the first `length` of 8 bytes as a word, the other bytes 0. */
static inline uint64_t load_some(const uint8_t *content, int64_t length)
{
    if (length <= 0)
        return 0;
    uint64_t word = mix_load(content);
    return length < 8 ? word & (((uint64_t)1 << 8 * length) - 1) : word;
}

static void hash_scalar(const uint8_t *text, const uint32_t *starts, const uint32_t *stops,
                        int64_t count, uint32_t seed, uint64_t *first, uint64_t *second)
{
    for (int64_t i = 0; i < count; i++) {
        const uint8_t *content = text + starts[i];
        int64_t length = (int64_t)stops[i] - starts[i];
        int64_t left = length;
        uint64_t one = seed, two = seed;

        for (; left >= 16; left -= 16, content += 16)
            mix_block(&one, &two, mix_load(content), mix_load(content + 8));
        mix_end(&one, &two, load_some(content, left), load_some(content + 8, left - 8),
                (uint64_t)length);
        first[i] = one;
        second[i] = two;
    }
}

#endif
