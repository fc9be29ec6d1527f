/* Consistent weighted sampling (Ioffe 2010): signatures of weighted features. */

#ifndef SIMDB_CONSISTENT_H
#define SIMDB_CONSISTENT_H

#include <stdint.h>

/* Write the signature of one document: row[j], j = 0 .. permutations - 1, names the sample that is
   drawn under keys[j]; all bits are set if no weight is above 0.  The hashes are distinct.  Return
   how many features have a weight above 0. */
typedef int64_t consistent_function(const uint64_t *keys, int permutations,
                                    const uint64_t *hashes, const float *weights, int64_t count,
                                    uint32_t *row);

#endif
