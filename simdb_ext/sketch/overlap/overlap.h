/* Overlaps: exact sums over the features that pairs of documents share. */

#ifndef SIMDB_OVERLAP_H
#define SIMDB_OVERLAP_H

#include <stdint.h>

/* Documents as distinct features: document d has hashes[offsets[d] .. offsets[d + 1] - 1], at most
   2^31 - 1.  Each feature has one of the `weights`; if they are NULL, it counts as 1. */
struct overlap_documents {
    const int64_t *offsets;
    const uint64_t *hashes;
    const float *weights;
};

/* Return the number of slots that a document of `count` features needs: a power of two. */
int64_t overlap_slots(int64_t count);

/* For each pair of documents, left[i] and right[i], write to sums[i] the sum over the features that
   they share, in the order of the right document.  A feature adds 1 without weights, else the
   product of both weights or, with `is_least`, the smaller one.

   Without weights, counting ends once more than `missing_most` features of the right document are
   not in the left one.  `slots` has room for the slots of the largest left document.  Pairs with
   the same left document should follow each other: that is fastest. */
void overlap_sums(const struct overlap_documents *documents, int is_least, int64_t missing_most,
                  const int64_t *left, const int64_t *right, int64_t pairs, uint32_t *slots,
                  double *sums);

#endif
