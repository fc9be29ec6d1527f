/* `permute`, `restore` and `first_reached`: moving the leading bits of a table to the front and
   back.  On x86, parallel bit extraction and deposit do this. */
#ifndef SIMDB_SEARCH_KEY_H
#define SIMDB_SEARCH_KEY_H

#include "kernel.h"
#include "vector.h"

#if VECTORS_X86

static void permute(const uint64_t *fingerprints, size_t count, uint64_t mask, uint64_t *keys)
{
    /* A shift by 64 is undefined, but an empty mask has no leading bits to shift. */
    unsigned following = 64 - (unsigned)__builtin_popcountll(mask);

    for (size_t i = 0; i < count; i++) {
        uint64_t leading = _pext_u64(fingerprints[i], mask);
        keys[i] = (leading << (following & 63)) | _pext_u64(fingerprints[i], ~mask);
    }
}

static uint64_t restore(uint64_t key, uint64_t mask)
{
    unsigned following = 64 - (unsigned)__builtin_popcountll(mask);

    return _pdep_u64(key >> (following & 63), mask) | _pdep_u64(key, ~mask);
}

static size_t first_reached(uint64_t difference, const uint64_t *masks, const int8_t *flips,
                                 size_t table, size_t count)
{
    uint64_t original = restore(difference, masks[table]);
    size_t first = count;

    /* The first table cannot be predicted, so all are tried without a branch. */
    for (size_t t = count; t-- > 0;)
        first = __builtin_popcountll(original & masks[t]) <= flips[t] ? t : first;
    return first;
}

#else

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

static void permute(const uint64_t *fingerprints, size_t count, uint64_t mask,
                    uint64_t *keys)
{
    for (size_t i = 0; i < count; i++)
        keys[i] = permute_one(fingerprints[i], mask);
}

static uint64_t restore(uint64_t key, uint64_t mask)
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

static size_t first_reached(uint64_t difference, const uint64_t *masks,
                            const int8_t *flips, size_t table, size_t count)
{
    uint64_t original = restore(difference, masks[table]);
    size_t first = 0;

    while (first < count && !search_is_reached(original, masks[first], flips[first]))
        first++;
    return first;
}

#endif

#endif
