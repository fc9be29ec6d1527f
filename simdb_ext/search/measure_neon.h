/* Comparing ranges of keys, sixteen keys at a time.  NEON counts the bits of bytes.  The counts are
   added in pairs until one byte is left for each key, in the order of the keys.

   Keys beyond the end of a range are never read.  A long range compares its last keys again; a
   short range repeats its last key. */
#ifndef SIMDB_SEARCH_MEASURE_NEON_H
#define SIMDB_SEARCH_MEASURE_NEON_H

#include "measure.h"
#include "polytope.h"

enum {
    BLOCK = 16, /* keys that are compared before one branch on the results */
    SHORT = 8   /* keys of a range up to which only half a block is compared */
};

/* The wanted key in registers. */
struct wanted {
    uint64x2_t key, counted;
    uint8x16_t most;
};

static inline struct wanted wanted_of(const struct search_wanted *own)
{
    return (struct wanted){vdupq_n_u64(own->key), vdupq_n_u64(own->counted),
                           vdupq_n_u8(own->most < 64 ? (uint8_t)own->most : 64)};
}

/* Return the number of counted bits that differ, for each byte of two keys. */
VECTOR_INLINE uint8x16_t differing(uint64x2_t keys, struct wanted wanted)
{
    uint64x2_t difference = vandq_u64(veorq_u64(keys, wanted.key), wanted.counted);

    return vcntq_u8(vreinterpretq_u8_u64(difference));
}

/* Return the distances of four pairs of keys: two bytes for each key, to be added. */
VECTOR_INLINE uint8x16_t eight(const uint64x2_t *pairs, struct wanted wanted)
{
    uint8x16_t low = vpaddq_u8(differing(pairs[0], wanted), differing(pairs[1], wanted));
    uint8x16_t high = vpaddq_u8(differing(pairs[2], wanted), differing(pairs[3], wanted));

    return vpaddq_u8(low, high);
}

/* Return four bits for each key, set if it is near; the first key is lowest. */
static inline uint64_t near(uint8x16_t distances, struct wanted wanted)
{
    uint16x8_t near = vreinterpretq_u16_u8(vcleq_u8(distances, wanted.most));

    return vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(near, 4)), 0);
}

/* Return these bits for a whole block. */
VECTOR_INLINE uint64_t near_of_block(const uint64_t *start, struct wanted wanted)
{
    uint64x2_t pairs[BLOCK / 2];

    for (int i = 0; i < BLOCK / 2; i++)
        pairs[i] = vld1q_u64(start + 2 * i);
    return near(vpaddq_u8(eight(pairs, wanted), eight(pairs + 4, wanted)), wanted);
}

/* Return these bits for 1 to BLOCK keys.  A loop would end after a number of keys that cannot be
   predicted, so the last key is compared more than once instead. */
VECTOR_INLINE uint64_t near_of_few(const uint64_t *start, size_t count, struct wanted wanted)
{
    uint64x2_t pairs[BLOCK / 2];
    const size_t last = count - 1;
    uint8x16_t low, high;

    for (size_t i = 0; i < SHORT; i += 2)
        pairs[i / 2] = vcombine_u64(vld1_u64(start + (i < last ? i : last)),
                                    vld1_u64(start + (i + 1 < last ? i + 1 : last)));
    low = high = eight(pairs, wanted);
    if (count > SHORT) {
        for (size_t i = SHORT; i < BLOCK; i += 2)
            pairs[i / 2] = vcombine_u64(vld1_u64(start + (i < last ? i : last)),
                                        vld1_u64(start + (i + 1 < last ? i + 1 : last)));
        high = eight(pairs + SHORT / 2, wanted);
    }
    return near(vpaddq_u8(low, high), wanted) & ~(uint64_t)0 >> (64 - 4 * count);
}

/* Append, in order, the keys that a mask marks as near.  Return 1, or 0 if some had no room; then
   the start of the bucket has moved to the first of these. */
static int add_near(struct search_hits *hits, struct search_bucket *bucket, size_t number,
                    const uint64_t *start, uint64_t near)
{
    for (near &= 0x1111111111111111u; near != 0; near &= near - 1) {
        const uint64_t *found = start + __builtin_ctzll(near) / 4;
        if (hits->count == hits->capacity) {
            bucket->start = found;
            return 0;
        }
        add_hit(hits, found, number, (unsigned)__builtin_popcountll(*found ^ bucket->wanted.key));
    }
    return 1;
}

static inline int measure_one(struct search_bucket *bucket, size_t number,
                              struct search_hits *hits)
{
    const struct wanted wanted = wanted_of(&bucket->wanted);
    const uint64_t *place = bucket->start, *stop = bucket->stop;
    size_t count = place < stop ? (size_t)(stop - place) : 0;
    uint64_t near;

    if (count == 0)
        return 1;
    if (count < BLOCK) {
        near = near_of_few(place, count, wanted);
        return near == 0 || add_near(hits, bucket, number, place, near);
    }
    for (; stop - place >= BLOCK; place += BLOCK) {
        near = near_of_block(place, wanted);
        if (near != 0 && !add_near(hits, bucket, number, place, near))
            return 0;
    }
    if (place == stop)
        return 1;
    size_t again = (size_t)(BLOCK - (stop - place));
    near = near_of_block(place - again, wanted) & ~(uint64_t)0 << 4 * again;
    return near == 0 || add_near(hits, bucket, number, place - again, near);
}

static size_t measure(struct search_bucket *buckets, size_t count, struct search_hits *hits)
{
    for (size_t i = 0; i < count; i++)
        if (!measure_one(&buckets[i], i, hits))
            return i;
    return count;
}

/* `sift` works in the same way, with up to sixteen keys at a time. */

_Static_assert((int)SEARCH_SIFTED_MIN >= (int)BLOCK, "a block has room");

static size_t sift(struct search_stretch *stretches, size_t count,
                   const struct search_wanted *all_wanted, struct search_sifted *list, size_t room,
                   size_t *sifted)
{
    size_t found = 0;

    for (size_t i = 0; i < count; i++) {
        struct search_stretch *stretch = &stretches[i];
        const struct wanted wanted = wanted_of(&all_wanted[stretch->place % SEARCH_SIFTING]);
        const uint64_t *keys = stretch->keys;
        uint32_t left = stretch->count;
        while (left > 0) {
            uint32_t some = left < BLOCK ? left : BLOCK;
            uint64_t near = near_of_few(keys, some, wanted);
            for (near &= 0x1111111111111111u; near != 0; near &= near - 1)
                list[found++] = (struct search_sifted){
                    keys + __builtin_ctzll(near) / 4, stretch->place,
                };
            keys += some;
            left -= some;
            if (room - found < SEARCH_SIFTED_MIN) {
                stretch->keys = keys;
                stretch->count = left;
                *sifted = found;
                return left > 0 ? i : i + 1;
            }
        }
    }
    *sifted = found;
    return count;
}

#endif
