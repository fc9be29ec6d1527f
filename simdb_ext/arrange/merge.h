/* Merging two sorted tables into one. */

#ifndef SIMDB_MERGE_H
#define SIMDB_MERGE_H

#include <stdint.h>

/* The entries of a sorted table from `start` up to, not including, `stop`. */
struct arrange_sorted {
    const uint64_t *keys;
    const uint32_t *ordinals;
    int64_t start;
    int64_t stop;
};

/* Write all entries of `left` and `right` in the order of their keys; if keys are equal, the left
   entries come first.  The output overlaps neither input. */
void arrange_merge(struct arrange_sorted left, struct arrange_sorted right, uint64_t *keys,
                   uint32_t *ordinals);

#endif
