/* The definition of every family. */

#ifndef SIMDB_MINIMA_SCALAR_H
#define SIMDB_MINIMA_SCALAR_H

#include "minima.h"
#include "mix.h"

#define MERSENNE (((uint64_t)1 << 61) - 1)
#define MERSENNE_KEPT 29 /* 61 bits less the highest 32, which are kept */

static void mix_features_scalar(uint64_t *hashes, int64_t count, int is_narrow)
{
    for (int64_t i = 0; i < count; i++) {
        uint64_t mixed = mix_final(hashes[i]);
        hashes[i] = is_narrow ? mixed >> 32 : mixed;
    }
}

static void minima_shift_scalar(const struct minima_family *family, const uint64_t *features,
                                int64_t count, uint32_t *values)
{
    for (int64_t i = 0; i < count; i++)
        for (int j = 0; j < family->count; j++) {
            uint64_t word = family->multipliers[j] * features[i] + family->increments[j];
            uint32_t value = (uint32_t)(word >> 32);
            values[j] = value < values[j] ? value : values[j];
        }
}

/* Of a word below 2^64: congruent to it, and at most 2^61 + 6. */
static inline uint64_t mersenne_fold(uint64_t word) { return (word & MERSENNE) + (word >> 61); }

/* (a x + b) mod 2^61 - 1, for a, b and x of 61 bits, by products of 32 bits. */
static inline uint64_t mersenne_value(uint64_t a, uint64_t x, uint64_t b)
{
    uint64_t a_low = a & 0xFFFFFFFF, a_high = a >> 32, x_low = x & 0xFFFFFFFF, x_high = x >> 32;
    uint64_t crossed = a_high * x_low + a_low * x_high;
    uint64_t sum = mersenne_fold(a_low * x_low) + (a_high * x_high << 3) +
                   ((crossed & 0x1FFFFFFF) << 32) + (crossed >> 29);

    sum = mersenne_fold(mersenne_fold(sum) + b);
    return sum >= MERSENNE ? sum - MERSENNE : sum;
}

/* A feature of 64 bits takes part with the highest 61. */
static inline uint64_t mersenne_feature(uint64_t feature, int is_narrow)
{
    return is_narrow ? feature : feature >> 3;
}

static void minima_mersenne_scalar(const struct minima_family *family, const uint64_t *features,
                                   int64_t count, uint32_t *values)
{
    for (int64_t i = 0; i < count; i++) {
        uint64_t feature = mersenne_feature(features[i], family->is_narrow);
        for (int j = 0; j < family->count; j++) {
            uint64_t word = mersenne_value(family->multipliers[j], feature,
                                           family->increments[j]);
            uint32_t value = (uint32_t)(word >> MERSENNE_KEPT);
            values[j] = value < values[j] ? value : values[j];
        }
    }
}

#endif
