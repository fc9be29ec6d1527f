/* Ordering queries by the leading bits of their keys, so that neighbours read the same cache
   lines. */
#ifndef SIMDB_SEARCH_PARTITION_H
#define SIMDB_SEARCH_PARTITION_H

#include <stddef.h>
#include <stdint.h>

enum { PARTITION_BITS = 16 }; /* the counters just fit the second-level cache */

/* Order `keys` by their top bits, as many bits as pay for `count` keys; numbers[i] is the former
   place of sorted[i].  `places` is scratch memory for 2**PARTITION_BITS numbers. */
void search_partition(const uint64_t *keys, size_t count, uint64_t *sorted, uint32_t *numbers,
                      uint32_t *places);

#endif
