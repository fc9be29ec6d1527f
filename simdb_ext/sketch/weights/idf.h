/* The weights of features by a table of inverse document frequencies (simdb/idf.py). */

#ifndef SIMDB_IDF_H
#define SIMDB_IDF_H

#include <stdint.h>

/* Hashes whose lowest 16 bits are the weight, ascending, and where those with each value of the
   highest `bits` bits begin.  Nothing is read outside of both, whatever they hold. */
struct sketch_idf {
    const uint64_t *entries;
    int64_t count;
    const uint32_t *directory;
    int bits;
    uint32_t absent; /* weight of a feature that is not there */
};

typedef void sketch_idf_function(const struct sketch_idf *idf, const uint64_t *hashes,
                                 int64_t count, uint32_t *weights);

#endif
