/* Comparing ranges of keys, sixteen keys at a time: NEON counts the bits of bytes, and the counts
   are added in pairs until there is one byte for each key, in the order of the keys.

   Keys behind the end of a range are not read: the last keys of a long range are compared again,
   and a short range repeats its last key. */
#ifndef SIMDB_SEARCH_MEASURE_NEON_H
#define SIMDB_SEARCH_MEASURE_NEON_H

#include "cpu.h"
#include "measure_scalar.h"

#if CPU_NEON

enum {
    BLOCK_NEON = 16, /* keys that are compared before it is asked whether one is near */
    SHORT_NEON = 8   /* up to so many keys, half a block is compared */
};

#define INLINE_NEON static inline __attribute__((always_inline))

/* Return how many bits differ, for each byte of two keys.  The highest `skipped` bits of a key, a
   constant, are not compared. */
INLINE_NEON uint8x16_t differing_neon(uint64x2_t keys, uint64x2_t wanted, const int skipped)
{
    uint64x2_t difference = veorq_u64(keys, wanted);

    if (skipped > 0)
        difference = vshlq_u64(difference, vdupq_n_s64(skipped));
    return vcntq_u8(vreinterpretq_u8_u64(difference));
}

/* Return the distances of four pairs of keys: two bytes for each key, whose sum counts. */
INLINE_NEON uint8x16_t eight_neon(const uint64x2_t *pairs, uint64x2_t wanted, const int skipped)
{
    uint8x16_t low = vpaddq_u8(differing_neon(pairs[0], wanted, skipped),
                               differing_neon(pairs[1], wanted, skipped));
    uint8x16_t high = vpaddq_u8(differing_neon(pairs[2], wanted, skipped),
                                differing_neon(pairs[3], wanted, skipped));

    return vpaddq_u8(low, high);
}

/* Return four bits for each of the lanes that are at most `limit`, the first lane lowest. */
static inline uint64_t near_neon(uint8x16_t distances, uint8x16_t limit)
{
    uint16x8_t near = vreinterpretq_u16_u8(vcleq_u8(distances, limit));

    return vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(near, 4)), 0);
}

/* Return the same bits for a whole block. */
INLINE_NEON uint64_t near_of_block_neon(const uint64_t *start, uint64x2_t wanted,
                                        uint8x16_t limit, const int skipped)
{
    uint64x2_t pairs[BLOCK_NEON / 2];

    for (int i = 0; i < BLOCK_NEON / 2; i++)
        pairs[i] = vld1q_u64(start + 2 * i);
    return near_neon(vpaddq_u8(eight_neon(pairs, wanted, skipped),
                               eight_neon(pairs + 4, wanted, skipped)), limit);
}

/* Return the same bits for 1 to BLOCK_NEON keys.  Their number, and so where a loop over them would
   end, cannot be predicted: the last key is compared more than once instead. */
INLINE_NEON uint64_t near_of_few_neon(const uint64_t *start, size_t count, uint64x2_t wanted,
                                      uint8x16_t limit, const int skipped)
{
    uint64x2_t pairs[BLOCK_NEON / 2];
    const size_t last = count - 1;
    uint8x16_t low, high;

    for (size_t i = 0; i < SHORT_NEON; i += 2)
        pairs[i / 2] = vcombine_u64(vld1_u64(start + (i < last ? i : last)),
                                    vld1_u64(start + (i + 1 < last ? i + 1 : last)));
    low = high = eight_neon(pairs, wanted, skipped);
    if (count > SHORT_NEON) {
        for (size_t i = SHORT_NEON; i < BLOCK_NEON; i += 2)
            pairs[i / 2] = vcombine_u64(vld1_u64(start + (i < last ? i : last)),
                                        vld1_u64(start + (i + 1 < last ? i + 1 : last)));
        high = eight_neon(pairs + SHORT_NEON / 2, wanted, skipped);
    }
    return near_neon(vpaddq_u8(low, high), limit) & ~(uint64_t)0 >> (64 - 4 * count);
}

/* Append, in order, the keys of a mask that are near.  Return 1, or 0 if they did not all have
   room; then the start of the bucket has moved to the first without room. */
static int add_near_neon(struct search_hits *hits, struct search_bucket *bucket, size_t number,
                         const uint64_t *start, uint64_t near)
{
    for (near &= 0x1111111111111111u; near != 0; near &= near - 1) {
        const uint64_t *found = start + __builtin_ctzll(near) / 4;
        if (hits->count == hits->capacity) {
            bucket->start = found;
            return 0;
        }
        add_hit(hits, found, number, (unsigned)__builtin_popcountll(*found ^ bucket->key));
    }
    return 1;
}

static inline int measure_one_neon(struct search_bucket *bucket, size_t number, uint8x16_t limit,
                                   struct search_hits *hits)
{
    const uint64x2_t wanted = vdupq_n_u64(bucket->key);
    const uint64_t *place = bucket->start, *stop = bucket->stop;
    size_t count = place < stop ? (size_t)(stop - place) : 0;
    uint64_t near;

    if (count == 0)
        return 1;
    if (count < BLOCK_NEON) {
        near = near_of_few_neon(place, count, wanted, limit, 0);
        return near == 0 || add_near_neon(hits, bucket, number, place, near);
    }
    for (; stop - place >= BLOCK_NEON; place += BLOCK_NEON) {
        near = near_of_block_neon(place, wanted, limit, 0);
        if (near != 0 && !add_near_neon(hits, bucket, number, place, near))
            return 0;
    }
    if (place == stop)
        return 1;
    size_t again = (size_t)(BLOCK_NEON - (stop - place));
    near = near_of_block_neon(place - again, wanted, limit, 0) & ~(uint64_t)0 << 4 * again;
    return near == 0 || add_near_neon(hits, bucket, number, place - again, near);
}

static size_t measure_neon(struct search_bucket *buckets, size_t count, unsigned distance,
                           struct search_hits *hits)
{
    const uint8x16_t limit = vdupq_n_u8(distance < 64 ? (uint8_t)distance : 64);

    for (size_t i = 0; i < count; i++)
        if (!measure_one_neon(&buckets[i], i, limit, hits))
            return i;
    return count;
}

#endif

#endif
