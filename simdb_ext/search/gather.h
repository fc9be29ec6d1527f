/* Probes of many queries, gathered so that probes of the same part of a table follow each other.

    The headers that a query asks for lie all over a table. Query by query, a table that is larger
   than the caches is read again and again; in the order of headers, each part is read once. Whole
   queries are ordered by the leading bits of their keys for the same reason. */
#ifndef SIMDB_SEARCH_GATHER_H
#define SIMDB_SEARCH_GATHER_H

#include <stddef.h>
#include <stdint.h>

enum {
    GATHERED_MAX = 1 << 18, /* probes that are ordered together */
    GATHER_BITS = 14        /* leading bits of their headers, by which they are ordered */
};

/* Gathered probes.  Each is its header << 32 | the number of its query. */
struct search_gathering {
    uint64_t *probes; /* room for GATHERED_MAX */
    uint64_t *sorted; /* room for as many */
    size_t count;
};

/* Order the probes by the leading bits of their headers, which have `width` bits, into `sorted`. */
void search_gather_sort(const struct search_gathering *gathering, unsigned width);

enum { PARTITION_BITS = 16 }; /* the counters just fit the second-level cache */

/* Order `keys` by their top bits, as many bits as pay for `count` keys; numbers[i] is the former
   place of sorted[i].  `places` is scratch memory for 2**PARTITION_BITS numbers. */
void search_partition(const uint64_t *keys, size_t count, uint64_t *sorted, uint32_t *numbers,
                      uint32_t *places);

#endif
