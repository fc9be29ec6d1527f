/* Sorting queries by the head of their key, so that neighbours read the same cache lines. */
#ifndef SIMDB_SEARCH_PARTITION_H
#define SIMDB_SEARCH_PARTITION_H

#include <stddef.h>
#include <stdint.h>

enum { PARTITION_BITS = 16 }; /* their counters just stay in the second-level cache */

/* Order `keys` by as many top bits as are worth it for `count` of them; numbers[i] is the former
   place of sorted[i].  `places` is room for 2**PARTITION_BITS numbers. */
void search_partition(const uint64_t *keys, size_t count, uint64_t *sorted, uint32_t *numbers,
                      uint32_t *places);

#endif
