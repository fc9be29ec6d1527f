/* The definition of `entry_sum`; the other variants are the same code, compiled for wider
   registers. */

#ifndef SIMDB_ENTRY_SUM_SCALAR_H
#define SIMDB_ENTRY_SUM_SCALAR_H

#include "entry_sum.h"

static inline __attribute__((always_inline)) uint64_t
entry_sum_any(const uint64_t *keys, const uint32_t *ordinals, int64_t count)
{
    uint64_t sum = 0;

    for (int64_t i = 0; i < count; i++) {
        uint32_t low = (uint32_t)keys[i] + ordinals[i] * ENTRY_SUM_LOW;
        uint32_t high = (uint32_t)(keys[i] >> 32) + ordinals[i] * ENTRY_SUM_HIGH;

        sum += keys[i] + (uint64_t)low * high;
    }
    return sum;
}

static uint64_t entry_sum_scalar(const uint64_t *keys, const uint32_t *ordinals, int64_t count)
{
    return entry_sum_any(keys, ordinals, count);
}

#endif
