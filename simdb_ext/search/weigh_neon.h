/* The cosine of a query and packed vectors, 16 bytes at a time.

   No sum of 16 bits overflows: a product is at most 450, and six of them are added. */
#ifndef SIMDB_SEARCH_WEIGH_NEON_H
#define SIMDB_SEARCH_WEIGH_NEON_H

#include <string.h>

#include "cpu.h"
#include "weigh_scalar.h"

#if CPU_NEON

/* The low and the high halves of 16 bytes. */
struct halves_neon {
    int8x16_t low, high;
};

/* Split 16 bytes; if only `left` bytes are there, the others are 0, which adds nothing to any
   sum. */
static inline struct halves_neon halves_neon(const uint8_t *place, size_t left)
{
    uint8_t rest[16] = {0};
    uint8x16_t bytes;

    if (left >= 16) {
        bytes = vld1q_u8(place);
    } else {
        memcpy(rest, place, left);
        bytes = vld1q_u8(rest);
    }
    return (struct halves_neon){
        vreinterpretq_s8_u8(vandq_u8(bytes, vdupq_n_u8(15))),
        vreinterpretq_s8_u8(vshrq_n_u8(bytes, 4)),
    };
}

/* Return the sums of four products each: of the lanes of the low and of the high halves. */
static inline int16x8_t products_neon(struct halves_neon halves, int8x16_t low, int8x16_t high)
{
    int16x8_t sums = vmull_s8(vget_low_s8(halves.low), vget_low_s8(low));

    sums = vmlal_high_s8(sums, halves.low, low);
    sums = vmlal_s8(sums, vget_low_s8(halves.high), vget_low_s8(high));
    return vmlal_high_s8(sums, halves.high, high);
}

/* Return a (a - 15) of half bytes a, added by fours. */
static inline int16x8_t norms_neon(struct halves_neon halves)
{
    const int8x16_t most = vdupq_n_s8(15);

    return products_neon(halves, vsubq_s8(halves.low, most), vsubq_s8(halves.high, most));
}

static void weigh_neon(const struct search_weights *query, const uint8_t *const *places,
                       size_t count, size_t width, float *similarities)
{
    for (size_t i = 0; i < count; i++) {
        int32x4_t dots = vdupq_n_s32(0), norms = dots;
        for (size_t j = 0; j < width; j += 16) {
            struct halves_neon halves = halves_neon(places[i] + j, width - j);
            dots = vpadalq_s16(dots, products_neon(halves, vld1q_s8(query->low + j),
                                                   vld1q_s8(query->high + j)));
            norms = vpadalq_s16(norms, norms_neon(halves));
        }
        similarities[i] = cosine(dot_of(query, vaddvq_s32(dots)), query->norm,
                                 norm_of(width, vaddvq_s32(norms)));
    }
}

/* Return a (2 b - 15) - 15 b of half bytes a and b, added by fours. */
static inline int16x8_t dots_of_pair_neon(struct halves_neon left, struct halves_neon right)
{
    const int8x16_t most = vdupq_n_s8(15);
    int16x8_t sums = products_neon(
        left, vsubq_s8(vaddq_s8(right.low, right.low), most),
        vsubq_s8(vaddq_s8(right.high, right.high), most));
    int8x16_t both = vaddq_s8(right.low, right.high);

    sums = vmlsl_s8(sums, vget_low_s8(both), vget_low_s8(most));
    return vmlsl_high_s8(sums, both, most);
}

static inline float pair_neon(const uint8_t *left, const uint8_t *right, size_t width)
{
    int32x4_t dots = vdupq_n_s32(0), left_norms = dots, right_norms = dots;

    for (size_t j = 0; j < width; j += 16) {
        struct halves_neon one = halves_neon(left + j, width - j);
        struct halves_neon other = halves_neon(right + j, width - j);
        dots = vpadalq_s16(dots, dots_of_pair_neon(one, other));
        left_norms = vpadalq_s16(left_norms, norms_neon(one));
        right_norms = vpadalq_s16(right_norms, norms_neon(other));
    }
    return cosine(dot_of_pair(width, vaddvq_s32(dots)), norm_of(width, vaddvq_s32(left_norms)),
                  norm_of(width, vaddvq_s32(right_norms)));
}

static void weigh_pairs_neon(const uint8_t *const *lefts, const uint8_t *const *rights,
                             size_t count, size_t width, float *similarities)
{
    for (size_t i = 0; i < count; i++)
        similarities[i] = pair_neon(lefts[i], rights[i], width);
}

#endif

#endif
