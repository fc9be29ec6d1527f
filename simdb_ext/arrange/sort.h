/* Sorting a table by key, writing its directory (where the keys of each header begin), and merging
   two tables into one. */

#ifndef SIMDB_SORT_H
#define SIMDB_SORT_H

#include <stddef.h>
#include <stdint.h>

/* Return the bytes of scratch memory that sorting `count` entries needs. */
size_t arrange_sort_scratch(int64_t count);

/* Sort both columns in place by key; entries with equal keys keep their order.

   A large part is partitioned by the highest bits in which its keys differ, until each part fits
   the second-level cache.  Such a part is sorted by its next 16 bits, the lower byte before the
   upper one.  The few keys that agree in all these bits are sorted by insertion, or as parts of
   their own.  Each level of recursion settles at least 4 bits.

   Bits that are equal in all keys are skipped, and sorted parts are not sorted again, so repeated
   or sorted keys cost less than random ones. */
void arrange_sort(uint64_t *keys, uint32_t *ordinals, int64_t count, void *scratch);

#define ARRANGE_HEADER_BITS_MAX 32

/* Write the directory of sorted keys: to out[h], h = 0 .. 1 << header_bits, the position of the
   first key with a header of at least h.  The header of a key is its top `header_bits` bits.
   `count` is below 1 << 32. */
void arrange_directory(const uint64_t *keys, int64_t count, int header_bits, uint32_t *out);

/* The entries of a sorted table from `start` to `stop`, half open. */
struct arrange_sorted {
    const uint64_t *keys;
    const uint32_t *ordinals;
    int64_t start;
    int64_t stop;
};

/* Write all entries of `left` and `right` in the order of their keys; of equal keys, the left ones
   precede.  The output overlaps neither input. */
void arrange_merge(struct arrange_sorted left, struct arrange_sorted right, uint64_t *keys,
                   uint32_t *ordinals);

#endif
