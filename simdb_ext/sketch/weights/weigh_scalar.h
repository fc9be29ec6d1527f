/* The definition of `weigh`. */

#ifndef SIMDB_WEIGH_SCALAR_H
#define SIMDB_WEIGH_SCALAR_H

#include "mix.h"

static void weigh_scalar(const uint64_t *hashes, const float *weights, int64_t count,
                         float *projected)
{
    double sums[128] = {0};

    for (int64_t i = 0; i < count; i++) {
        double weight = weights ? weights[i] : 1.0;
        uint64_t second = mix_final(hashes[i] ^ MIX_SECOND_WORD);
        for (int j = 0; j < 64; j++) {
            sums[j] += hashes[i] >> j & 1 ? weight : -weight;
            sums[64 + j] += second >> j & 1 ? weight : -weight;
        }
    }
    for (int j = 0; j < 128; j++)
        projected[j] = (float)sums[j];
}

#endif
