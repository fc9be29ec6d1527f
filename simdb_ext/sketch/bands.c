#include "bands.h"

#include "mix.h"

void bands_keys(const void *minima, int size, int64_t count, int width, int bands, int rows,
                uint64_t *keys)
{
    const uint8_t *narrow = minima;
    const uint32_t *wide = minima;

    for (int64_t i = 0; i < count; i++)
        for (int b = 0; b < bands; b++) {
            int64_t place = i * width + (int64_t)b * rows;
            uint64_t key = mix_final((uint64_t)b + MIX_SECOND_WORD);
            for (int j = 0; j < rows; j++)
                key = mix_final(key ^ (size == 1 ? narrow[place + j] : wide[place + j]));
            keys[i * bands + b] = key;
        }
}
