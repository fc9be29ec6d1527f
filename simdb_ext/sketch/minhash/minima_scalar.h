/* The definition of every family of permutations. */

#ifndef SIMDB_MINIMA_SCALAR_H
#define SIMDB_MINIMA_SCALAR_H

#include "minima.h"
#include "mix.h"

#define MERSENNE (((uint64_t)1 << 61) - 1)
#define MERSENNE_CUT 3    /* leaves the highest 61 of 64 bits, which take part */
#define MERSENNE_LOST 29  /* leaves the highest 32 of 61 bits, which are kept */

static void mix_features_scalar(uint64_t *hashes, int64_t count, int is_narrow)
{
    for (int64_t i = 0; i < count; i++) {
        uint64_t mixed = mix_final(hashes[i]);
        hashes[i] = is_narrow ? mixed >> 32 << 32 | mixed >> 32 : mixed;
    }
}

/* The values of one feature differ by multiples of one step, so they are spread evenly over all
   values: a feature is small in as many permutations as another. */
static void minima_stratified_scalar(const struct minima_family *family, const uint64_t *features,
                                     int64_t count, uint32_t *values)
{
    for (int64_t i = 0; i < count; i++) {
        uint32_t step = (uint32_t)features[i] | 1, start = (uint32_t)(features[i] >> 32);
        for (int j = 0; j < family->count; j++) {
            uint32_t value = (uint32_t)family->multipliers[j] * step + start;
            values[j] = value < values[j] ? value : values[j];
        }
    }
}

/* Even permutations take the lower half of a feature, odd ones the upper half: so two features that
   have one half in common are still told apart. */
static void minima_shift_scalar(const struct minima_family *family, const uint64_t *features,
                                int64_t count, uint32_t *values)
{
    for (int64_t i = 0; i < count; i++)
        for (int j = 0; j < family->count; j++) {
            uint32_t half = (uint32_t)(features[i] >> 32 * (j % 2));
            uint32_t value = (uint32_t)family->multipliers[j] * half +
                             (uint32_t)family->increments[j];
            values[j] = value < values[j] ? value : values[j];
        }
}

/* Return a word congruent to `word`, at most 2^61 + 6. */
static inline uint64_t mersenne_fold(uint64_t word) { return (word & MERSENNE) + (word >> 61); }

/* Return (a x + b) mod 2^61 - 1, for a, b and x of 61 bits, with products of 32 bits. */
static inline uint64_t mersenne_value(uint64_t a, uint64_t x, uint64_t b)
{
    uint64_t a_low = a & 0xFFFFFFFF, a_high = a >> 32, x_low = x & 0xFFFFFFFF, x_high = x >> 32;
    uint64_t crossed = a_high * x_low + a_low * x_high;
    uint64_t sum = mersenne_fold(a_low * x_low) + (a_high * x_high << 3) +
                   ((crossed & 0x1FFFFFFF) << 32) + (crossed >> 29);

    sum = mersenne_fold(mersenne_fold(sum) + b);
    return sum >= MERSENNE ? sum - MERSENNE : sum;
}

static void minima_mersenne_scalar(const struct minima_family *family, const uint64_t *features,
                                   int64_t count, uint32_t *values)
{
    for (int64_t i = 0; i < count; i++) {
        uint64_t feature = features[i] >> MERSENNE_CUT;
        for (int j = 0; j < family->count; j++) {
            uint64_t word = mersenne_value(family->multipliers[j], feature,
                                           family->increments[j]);
            uint32_t value = (uint32_t)(word >> MERSENNE_LOST);
            values[j] = value < values[j] ? value : values[j];
        }
    }
}

#endif
