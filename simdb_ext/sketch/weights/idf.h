/* The weights of features from a table of inverse document frequencies. */

#ifndef SIMDB_IDF_H
#define SIMDB_IDF_H

#include <stdint.h>

/* `entries` ascend: the highest 48 bits of a hash, then 16 bits of weight.  directory[v] is where
   the entries begin whose highest `bits` bits are v.  Nothing outside both arrays is read, whatever
   they hold. */
struct sketch_idf {
    const uint64_t *entries;
    int64_t count;
    const uint32_t *directory;
    int bits;
    uint32_t absent; /* weight of a feature that is not in the table */
};

typedef void sketch_idf_function(const struct sketch_idf *idf, const uint64_t *hashes,
                                 int64_t count, uint32_t *weights);

#endif
