/* The definition of `quantise`, and what its other variants share. */

#ifndef SIMDB_QUANTISE_SCALAR_H
#define SIMDB_QUANTISE_SCALAR_H

#include <math.h>

#include "mix.h"

/* Standard deviations per quantisation step: the best for 16 levels of a normal distribution (Max
   1960). */
#define QUANTISE_STEP 0.335

/* Rows whose sums are formed side by side, because each sum must be formed in order. */
#define QUANTISE_ROWS 8

#define QUANTISE_INLINE static inline __attribute__((always_inline))

QUANTISE_INLINE double weight_at(const void *weights, int is_float, int64_t place)
{
    return is_float ? ((const float *)weights)[place] : ((const int32_t *)weights)[place];
}

QUANTISE_INLINE void square_rows(const void *weights, int is_float, int64_t place, int rows,
                                 int dimensions, double *sums)
{
    for (int row = 0; row < QUANTISE_ROWS; row++)
        sums[row] = 0;
    for (int j = 0; j < dimensions; j++)
        for (int row = 0; row < rows; row++) {
            double weight = weight_at(weights, is_float, place + row * dimensions + j);
            sums[row] += weight * weight;
        }
}

/* Return the factor from a weight to steps; 0 if all weights are 0. */
QUANTISE_INLINE double quantise_scale(double squares, int dimensions)
{
    return squares > 0 ? 1 / (QUANTISE_STEP * sqrt(squares / dimensions)) : 0;
}

/* Write the quantised values, 0 to 15, of the weights from `place` on. */
typedef void quantise_row_function(const void *weights, int is_float, int64_t place,
                                   int dimensions, double scale, uint8_t *halves);

/* Values are clamped before the floor, so that they fit an int. */
QUANTISE_INLINE void quantise_row_scalar(const void *weights, int is_float, int64_t place,
                                         int dimensions, double scale, uint8_t *halves)
{
    for (int j = 0; j < dimensions; j++) {
        double value = weight_at(weights, is_float, place + j) * scale;
        value = value < -8 ? -8 : value;
        value = value > 7 ? 7 : value;
        int whole = (int)value;
        halves[j] = (uint8_t)(whole - (value < whole) + 8);
    }
}

/* Return a word whose bit j is set if halves[j] >= 8, which is if weight j is not negative. */
QUANTISE_INLINE uint64_t sign_bits(const uint8_t *halves)
{
    uint64_t bits = 0;

    for (int j = 0; j < 64; j += 8) {
        uint64_t eight = mix_load(halves + j) >> 3 & 0x0101010101010101u;
        bits |= (eight * 0x0102040810204080u >> 56) << j;
    }
    return bits;
}

QUANTISE_INLINE int64_t quantise_rows(const void *weights, int is_float, int64_t count,
                                      int dimensions, uint64_t *fingerprints, uint8_t *vectors,
                                      quantise_row_function *quantise_row)
{
    const int width = dimensions / 2;

    for (int64_t i = 0; i < count; i += QUANTISE_ROWS) {
        int rows = count - i < QUANTISE_ROWS ? (int)(count - i) : QUANTISE_ROWS;
        double sums[QUANTISE_ROWS];

        if (rows == QUANTISE_ROWS)
            square_rows(weights, is_float, i * dimensions, QUANTISE_ROWS, dimensions, sums);
        else
            square_rows(weights, is_float, i * dimensions, rows, dimensions, sums);
        for (int row = 0; row < rows; row++) {
            uint8_t halves[256];
            uint8_t *vector = vectors + (i + row) * width;

            if (!isfinite(sums[row]))
                return i + row;
            quantise_row(weights, is_float, (i + row) * dimensions, dimensions,
                         quantise_scale(sums[row], dimensions), halves);
            fingerprints[i + row] = sign_bits(halves);
            for (int j = 0; j < width; j++)
                vector[j] = (uint8_t)(halves[j] | halves[j + width] << 4);
        }
    }
    return -1;
}

/* Each combination is compiled separately, with constants for the arguments. */
QUANTISE_INLINE int64_t quantise_any(const void *weights, int is_float, int64_t count,
                                     int dimensions, uint64_t *fingerprints, uint8_t *vectors,
                                     quantise_row_function *row)
{
    if (is_float && dimensions == 64)
        return quantise_rows(weights, 1, count, 64, fingerprints, vectors, row);
    if (is_float && dimensions == 128)
        return quantise_rows(weights, 1, count, 128, fingerprints, vectors, row);
    if (is_float)
        return quantise_rows(weights, 1, count, 256, fingerprints, vectors, row);
    if (dimensions == 64)
        return quantise_rows(weights, 0, count, 64, fingerprints, vectors, row);
    if (dimensions == 128)
        return quantise_rows(weights, 0, count, 128, fingerprints, vectors, row);
    return quantise_rows(weights, 0, count, 256, fingerprints, vectors, row);
}

static int64_t quantise_scalar(const void *weights, int is_float, int64_t count, int dimensions,
                               uint64_t *fingerprints, uint8_t *vectors)
{
    return quantise_any(weights, is_float, count, dimensions, fingerprints, vectors,
                        quantise_row_scalar);
}

#endif
