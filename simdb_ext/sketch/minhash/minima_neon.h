/* 32 permutations at a time; their minima stay in registers. */

#ifndef SIMDB_MINIMA_NEON_H
#define SIMDB_MINIMA_NEON_H

#include "cpu.h"
#include "minima.h"

#if CPU_NEON

/* Lower the minima of 4 `width` permutations from `first` on; `width` is a constant. */
static inline __attribute__((always_inline)) void
stratified_some_neon(const struct minima_family *family, int first, const int width,
                     const uint64_t *features, int64_t count, uint32_t *values)
{
    uint32x4_t factors[8], least[8];

    for (int j = 0; j < width; j++) {
        const uint64_t *multipliers = family->multipliers + first + 4 * j;
        factors[j] = vmovn_high_u64(vmovn_u64(vld1q_u64(multipliers)), vld1q_u64(multipliers + 2));
        least[j] = vld1q_u32(values + first + 4 * j);
    }
    for (int64_t i = 0; i < count; i++) {
        const uint32_t step = (uint32_t)features[i] | 1;
        const uint32x4_t start = vdupq_n_u32((uint32_t)(features[i] >> 32));
        for (int j = 0; j < width; j++)
            least[j] = vminq_u32(least[j], vmlaq_n_u32(start, factors[j], step));
    }
    for (int j = 0; j < width; j++)
        vst1q_u32(values + first + 4 * j, least[j]);
}

static void minima_stratified_neon(const struct minima_family *family, const uint64_t *features,
                                   int64_t count, uint32_t *values)
{
    int first = 0;

    for (; first + 32 <= family->count; first += 32)
        stratified_some_neon(family, first, 8, features, count, values);
    for (; first < family->count; first += MINIMA_STEP)
        stratified_some_neon(family, first, MINIMA_STEP / 4, features, count, values);
}

/* Lower the minima of 4 `width` permutations from `first` on; `width` is a constant.  A feature
   fills every 64-bit lane: its lower half is in the even 32-bit lanes, its upper half in the odd
   ones. */
static inline __attribute__((always_inline)) void
shift_some_neon(const struct minima_family *family, int first, const int width,
                const uint64_t *features, int64_t count, uint32_t *values)
{
    uint32x4_t factors[8], added[8], least[8];

    for (int j = 0; j < width; j++) {
        const uint64_t *multipliers = family->multipliers + first + 4 * j;
        const uint64_t *increments = family->increments + first + 4 * j;
        factors[j] = vmovn_high_u64(vmovn_u64(vld1q_u64(multipliers)), vld1q_u64(multipliers + 2));
        added[j] = vmovn_high_u64(vmovn_u64(vld1q_u64(increments)), vld1q_u64(increments + 2));
        least[j] = vld1q_u32(values + first + 4 * j);
    }
    for (int64_t i = 0; i < count; i++) {
        const uint32x4_t feature = vreinterpretq_u32_u64(vdupq_n_u64(features[i]));
        for (int j = 0; j < width; j++)
            least[j] = vminq_u32(least[j], vmlaq_u32(added[j], factors[j], feature));
    }
    for (int j = 0; j < width; j++)
        vst1q_u32(values + first + 4 * j, least[j]);
}

static void minima_shift_neon(const struct minima_family *family, const uint64_t *features,
                              int64_t count, uint32_t *values)
{
    int first = 0;

    for (; first + 32 <= family->count; first += 32)
        shift_some_neon(family, first, 8, features, count, values);
    for (; first < family->count; first += MINIMA_STEP)
        shift_some_neon(family, first, MINIMA_STEP / 4, features, count, values);
}

#endif

#endif
