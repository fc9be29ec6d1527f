/* Packed minima of 1 or 2 bits: 8 or 4 in a byte, the first in the lowest bits. */

#ifndef SIMDB_FEW_BITS_H
#define SIMDB_FEW_BITS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Return the number of minima in which two words differ. */
static inline __attribute__((always_inline)) unsigned few_bits_differing(uint64_t left,
                                                                         uint64_t right, int bits)
{
    uint64_t differing = left ^ right;

    if (bits == 2)
        differing = (differing | differing >> 1) & 0x5555555555555555u;
    return (unsigned)__builtin_popcountll(differing);
}

/* Return the number of equal minima of two rows of `bytes` bytes; `bits`, 1 or 2, is a constant. */
static inline __attribute__((always_inline)) unsigned few_bits_equal(const uint8_t *left,
                                                                     const uint8_t *right,
                                                                     size_t bytes, int bits)
{
    unsigned agreeing = (unsigned)bytes * (8u / (unsigned)bits);
    size_t place = 0;

    for (; place + 8 <= bytes; place += 8) {
        uint64_t one, other;
        memcpy(&one, left + place, sizeof one);
        memcpy(&other, right + place, sizeof other);
        agreeing -= few_bits_differing(one, other, bits);
    }
    for (; place < bytes; place++)
        agreeing -= few_bits_differing(left[place], right[place], bits);
    return agreeing;
}

#endif
