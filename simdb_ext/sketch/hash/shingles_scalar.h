/* The definition of `shingles`. */

#ifndef SIMDB_SHINGLES_SCALAR_H
#define SIMDB_SHINGLES_SCALAR_H

#include "mix.h"

static void shingles_scalar(uint64_t *words, int64_t count, int shingle)
{
    for (int64_t i = 0; i < count; i++) {
        uint64_t hash = 0;
        for (int j = 0; j < shingle; j++)
            hash = mix_rotate(hash, MIX_ROTATION) ^ words[i + j];
        words[i] = mix_final(hash);
    }
}

#endif
