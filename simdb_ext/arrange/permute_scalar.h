/* The definition of `permute`; the other variants are the same code, compiled for wider
   registers. */

#ifndef SIMDB_PERMUTE_SCALAR_H
#define SIMDB_PERMUTE_SCALAR_H

#include <string.h>

#include "permute.h"

#define PERMUTE_BLOCK 64 /* words; they and their results fit the first-level cache */

static inline __attribute__((always_inline)) void permute_block(
    const uint64_t *words, const struct arrange_rotations *rotations, uint64_t *out)
{
    uint64_t moved[PERMUTE_BLOCK] = {0};

    for (int move = 0; move < rotations->count; move++) {
        unsigned turn = (unsigned)rotations->turns[move];
        unsigned back = -turn & 63;
        uint64_t targets = rotations->targets[move];

        for (int i = 0; i < PERMUTE_BLOCK; i++)
            moved[i] |= (words[i] << turn | words[i] >> back) & targets;
    }
    memcpy(out, moved, sizeof moved);
}

static inline __attribute__((always_inline)) void permute_any(
    const uint64_t *words, int64_t count, const struct arrange_rotations *rotations,
    uint64_t *out)
{
    int64_t i = 0;

    for (; i + PERMUTE_BLOCK <= count; i += PERMUTE_BLOCK)
        permute_block(words + i, rotations, out + i);
    if (i < count) {
        uint64_t rest[PERMUTE_BLOCK] = {0};
        size_t size = (size_t)(count - i) * sizeof *rest;

        memcpy(rest, words + i, size);
        permute_block(rest, rotations, rest);
        memcpy(out + i, rest, size);
    }
}

static void permute_scalar(const uint64_t *words, int64_t count,
                           const struct arrange_rotations *rotations, uint64_t *out)
{
    permute_any(words, count, rotations, out);
}

#endif
