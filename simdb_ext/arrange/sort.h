/* Sorting a table by key. */

#ifndef SIMDB_SORT_H
#define SIMDB_SORT_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of scratch that sorting `count` entries takes. */
size_t arrange_sort_scratch(int64_t count);

/* Sort both columns in place by key; entries with equal keys keep their order.

   Large parts are partitioned by the highest bits in which their keys differ until a part fits
   the second-level cache; there the next 16 bits are sorted from the lowest up, and the few keys
   that agree in all those bits are put in order by insertion, or as parts of their own.  Bits that
   are alike in all keys are skipped and sorted parts are left alone, so that repeated or sorted
   keys cost less than random ones.  Every level of recursion settles 4 bits at least. */
void arrange_sort(uint64_t *keys, uint32_t *ordinals, int64_t count, void *scratch);

#endif
