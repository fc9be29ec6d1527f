/* Matches of queries among the headers that are likely to come of theirs: Probabilistic Simhash
   Matching (Sood & Loguinov 2011, section 4) with one table, volatility multi-probe with several.

   The sets of header bits that are cheap to flip together are enumerated for each query, table and
   width of directory, and each gives one range of keys to look at. */
#ifndef SIMDB_SEARCH_PROBE_H
#define SIMDB_SEARCH_PROBE_H

#include "kernel.h"
#include "lookup.h"

/* How the bits of the queries may flip. */
struct search_volatility {
    const uint8_t *levels; /* 64 of each query */
    struct search_flips flips;
    size_t table_count; /* how many tables are searched, the first ones */
    unsigned width;     /* headers have so many bits at most; directories may tell apart more */
};

struct search_probe_scratch {
    uint64_t *keys;  /* one of each query */
    uint64_t *sets;
    size_t sets_room; /* at least that of search_sets_room */
    int16_t *limits; /* of each column and query; NULL where one table is searched */
    uint64_t *headers; /* one of each column, where there are limits */
    uint8_t *done;   /* of each query; NULL unless only the first match is wanted */
    uint64_t *gathered; /* 2 * GATHERED_MAX; NULL: one query is probed for after another */
};

/* The flips of the request are not used. */
void search_probe(const struct search_tables *tables, const struct search_request *request,
                  const struct search_volatility *volatility,
                  const struct search_probe_scratch *scratch, struct search_found *found);

/* counts[i] is how many headers query i asks for in the run of the most entries. */
void search_count_probes(const struct search_tables *tables,
                         const struct search_volatility *volatility, size_t count, uint64_t *sets,
                         int64_t *counts);

#endif
