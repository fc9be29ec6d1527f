/* One query in the tables of all bands of signatures: documents with an equal key in some band. */
#ifndef SIMDB_SEARCH_BANDS_H
#define SIMDB_SEARCH_BANDS_H

#include <stddef.h>
#include <stdint.h>

#include "lookup.h"

/* Add each document that has the key keys[band] in the runs of bands[band], once for each such
   band.  Documents that `filter` omits are not added.  Stop when more than found->capacity were
   found.  All bits of a key are leading bits; deltas are ignored. */
void search_bands(const struct search_tables *const *bands, const uint64_t *keys, size_t count,
                  const struct search_filter *filter, struct search_found *found);

/* Sort the ordinals that were found, and write each of them once; return the number written.
   `spare` has room for all ranks. */
size_t search_distinct(struct search_found *found, uint64_t *spare, uint32_t *ordinals);

#endif
