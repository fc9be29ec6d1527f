/* Matches of queries under the headers that similar documents are likely to have: Probabilistic
   Simhash Matching (Sood & Loguinov 2011, section 4) with one table, volatility multi-probe with
   several.

   The sets of header bits that are cheap to flip together are enumerated for each query, table and
   directory width.  Each set gives one range of keys to search.  The sets are all sets within a
   cost, in any order, or the first ones in the order of VOSH. */
#ifndef SIMDB_SEARCH_PROBE_H
#define SIMDB_SEARCH_PROBE_H

#include "kernel.h"
#include "lookup.h"

/* The bits of the queries that may flip, and their costs. */
struct search_volatility {
    const uint8_t *levels; /* 64 for each query */
    struct search_flips flips;
    size_t table_count; /* number of tables that are searched: the first ones */
    unsigned width;     /* limit on the bits of a header; a directory may have more */
    int is_ordered; /* whether to ignore theta and take the first `flips.cap` sets of VOSH */
};

struct search_probe_scratch {
    uint64_t *keys;  /* one for each query */
    uint64_t *sets;
    size_t sets_room; /* at least search_sets_room(cap) */
    int16_t *limits; /* for each column and query; NULL if one table is searched, or if sets are
                        taken in order, where several tables may find the same match */
    uint64_t *headers; /* one for each column, if there are limits */
    uint8_t *done;   /* for each query; NULL unless only the first match is wanted */
    uint64_t *gathered; /* room for 2 * GATHERED_MAX; NULL: probe query by query */
};

/* Find the matches of the queries.  The flips of the request are ignored. */
void search_probe(const struct search_tables *tables, const struct search_request *request,
                  const struct search_volatility *volatility,
                  const struct search_probe_scratch *scratch, struct search_found *found);

/* Write to counts[i] the number of headers that query i looks up in the run with most entries. */
void search_count_probes(const struct search_tables *tables,
                         const struct search_volatility *volatility, size_t count, uint64_t *sets,
                         int64_t *counts);

#endif
