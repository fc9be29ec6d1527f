/* The stored fingerprints that are nearest to each query; all of them are compared. */
#ifndef SIMDB_SEARCH_NEAREST_H
#define SIMDB_SEARCH_NEAREST_H

#include <stddef.h>
#include <stdint.h>

#include "found.h"
#include "lookup.h"

/* Offer all fingerprints to the best of each query.  `keys` has room for all queries. */
void search_nearest(const struct search_tables *tables, const uint64_t *queries, size_t count,
                    uint64_t *keys, struct search_best *best);

#endif
