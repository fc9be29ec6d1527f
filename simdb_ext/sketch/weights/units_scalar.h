/* The definition of `units`. */

#ifndef SIMDB_UNITS_SCALAR_H
#define SIMDB_UNITS_SCALAR_H

#include <stdint.h>

static void units_scalar(const uint64_t *first, const uint64_t *second, const uint32_t *units,
                         int64_t count, uint64_t *sums)
{
    for (int64_t i = 0; i < count; i++)
        for (int j = 0; j < 64; j++) {
            sums[j] += (uint64_t)units[i] & (0 - (first[i] >> j & 1));
            sums[64 + j] += (uint64_t)units[i] & (0 - (second[i] >> j & 1));
        }
}

#endif
