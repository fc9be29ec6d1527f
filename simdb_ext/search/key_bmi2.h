/* `permute`, `restore` and `first_reached` with parallel bit extraction and deposit. */
#ifndef SIMDB_SEARCH_KEY_BMI2_H
#define SIMDB_SEARCH_KEY_BMI2_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

__attribute__((target("bmi2,popcnt")))
static void permute_bmi2(const uint64_t *fingerprints, size_t count, uint64_t mask, uint64_t *keys)
{
    /* A shift by 64 is undefined; an empty mask has no leading bits to shift. */
    unsigned following = 64 - (unsigned)__builtin_popcountll(mask);

    for (size_t i = 0; i < count; i++) {
        uint64_t leading = _pext_u64(fingerprints[i], mask);
        keys[i] = (leading << (following & 63)) | _pext_u64(fingerprints[i], ~mask);
    }
}

__attribute__((target("bmi2,popcnt")))
static uint64_t restore_bmi2(uint64_t key, uint64_t mask)
{
    unsigned following = 64 - (unsigned)__builtin_popcountll(mask);

    return _pdep_u64(key >> (following & 63), mask) | _pdep_u64(key, ~mask);
}

__attribute__((target("bmi2,popcnt")))
static size_t first_reached_bmi2(uint64_t difference, const uint64_t *masks, const int8_t *flips,
                                 size_t table, size_t count)
{
    uint64_t original = restore_bmi2(difference, masks[table]);
    size_t first = count;

    /* Which table is the first cannot be predicted: all are tried without a branch. */
    for (size_t t = count; t-- > 0;)
        first = __builtin_popcountll(original & masks[t]) <= flips[t] ? t : first;
    return first;
}

#endif
