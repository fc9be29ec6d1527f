/* The definition of `keep`. */

#ifndef SIMDB_KEEP_SCALAR_H
#define SIMDB_KEEP_SCALAR_H

#include "keep.h"

static int64_t keep_scalar(const uint64_t *keys, const uint32_t *ordinals, int64_t count,
                           const uint8_t *dead, int64_t dead_size, uint64_t *keys_out,
                           uint32_t *ordinals_out)
{
    int64_t kept = 0;

    for (int64_t i = 0; i < count; i++) {
        uint32_t ordinal = ordinals[i];

        if (ordinal >> 3 >= dead_size)
            return -1;
        /* Always written, but counted only if the document lives: no branch to mispredict. */
        keys_out[kept] = keys[i];
        ordinals_out[kept] = ordinal;
        kept += ~dead[ordinal >> 3] >> (ordinal & 7) & 1;
    }
    return kept;
}

#endif
