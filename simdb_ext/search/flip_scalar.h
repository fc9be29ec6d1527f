/* Sets of header bits that are cheap to flip: the definition of `flip`.

   Sets grow bit by bit: each bit is added to every earlier set that can afford it.  So no set is
   made in vain, none is made twice, and nothing needs sorting. */
#ifndef SIMDB_SEARCH_FLIP_SCALAR_H
#define SIMDB_SEARCH_FLIP_SCALAR_H

#include "kernel.h"

/* Return the largest set, as a number (cost << 32 | bits), that costs at most `theta`; 0 if theta
   is -1. */
static inline uint64_t set_bound(int32_t theta)
{
    return ((uint64_t)(theta + 1) << 32) - (theta >= 0);
}

static inline size_t count_affordable(const uint64_t *sets, size_t count, int32_t theta)
{
    uint64_t bound = set_bound(theta);
    size_t affordable = 0;

    for (size_t i = 0; i < count; i++)
        affordable += sets[i] <= bound;
    return affordable;
}

/* More than `cap` sets cost at most `theta`.  Lower `theta` until at most `cap` sets do, drop the
   others, and return how many are left.  Further bits only add sets, so theta never needs to rise
   again. */
static size_t lower_theta(uint64_t *sets, size_t count, size_t cap, int32_t *theta)
{
    int32_t fitting = -1, crowded = *theta;
    size_t kept = 1;

    while (crowded - fitting > 1) {
        int32_t middle = fitting + (crowded - fitting) / 2;
        if (count_affordable(sets, count, middle) <= cap)
            fitting = middle;
        else
            crowded = middle;
    }
    *theta = fitting;
    for (size_t i = 1; i < count; i++) {
        sets[kept] = sets[i];
        kept += sets[i] <= set_bound(fitting);
    }
    return kept;
}

/* Add a bit, given as a set, to all sets that can afford it; return the new number of sets. */
static size_t join_scalar(uint64_t *sets, size_t count, uint64_t bit, int32_t theta)
{
    uint64_t bound = set_bound(theta);
    size_t joined = count;

    for (size_t i = 0; i < count; i++) {
        sets[joined] = sets[i] + bit;
        joined += sets[i] + bit <= bound;
    }
    return joined;
}

static size_t flip_scalar(const struct search_flips *flips, const uint8_t *levels,
                          const uint8_t *order, unsigned width, uint64_t *sets, int32_t *limit)
{
    int32_t theta = flips->theta;
    size_t count = 1;

    sets[0] = 0;
    for (unsigned place = 0; place < width; place++) {
        uint64_t cost = flips->costs[levels[order[place]]];
        if (cost == SEARCH_NEVER || (int32_t)cost > theta)
            continue;
        count = join_scalar(sets, count, cost << 32 | (uint64_t)1 << (width - 1 - place), theta);
        if (count > flips->cap)
            count = lower_theta(sets, count, flips->cap, &theta);
    }
    *limit = theta;
    return count;
}

#endif
