#include "bands.h"

#include <string.h>

#include "mix.h"

/* Keys made side by side, because each step of a key waits for the step before. */
#define AT_ONCE 4

/* Return one minimum; a minimum of 32 bits may lie at any address. */
static inline uint32_t minimum_at(const uint8_t *minima, int size, int64_t place)
{
    uint32_t minimum;

    if (size == 1)
        return minima[place];
    memcpy(&minimum, minima + place * 4, sizeof minimum);
    return minimum;
}

/* Write the keys of four bands, given the place of the first minimum of each band, and the first
   values of the keys. */
static inline void four_keys(const uint8_t *minima, int size, const int64_t *places, int rows,
                             uint64_t *keys)
{
    uint64_t first = keys[0], second = keys[1], third = keys[2], fourth = keys[3];

    for (int j = 0; j < rows; j++) {
        first = mix_final(first ^ minimum_at(minima, size, places[0] + j));
        second = mix_final(second ^ minimum_at(minima, size, places[1] + j));
        third = mix_final(third ^ minimum_at(minima, size, places[2] + j));
        fourth = mix_final(fourth ^ minimum_at(minima, size, places[3] + j));
    }
    keys[0] = first;
    keys[1] = second;
    keys[2] = third;
    keys[3] = fourth;
}

void bands_keys(const void *minima, int size, int64_t count, int width, int bands, int rows,
                uint64_t *keys)
{
    const int64_t all = count * bands;
    int64_t signature = 0;
    int band = 0;

    for (int64_t i = 0; i < all; i += AT_ONCE) {
        int64_t places[AT_ONCE] = {0}, some = all - i < AT_ONCE ? all - i : AT_ONCE;
        uint64_t found[AT_ONCE] = {0};

        for (int64_t k = 0; k < some; k++) {
            places[k] = signature * width + (int64_t)band * rows;
            found[k] = mix_final((uint64_t)band + MIX_SECOND_WORD);
            band = band + 1 < bands ? band + 1 : 0;
            signature += band == 0;
        }
        if (size == 1)
            four_keys(minima, 1, places, rows, found);
        else
            four_keys(minima, 4, places, rows, found);
        memcpy(keys + i, found, 8 * (size_t)some);
    }
}
