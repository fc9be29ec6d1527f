/* Sums of features with integer weights. */

#ifndef SIMDB_UNITS_H
#define SIMDB_UNITS_H

#include <stdint.h>

#define UNITS_BITS 20 /* bits of one weight */

/* Add units[i] to sums[j] for every i with bit j of first[i] set, and to sums[64 + j] for every i
   with bit j of second[i] set. */
typedef void sketch_units_function(const uint64_t *first, const uint64_t *second,
                                   const uint32_t *units, int64_t count, uint64_t *sums);

/* The sum of this many weights fits 32 bits. */
#define UNITS_BATCH ((int64_t)1 << (32 - UNITS_BITS))

#endif
