/* `sift`, up to sixteen keys at a time, as by `measure`. */
#ifndef SIMDB_SEARCH_SIFT_NEON_H
#define SIMDB_SEARCH_SIFT_NEON_H

#include "measure_neon.h"
#include "polytope.h"

#if CPU_NEON

_Static_assert((int)SEARCH_SIFTED_MIN >= (int)BLOCK_NEON, "a block has room");

static size_t sift_neon(struct search_stretch *stretches, size_t count, const uint64_t *tags,
                        unsigned distance, struct search_sifted *list, size_t room,
                        size_t *sifted)
{
    const uint8x16_t limit = vdupq_n_u8(distance < 64 ? (uint8_t)distance : 64);
    size_t found = 0;

    for (size_t i = 0; i < count; i++) {
        struct search_stretch *stretch = &stretches[i];
        const uint64x2_t tag = vdupq_n_u64(tags[stretch->place % SEARCH_SIFTING]);
        const uint64_t *keys = stretch->keys;
        uint32_t left = stretch->count;
        while (left > 0) {
            uint32_t some = left < BLOCK_NEON ? left : BLOCK_NEON;
            uint64_t near = near_of_few_neon(keys, some, tag, limit, POLYTOPE_CODE_BITS);
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

#endif
