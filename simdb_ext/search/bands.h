/* One query in the tables of all bands of signatures: the documents with an equal key in a band. */
#ifndef SIMDB_SEARCH_BANDS_H
#define SIMDB_SEARCH_BANDS_H

#include <stddef.h>
#include <stdint.h>

#include "lookup.h"

/* Add the documents that have the key keys[band] in the runs of bands[band], except those that
   `filter` leaves out, once for each such band, until more than found->capacity were found.  All
   bits of a key lead; tables without runs, and their deltas, add nothing. */
void search_bands(const struct search_tables *const *bands, const uint64_t *keys, size_t count,
                  const struct search_filter *filter, struct search_found *found);

/* Sort the ordinals that were found and write each of them once; return how many there are.
   `spare` has room for all ranks. */
size_t search_distinct(struct search_found *found, uint64_t *spare, uint32_t *ordinals);

#endif
