/* Levels: the distances of weights from 0, in units of their root mean square.  This is the
   definition. */
#ifndef SIMDB_LEVEL_SCALAR_H
#define SIMDB_LEVEL_SCALAR_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define LEVEL_UNIT 64.0 /* level of a weight of one root mean square */
#define LEVEL_MAX 255

/* Return the factor from weights to levels; 0 if all weights are 0. */
static inline double level_factor(double squares, size_t dimensions)
{
    double mean = sqrt(squares / (double)dimensions);

    return mean > 0 ? LEVEL_UNIT / mean : 0;
}

static inline uint8_t level_of(double weight, double factor)
{
    double level = fabs(weight) * factor;

    return level < LEVEL_MAX ? (uint8_t)level : LEVEL_MAX;
}

static inline double float_at(const void *weights, size_t place)
{
    float weight;

    memcpy(&weight, (const uint8_t *)weights + place * sizeof weight, sizeof weight);
    return weight;
}

static inline double whole_at(const void *weights, size_t place)
{
    return ((const int32_t *)weights)[place];
}

/* Write the levels of one row, whose weights `weight_at` reads. */
static inline void level_row_scalar(double (*weight_at)(const void *, size_t), const void *row,
                                    size_t dimensions, uint8_t *levels)
{
    double sums[8] = {0}, squares, factor;

    for (size_t i = 0; i < dimensions; i++)
        sums[i % 8] += weight_at(row, i) * weight_at(row, i);
    squares = ((sums[0] + sums[4]) + (sums[2] + sums[6])) +
              ((sums[1] + sums[5]) + (sums[3] + sums[7]));
    factor = level_factor(squares, dimensions);
    for (size_t i = 0; i < 64; i++)
        levels[i] = factor > 0 ? level_of(weight_at(row, i), factor) : LEVEL_MAX;
}

static inline void level_floats_scalar(const float *weights, size_t count, size_t dimensions,
                                uint8_t *levels)
{
    for (size_t row = 0; row < count; row++)
        level_row_scalar(float_at, weights + row * dimensions, dimensions, levels + row * 64);
}

static inline void level_wholes_scalar(const int32_t *weights, size_t count, size_t dimensions,
                                uint8_t *levels)
{
    for (size_t row = 0; row < count; row++)
        level_row_scalar(whole_at, weights + row * dimensions, dimensions, levels + row * 64);
}

/* Write the level of each value of a half byte. */
static inline void level_halves(uint64_t squares, size_t dimensions, uint8_t *table)
{
    double factor = level_factor((double)squares, dimensions);

    for (int half = 0; half < 16; half++)
        table[half] = level_of(2 * half - 15, factor);
}

static inline void level_by_table(const uint8_t *vector, size_t width, const uint8_t *table,
                                  uint8_t *levels)
{
    for (size_t i = 0; i < 64; i++)
        levels[i] = table[i < width ? vector[i] & 15 : vector[i - width] >> 4];
}

static inline void level_packed_scalar(const uint8_t *vectors, size_t count, size_t width,
                                uint8_t *levels)
{
    for (size_t row = 0; row < count; row++) {
        const uint8_t *vector = vectors + row * width;
        uint64_t squares = 0;
        uint8_t table[16];
        for (size_t i = 0; i < width; i++) {
            int low = 2 * (vector[i] & 15) - 15, high = 2 * (vector[i] >> 4) - 15;
            squares += (uint64_t)(low * low + high * high);
        }
        level_halves(squares, 2 * width, table);
        level_by_table(vector, width, table, levels + row * 64);
    }
}

#endif
