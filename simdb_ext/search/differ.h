/* `differ` and `differ_pairs`: in how many bits hashes differ.

   Processors of 64 bits that have vectors also count the bits of a word in one instruction, with
   which the definition keeps up with AVX2. */
#ifndef SIMDB_SEARCH_DIFFER_H
#define SIMDB_SEARCH_DIFFER_H

#include "kernel.h"
#include "vector.h"

/* Return in how many bits two hashes of `width` bytes, a multiple of 4, differ. */
VECTOR_INLINE uint32_t bits_between(const uint8_t *left, const uint8_t *right, size_t width)
{
    uint32_t distance = 0;
    size_t i = 0;

#if VECTORS == VECTORS_NEON
    uint16x8_t sums = vdupq_n_u16(0);
    for (; i + 16 <= width; i += 16)
        sums = vpadalq_u8(sums, vcntq_u8(veorq_u8(vld1q_u8(left + i), vld1q_u8(right + i))));
    distance = vaddvq_u16(sums);
#endif
    for (; i + 8 <= width; i += 8) {
        uint64_t one, other;
        memcpy(&one, left + i, sizeof one);
        memcpy(&other, right + i, sizeof other);
        distance += (uint32_t)__builtin_popcountll(one ^ other);
    }
    if (i < width) {
        uint32_t one, other;
        memcpy(&one, left + i, sizeof one);
        memcpy(&other, right + i, sizeof other);
        distance += (uint32_t)__builtin_popcount(one ^ other);
    }
    return distance;
}

VECTOR_INLINE void differ_pairs_of(const uint8_t *const *lefts, const uint8_t *const *rights,
                                   size_t count, size_t width, uint16_t *distances)
{
    for (size_t i = 0; i < count; i++)
        distances[i] = (uint16_t)bits_between(lefts[i], rights[i], width);
}

/* The loops are compiled once more for the usual width. */
static void differ_pairs(const uint8_t *const *lefts, const uint8_t *const *rights, size_t count,
                         size_t width, uint16_t *distances)
{
    if (width == 32)
        differ_pairs_of(lefts, rights, count, 32, distances);
    else
        differ_pairs_of(lefts, rights, count, width, distances);
}

#endif
