/* The definition of `descent`; the other variants are the same code, compiled for wider
   registers. */

#ifndef SIMDB_DESCENT_SCALAR_H
#define SIMDB_DESCENT_SCALAR_H

#include "descent.h"

#define DESCENT_BLOCK 256 /* keys; the loop over them has no exit, so that it can be vectorised */

static inline __attribute__((always_inline)) int64_t descent_any(const uint64_t *keys,
                                                                 int64_t count)
{
    int64_t i = 1;

    for (; i + DESCENT_BLOCK <= count; i += DESCENT_BLOCK) {
        uint64_t descents = 0;

        for (int j = 0; j < DESCENT_BLOCK; j++)
            descents |= keys[i + j] < keys[i + j - 1];
        if (descents)
            break;
    }
    for (; i < count; i++)
        if (keys[i] < keys[i - 1])
            return i;
    return -1;
}

static int64_t descent_scalar(const uint64_t *keys, int64_t count)
{
    return descent_any(keys, count);
}

#endif
