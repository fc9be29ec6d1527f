/* What pairs of documents have in common, counted exactly in their features. */

#ifndef SIMDB_OVERLAP_H
#define SIMDB_OVERLAP_H

#include <stdint.h>

/* Documents as distinct features: document d has hashes[offsets[d] .. offsets[d + 1] - 1], at most
   2^31 - 1 of them, and as many `weights`, which are NULL if every feature counts as 1. */
struct overlap_documents {
    const int64_t *offsets;
    const uint64_t *hashes;
    const float *weights;
};

/* Return the number of slots that a document of `count` features needs: a power of two. */
int64_t overlap_slots(int64_t count);

/* For each pair of documents, left[i] and right[i], write to sums[i] the sum over the features that
   both have, in the order of the right document: of 1 without weights, else of the product of both
   weights or, if `is_least`, of the smaller weight.  Without weights, counting ends where more
   than `missing_most` features of the right document are not in the left one.  `slots` has room
   for the slots of the largest left document.  Pairs of one left document are fastest one after
   the other. */
void overlap_sums(const struct overlap_documents *documents, int is_least, int64_t missing_most,
                  const int64_t *left, const int64_t *right, int64_t pairs, uint32_t *slots,
                  double *sums);

#endif
