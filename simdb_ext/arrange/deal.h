/* `deal`: cutting hashes of many bits into words of at most 64 bits.

   A hash is read by half bytes.  A table holds, for each value of each half byte, its share of a
   few words.  If there are few hashes, building the table costs more than it saves, so their bits
   are copied one by one. */

#ifndef SIMDB_ARRANGE_DEAL_H
#define SIMDB_ARRANGE_DEAL_H

#include "variants.h"
#include "vector.h"

enum {
    DEAL_FEW = 8,    /* up to this many hashes are cut bit by bit */
    DEAL_VALUES = 16 /* values of a half byte */
};

/* The words that are made together: one register of 32 bytes. */
struct deal_words {
    uint64_t words[ARRANGE_DEAL_WORDS];
};

/* The definition of `deal`. */
static void deal_each(const uint8_t *hashes, int64_t count, const struct arrange_deal *how,
                      uint64_t *out)
{
    for (int64_t i = 0; i < count; i++, hashes += how->width) {
        const uint16_t *bit = how->order;

        for (int64_t part = 0; part < how->parts; part++) {
            uint64_t word = 0;

            for (int j = 0; j < how->sizes[part]; j++, bit++)
                word |= (uint64_t)(hashes[*bit >> 3] >> (~*bit & 7) & 1) << (63 - j);
            out[part * count + i] = word;
        }
    }
}

/* Fill the table for parts `first` to `stop`: the share of each value of each half byte in their
   words.  The high half of a byte precedes the low half. */
static void deal_prepare(const struct arrange_deal *how, const uint16_t *bit, int64_t first,
                         int64_t stop, struct deal_words (*table)[DEAL_VALUES])
{
    memset(table, 0, (size_t)how->width * 2 * sizeof *table);
    for (int64_t part = first; part < stop; part++)
        for (int j = 0; j < how->sizes[part]; j++, bit++)
            table[*bit >> 2][8 >> (*bit & 3)].words[part - first] |= (uint64_t)1 << (63 - j);
    for (int64_t half = 0; half < how->width * 2; half++)
        for (int value = 3; value < DEAL_VALUES; value++)
            for (int k = 0; k < ARRANGE_DEAL_WORDS; k++)
                table[half][value].words[k] = table[half][value & (value - 1)].words[k]
                                              | table[half][value & -value].words[k];
}

static void deal(const uint8_t *hashes, int64_t count, const struct arrange_deal *how,
                 void *scratch, uint64_t *out)
{
    struct deal_words(*table)[DEAL_VALUES] = scratch;
    const uint16_t *bit = how->order;

    if (count <= DEAL_FEW) {
        deal_each(hashes, count, how, out);
        return;
    }
    for (int64_t first = 0, stop; first < how->parts; first = stop) {
        stop = first + ARRANGE_DEAL_WORDS;
        stop = stop < how->parts ? stop : how->parts;
        deal_prepare(how, bit, first, stop, table);
        for (int64_t i = 0; i < count; i++) {
            const uint8_t *hash = hashes + i * how->width;
            struct deal_words all = {{0}};

            for (int64_t byte = 0; byte < how->width; byte++) {
                const struct deal_words *high = &table[2 * byte][hash[byte] >> 4];
                const struct deal_words *low = &table[2 * byte + 1][hash[byte] & 15];

                for (int k = 0; k < ARRANGE_DEAL_WORDS; k++)
                    all.words[k] |= high->words[k] | low->words[k];
            }
            for (int64_t part = first; part < stop; part++)
                out[part * count + i] = all.words[part - first];
        }
        for (int64_t part = first; part < stop; part++)
            bit += how->sizes[part];
    }
}

#endif
