/* The weights of one ready fingerprint, before they are quantised. */
#ifndef SIMDB_READY_H
#define SIMDB_READY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The bytes of two special vectors: all weights are 0, and there are no weights. */
#define READY_ZEROS 0x88
#define READY_NONE 0

/* Write `dimensions` of `count` weights; if there are fewer, they are repeated, starting with the
   first.  Return the number of given weights that are not 0. */
static inline int64_t widen_row(const float *given, size_t count, int dimensions, float *wide)
{
    int64_t filled = 0;

    for (size_t i = 0; i < count; i++)
        filled += given[i] != 0;
    for (size_t i = 0; i < (size_t)dimensions; i++)
        wide[i] = given[i % count];
    return filled;
}

/* Pack rounded weights, odd whole numbers from -15 to 15; return 0 for any other number.  The
   vector of a document without features is packed, too; its number of features becomes 0. */
static inline int pack_row(const float *weights, int dimensions, uint8_t *vector,
                           int64_t *features)
{
    int width = dimensions / 2;

    for (int i = 0; i < dimensions; i++) {
        float half = (weights[i] + 15) / 2;
        if (!(half >= 0 && half <= 15) || half != (float)(int)half)
            return 0;
        if (i < width)
            vector[i] = (uint8_t)half;
        else
            vector[i - width] |= (uint8_t)((int)half << 4);
    }
    if ((vector[0] == READY_ZEROS || vector[0] == READY_NONE)
        && memcmp(vector, vector + 1, (size_t)width - 1) == 0)
        *features = 0;
    return 1;
}

#endif
