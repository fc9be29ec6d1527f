/* Connected components by union-find. */

#ifndef SIMDB_FOREST_H
#define SIMDB_FOREST_H

#include <stdint.h>

/* Make every number a component of its own: parents[i] = i. */
void arrange_plant(uint32_t *parents, int64_t count);

/* Join the components of left[i] and right[i], i = 0 .. pairs - 1.  Return -1, or the first i with
   a number that is not below `count`; the pairs before i are joined. */
int64_t arrange_join(uint32_t *parents, int64_t count, const uint32_t *left,
                     const uint32_t *right, int64_t pairs);

/* Write to labels[i] the smallest member of the component of i. */
void arrange_label(uint32_t *parents, int64_t count, uint32_t *labels);

#endif
