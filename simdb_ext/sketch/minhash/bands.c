#include "bands.h"

#include <string.h>

#include "mix.h"

/* Return one minimum; a minimum of 32 bits may lie at any address. */
static inline uint32_t minimum_at(const uint8_t *minima, int size, int64_t place)
{
    uint32_t minimum;

    if (size == 1)
        return minima[place];
    memcpy(&minimum, minima + place * 4, sizeof minimum);
    return minimum;
}

void bands_keys(const void *minima, int size, int64_t count, int width, int bands, int rows,
                uint64_t *keys)
{
    for (int64_t i = 0; i < count; i++)
        for (int b = 0; b < bands; b++) {
            int64_t place = i * width + (int64_t)b * rows;
            uint64_t key = mix_final((uint64_t)b + MIX_SECOND_WORD);
            for (int j = 0; j < rows; j++)
                key = mix_final(key ^ minimum_at(minima, size, place + j));
            keys[i * bands + b] = key;
        }
}
