#include "bins.h"

#define BINS_BLOCK 512 /* words permuted together; their keys fit the first-level cache */

static inline int64_t bin_of(uint64_t key, struct arrange_bins bins)
{
    uint64_t above = (key > bins.low ? key - bins.low : 0) >> bins.shift;
    uint64_t last = (uint64_t)bins.count - 1;

    return (int64_t)(above < last ? above : last);
}

/* Return the keys of some words: the words themselves if nothing moves, else keys in `room`. */
static inline const uint64_t *keys_of(const uint64_t *words, int64_t count,
                                      const struct arrange_rotations *rotations, uint64_t *room)
{
    if (rotations->count == 1 && rotations->turns[0] == 0)
        return words;
    arrange_operations->permute(words, count, rotations, room);
    return room;
}

void arrange_count_bins(const uint64_t *words, int64_t count,
                        const struct arrange_rotations *rotations, struct arrange_bins bins,
                        int64_t *counts)
{
    uint64_t room[BINS_BLOCK];

    for (int64_t start = 0; start < count; start += BINS_BLOCK) {
        int64_t length = count - start < BINS_BLOCK ? count - start : BINS_BLOCK;
        const uint64_t *keys = keys_of(words + start, length, rotations, room);

        for (int64_t i = 0; i < length; i++)
            counts[bin_of(keys[i], bins)]++;
    }
}

int arrange_to_bins(const uint64_t *words, const uint32_t *ordinals, int64_t count,
                    const struct arrange_rotations *rotations, struct arrange_bins bins,
                    int64_t *positions, uint64_t *keys_out, uint32_t *ordinals_out, int64_t room)
{
    uint64_t block[BINS_BLOCK];

    for (int64_t start = 0; start < count; start += BINS_BLOCK) {
        int64_t length = count - start < BINS_BLOCK ? count - start : BINS_BLOCK;
        const uint64_t *keys = keys_of(words + start, length, rotations, block);

        for (int64_t i = 0; i < length; i++) {
            uint64_t key = keys[i];
            int64_t position = positions[bin_of(key, bins)]++;

            if ((uint64_t)position >= (uint64_t)room)
                return -1;
            keys_out[position] = key;
            ordinals_out[position] = ordinals[start + i];
        }
    }
    return 0;
}
