/* The definition of `weigh`. */

#ifndef SIMDB_WEIGH_SCALAR_H
#define SIMDB_WEIGH_SCALAR_H

#include "mix.h"

/* Return word number `word` of a feature. */
static inline uint64_t word_of(uint64_t hash, int word)
{
    return word > 0 ? mix_final(hash ^ (uint64_t)word * MIX_SECOND_WORD) : hash;
}

static void weigh_scalar(const uint64_t *hashes, const float *weights, int64_t count, int words,
                         float *projected)
{
    for (int word = 0; word < words; word++, projected += 64) {
        double sums[64] = {0};
        for (int64_t i = 0; i < count; i++) {
            double weight = weights ? weights[i] : 1.0;
            uint64_t bits = word_of(hashes[i], word);
            for (int j = 0; j < 64; j++)
                sums[j] += bits >> j & 1 ? weight : -weight;
        }
        for (int j = 0; j < 64; j++)
            projected[j] = (float)sums[j];
    }
}

#endif
