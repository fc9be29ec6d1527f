/* Moving the leading bits of a table to the front and back: the definition of `permute`, `restore`
   and `first_reached`. */
#ifndef SIMDB_SEARCH_KEY_SCALAR_H
#define SIMDB_SEARCH_KEY_SCALAR_H

#include <stddef.h>
#include <stdint.h>

#include "reach.h"

static uint64_t permute_one(uint64_t fingerprint, uint64_t mask)
{
    uint64_t leading = 0, following = 0, width = 0;

    for (int bit = 63; bit >= 0; bit--) {
        uint64_t value = fingerprint >> bit & 1;
        if (mask >> bit & 1) {
            leading = leading << 1 | value;
            width++;
        } else {
            following = following << 1 | value;
        }
    }
    return width == 0 ? following : leading << (64 - width) | following;
}

static void permute_scalar(const uint64_t *fingerprints, size_t count, uint64_t mask,
                           uint64_t *keys)
{
    for (size_t i = 0; i < count; i++)
        keys[i] = permute_one(fingerprints[i], mask);
}

static uint64_t restore_scalar(uint64_t key, uint64_t mask)
{
    const uint64_t parts[2] = {mask, ~mask};
    uint64_t fingerprint = 0;
    int from = 63;

    for (int part = 0; part < 2; part++)
        for (int bit = 63; bit >= 0; bit--)
            if (parts[part] >> bit & 1)
                fingerprint |= (key >> from-- & 1) << bit;
    return fingerprint;
}

static size_t first_reached_scalar(uint64_t difference, const uint64_t *masks,
                                   const int8_t *flips, size_t table, size_t count)
{
    uint64_t original = restore_scalar(difference, masks[table]);
    size_t first = 0;

    while (first < count && !search_is_reached(original, masks[first], flips[first]))
        first++;
    return first;
}

#endif
