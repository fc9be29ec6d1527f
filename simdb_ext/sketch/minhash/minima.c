#include "minima.h"

#include <string.h>

#include "mix.h"

/* Given features that are mixed together; features cut from text are not given. */
#define BATCH 512

/* Return one of `count` bins, chosen by the highest 32 bits of a word. */
static inline uint32_t bin_of(uint64_t word, int count)
{
    return (uint32_t)((word >> 32) * (uint64_t)count >> 32);
}

/* Put each feature into one bin; a bin keeps the least of the lowest 32 bits of its features. */
static void add_to_bins(const struct minima_functions *functions, struct minima *minima,
                        const struct minima_family *family, uint64_t *features, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        features[i] += family->increments[0];
    functions->mix(features, count, 0);
    for (int64_t i = 0; i < count; i++) {
        uint32_t bin = bin_of(features[i], family->count), value = (uint32_t)features[i];
        uint32_t least = minima->values[bin];
        minima->values[bin] = value < least ? value : least;
        minima->filled[bin] = 1;
    }
}

/* Give each empty bin the minimum of the first filled bin among the bins drawn for it.  The draws
   are the same in every document (Shrivastava 2017, Algorithm 1). */
static void fill_bins(struct minima *minima, const struct minima_family *family)
{
    for (uint32_t bin = 0; bin < (uint32_t)family->count; bin++) {
        uint64_t draw = family->increments[1] + ((uint64_t)bin << 32);
        uint32_t other = bin;

        while (!minima->filled[other])
            other = bin_of(mix_final(draw++), family->count);
        minima->values[bin] = minima->values[other];
    }
}

void minima_begin(struct minima *minima, const struct minima_family *family)
{
    memset(minima->values, 0xFF, (size_t)family->count * sizeof *minima->values);
    memset(minima->filled, 0, (size_t)family->count);
}

void minima_add(const struct minima_functions *functions, struct minima *minima,
                const struct minima_family *family, uint64_t *hashes, int64_t count)
{
    functions->mix(hashes, count, family->is_narrow);
    if (family->kind == MINIMA_ONE_PERMUTATION)
        add_to_bins(functions, minima, family, hashes, count);
    else if (family->kind == MINIMA_MERSENNE)
        functions->mersenne(family, hashes, count, minima->values);
    else if (family->kind == MINIMA_STRATIFIED)
        functions->stratified(family, hashes, count, minima->values);
    else
        functions->shift(family, hashes, count, minima->values);
}

void minima_end(struct minima *minima, const struct minima_family *family, uint32_t *row)
{
    if (family->kind == MINIMA_ONE_PERMUTATION)
        fill_bins(minima, family);
    memcpy(row, minima->values, (size_t)family->count * sizeof *row);
}

void minima_narrow(const uint32_t *minima, const struct minima_family *family, int bits,
                   uint8_t *packed)
{
    const int each = 8 / bits; /* minima in a byte */

    for (int i = 0; i < family->count; i += each) {
        unsigned byte = 0;

        for (int j = 0; j < each; j++) {
            uint32_t factor = (uint32_t)(family->multipliers[i + j] >> 32) | 1;
            byte |= minima[i + j] * factor >> (32 - bits) << j * bits;
        }
        *packed++ = (uint8_t)byte;
    }
}

void minima_pack(const uint32_t *minima, const struct minima_family *family, uint8_t *packed)
{
    for (int i = 0; i < family->count; i++)
        for (int j = 0; j < 4; j++)
            packed[4 * i + j] = (uint8_t)(minima[i] >> 8 * j);
}

int64_t minima_of_features(const struct minima_functions *functions,
                           const struct minima_family *family, const uint64_t *hashes,
                           const uint32_t *counts, int64_t count, uint32_t *row)
{
    struct minima minima;
    uint64_t batch[BATCH];
    int64_t held = 0, features = 0;

    minima_begin(&minima, family);
    for (int64_t i = 0; i < count; i++) {
        uint32_t times = counts != NULL ? counts[i] : 1;
        for (uint32_t time = 0; time < times; time++) {
            batch[held++] = hashes[i] + MIX_SECOND_WORD * (uint64_t)time;
            if (held == BATCH) {
                minima_add(functions, &minima, family, batch, held);
                held = 0;
            }
        }
        features += times;
    }
    minima_add(functions, &minima, family, batch, held);
    if (features > 0)
        minima_end(&minima, family, row);
    else
        memcpy(row, minima.values, (size_t)family->count * sizeof *row);
    return features;
}

/* Keys that are made side by side, because each step of a key waits for the step before. */
#define AT_ONCE 4

/* Return one minimum; a minimum of 32 bits may lie at any address. */
static inline uint32_t minimum_at(const uint8_t *minima, int bits, int64_t place)
{
    uint32_t minimum;

    if (bits < 32)
        return minima[place * bits >> 3] >> (place * bits & 7) & ((1u << bits) - 1);
    memcpy(&minimum, minima + place * 4, sizeof minimum);
    return minimum;
}

/* Write the keys of four bands.  `places` has the first minimum of each band, and `keys` the first
   values of the keys. */
static inline void four_keys(const uint8_t *minima, int bits, const int64_t *places, int rows,
                             uint64_t *keys)
{
    uint64_t first = keys[0], second = keys[1], third = keys[2], fourth = keys[3];

    for (int j = 0; j < rows; j++) {
        first = mix_final(first ^ minimum_at(minima, bits, places[0] + j));
        second = mix_final(second ^ minimum_at(minima, bits, places[1] + j));
        third = mix_final(third ^ minimum_at(minima, bits, places[2] + j));
        fourth = mix_final(fourth ^ minimum_at(minima, bits, places[3] + j));
    }
    keys[0] = first;
    keys[1] = second;
    keys[2] = third;
    keys[3] = fourth;
}

void bands_keys(const void *minima, int bits, int64_t count, int width, int bands, int rows,
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
        if (bits == 8)
            four_keys(minima, 8, places, rows, found);
        else if (bits == 32)
            four_keys(minima, 32, places, rows, found);
        else
            four_keys(minima, bits, places, rows, found);
        memcpy(keys + i, found, 8 * (size_t)some);
    }
}
