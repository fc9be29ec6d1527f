/* Sorting one table with several threads.  Each thread counts the keys of its part by bin, moves
   the entries of its part to their bins, and then sorts some of the bins. */

#ifndef SIMDB_BINS_H
#define SIMDB_BINS_H

#include <stdint.h>

#include "variants.h"

/* Key k is in bin (k - low) >> shift; keys below `low` are in the first bin, and keys above the
   last bin are in the last one.  So all keys of a bin are below the keys of the next bin. */
struct arrange_bins {
    uint64_t low;
    int shift;
    int64_t count;
};

/* Permute the words to keys and add the number of keys in each bin to counts[bin]. */
void arrange_count_bins(const uint64_t *words, int64_t count,
                        const struct arrange_rotations *rotations, struct arrange_bins bins,
                        int64_t *counts);

/* Write each word, permuted to a key, and its ordinal at positions[bin]++ of the output, which has
   room for `room` entries.  Return 0, or -1 if a position is beyond the output; nothing is written
   there. */
int arrange_to_bins(const uint64_t *words, const uint32_t *ordinals, int64_t count,
                    const struct arrange_rotations *rotations, struct arrange_bins bins,
                    int64_t *positions, uint64_t *keys, uint32_t *ordinals_out, int64_t room);

#endif
