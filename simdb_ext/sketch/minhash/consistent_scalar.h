/* The definition of `consistent`.

   Every variant does the same operations in the same order and rounds each by itself, so that all
   agree to the bit; for that reason the logarithm is our own. */

#ifndef SIMDB_CONSISTENT_SCALAR_H
#define SIMDB_CONSISTENT_SCALAR_H

#include <math.h>
#include <string.h>

#include "consistent.h"
#include "minima.h"
#include "mix.h"

/* Added to a word for each further random number that is drawn from it. */
#define DRAW_STEP MIX_SECOND_WORD

#define LN_2 0.6931471805599453
#define SQRT_2 1.4142135623730951
#define LOGARITHM_TERMS 8 /* the next term would be below 1e-14 */

/* Return ln of a normal number above 0: 2 artanh((m - 1) / (m + 1)) + e ln 2, m from sqrt(1/2)
   on. */
static inline double consistent_logarithm(double number)
{
    uint64_t bits;
    double part, exponent, ratio, square, sum = 1.0 / (2 * LOGARITHM_TERMS - 1);

    memcpy(&bits, &number, sizeof bits);
    exponent = (double)(int64_t)(bits >> 52) - 1023;
    bits = (bits & 0xFFFFFFFFFFFFFu) | 0x3FF0000000000000u;
    memcpy(&part, &bits, sizeof part);
    exponent = part > SQRT_2 ? exponent + 1 : exponent;
    part = part > SQRT_2 ? part * 0.5 : part;
    ratio = (part - 1) / (part + 1);
    square = ratio * ratio;
    for (int term = 2 * LOGARITHM_TERMS - 3; term > 0; term -= 2)
        sum = sum * square + 1.0 / term;
    return exponent * LN_2 + 2 * ratio * sum;
}

/* Return a number between 0 and 1, both excluded, from 32 bits. */
static inline double consistent_uniform(uint64_t half)
{
    return ((double)(int64_t)half + 0.5) * 0x1p-32;
}

/* Return a number of Gamma(2, 1): minus the logarithm of the product of two uniform numbers. */
static inline double consistent_gamma(uint64_t word)
{
    return -consistent_logarithm(consistent_uniform(word & 0xFFFFFFFF) *
                                 consistent_uniform(word >> 32));
}

/* Draw the sample of a weight from the random numbers of a feature under one permutation: return
   its ln a, of which the least wins, and write its word. */
static inline double consistent_sample(uint64_t feature, uint64_t key, double logarithm,
                                       uint64_t *word)
{
    uint64_t draw = mix_final(feature ^ key);
    double rate = consistent_gamma(mix_final(draw + DRAW_STEP));
    double cost = consistent_logarithm(consistent_gamma(mix_final(draw + 2 * DRAW_STEP)));
    double shift = consistent_uniform(mix_final(draw + 3 * DRAW_STEP) >> 32);
    double step = floor(logarithm / rate + shift);

    *word = mix_final(feature + (uint64_t)(int64_t)step * DRAW_STEP) >> 32;
    return cost - rate * (step - shift + 1);
}

static int64_t consistent_scalar(const uint64_t *keys, int permutations, const uint64_t *hashes,
                                 const float *weights, int64_t count, uint32_t *row)
{
    double least[MINIMA_MOST];
    int64_t features = 0;

    memset(row, 0xFF, (size_t)permutations * sizeof *row);
    for (int j = 0; j < permutations; j++)
        least[j] = INFINITY;
    for (int64_t i = 0; i < count; i++) {
        if (!(weights[i] > 0))
            continue;
        uint64_t feature = mix_final(hashes[i]), word;
        double logarithm = consistent_logarithm(weights[i]);
        for (int j = 0; j < permutations; j++) {
            double value = consistent_sample(feature, keys[j], logarithm, &word);
            if (value < least[j] || (value == least[j] && word < row[j])) {
                least[j] = value;
                row[j] = (uint32_t)word;
            }
        }
        features++;
    }
    return features;
}

#endif
