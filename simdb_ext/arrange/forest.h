/* Connected components by union-find. */

#ifndef SIMDB_FOREST_H
#define SIMDB_FOREST_H

#include <stdint.h>

/* parents[i] = i: every number is a component of its own. */
void arrange_plant(uint32_t *parents, int64_t count);

/* Put left[i] and right[i] into one component, i = 0 .. pairs - 1.  Returns -1, or the first i
   with a number that is not below `count`, and then the pairs before it are joined. */
int64_t arrange_join(uint32_t *parents, int64_t count, const uint32_t *left,
                     const uint32_t *right, int64_t pairs);

/* labels[i] = the smallest member of the component of i. */
void arrange_label(uint32_t *parents, int64_t count, uint32_t *labels);

#endif
