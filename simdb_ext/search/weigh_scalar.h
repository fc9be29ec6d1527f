/* The cosine of a query and packed vectors: the definition of `weigh` and `weigh_pairs`.

   A half q stands for the weight 2 q - 15.  With a the weights of the query, the dot product is 2
   sum(a q) - 15 sum(a) and the squared norm 4 sum(q (q - 15)) + 225 d in d dimensions. */
#ifndef SIMDB_SEARCH_WEIGH_SCALAR_H
#define SIMDB_SEARCH_WEIGH_SCALAR_H

#include <math.h>

#include "kernel.h"

static int32_t dot_of(const struct search_weights *query, int32_t products)
{
    return 2 * products - 15 * query->sum;
}

static int32_t norm_of(size_t width, int32_t products)
{
    return 4 * products + 450 * (int32_t)width;
}

static float cosine(int32_t dot, int32_t one, int32_t other)
{
    return (float)((double)dot / sqrt((double)one * (double)other));
}

static void weigh_scalar(const struct search_weights *query, const uint8_t *const *places,
                         size_t count, size_t width, float *similarities)
{
    for (size_t i = 0; i < count; i++) {
        int32_t dot = 0, norm = 0;
        for (size_t j = 0; j < width; j++) {
            int32_t low = places[i][j] & 15, high = places[i][j] >> 4;
            dot += query->low[j] * low + query->high[j] * high;
            norm += low * (low - 15) + high * (high - 15);
        }
        similarities[i] = cosine(dot_of(query, dot), query->norm, norm_of(width, norm));
    }
}

/* If both sides are packed, the dot product is 2 sum(2 a b - 15 a - 15 b) + 225 d. */
static int32_t dot_of_pair(size_t width, int32_t products)
{
    return 2 * products + 450 * (int32_t)width;
}

static void weigh_pairs_scalar(const uint8_t *const *lefts, const uint8_t *const *rights,
                               size_t count, size_t width, float *similarities)
{
    for (size_t i = 0; i < count; i++) {
        int32_t dot = 0, left_norm = 0, right_norm = 0;
        for (size_t j = 0; j < width; j++)
            for (int shift = 0; shift <= 4; shift += 4) {
                int32_t left = lefts[i][j] >> shift & 15, right = rights[i][j] >> shift & 15;
                dot += 2 * left * right - 15 * left - 15 * right;
                left_norm += left * (left - 15);
                right_norm += right * (right - 15);
            }
        similarities[i] = cosine(dot_of_pair(width, dot), norm_of(width, left_norm),
                                 norm_of(width, right_norm));
    }
}

#endif
