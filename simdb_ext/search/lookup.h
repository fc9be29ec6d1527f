/* Matches of queries in the runs of all tables.

   Probes become buckets, and the keys of buckets are measured.  A near key is accepted unless its
   document is deleted, its ordinal is too low, its table does not reach it, or an earlier table
   reaches it.  Each table has its own number of bits that may be flipped. */
#ifndef SIMDB_SEARCH_LOOKUP_H
#define SIMDB_SEARCH_LOOKUP_H

#include <stddef.h>
#include <stdint.h>

#include "found.h"

enum { SEARCH_TAG_BITS = 16 };

/* The part of a run that is searched.  Lookups take the buckets that begin at `length` directory
   entries, starting at `start`; a scan takes the positions from `first` to `last`. */
struct search_window {
    uint64_t start, length;
    uint64_t first, last;
};

/* One run in one table.

   A table of headers has no keys.  The directory implies the header of an entry, and its tag has
   the 16 bits of the key that follow.  The whole fingerprint is found by its ordinal. */
struct search_column {
    const uint64_t *keys; /* NULL in a table of headers */
    const uint16_t *tags; /* NULL in a table of keys */
    const uint32_t *ordinals;
    const uint32_t *directory;
    uint64_t count;
    const uint64_t *const *segments; /* fingerprints by ordinal */
    uint32_t segment_bits;           /* log2 of the fingerprints in each segment but the last */
    uint64_t first;                  /* ordinal of the first fingerprint */
    uint64_t stored;                 /* fingerprints in all segments */
    struct search_window window;
    uint32_t table;
    uint32_t shift; /* reduces a key to the bits that the directory tells apart; 64: none */
    uint32_t spread; /* log2 of the number of directory entries for one value of those bits */
    uint32_t width;  /* header bits of the directory, for any table */
    uint64_t header; /* mask of the bits of a fingerprint that are the header */
};

struct search_tables {
    const uint64_t *masks;
    const uint8_t *orders; /* 64 bytes for each table */
    size_t table_count;
    const struct search_column *columns; /* run by run, table by table */
    size_t run_count;
    struct search_column delta; /* fingerprints that are not permuted; no directory */
    struct search_filter filter;
};

struct search_request {
    const uint64_t *queries;
    size_t count;
    const uint32_t *after; /* NULL: any ordinal */
    unsigned distance;
    const uint64_t *counted; /* for a scan: the bits of each query that are compared, */
    const uint8_t *most;     /* and how many may differ; NULL: `distance` of all bits */
    const int8_t *flips; /* leading bits that may differ in each table; -1: it is not read */
    uint8_t enough; /* matches after which a query may stop, if the scratch memory has `done` */
};

/* Scratch memory with room for all queries; the lookup of a single query needs only `keys`. */
struct search_scratch {
    uint64_t *keys;
    uint64_t *sorted;
    uint32_t *numbers;
    uint32_t *places; /* 2**PARTITION_BITS numbers */
    uint8_t *done;        /* number of matches of each query; NULL if all are wanted */
};

/* Write, for each of the 64 bits of a key, the highest first, which bit of a fingerprint it is. */
void search_prepare_order(uint8_t *order, uint64_t mask);

/* Search only the entries start .. stop of the directory; all entries if `stop` is 0. */
void search_prepare_window(struct search_column *column, uint64_t start, uint64_t stop,
                           uint64_t directory_length);

/* Fill in the members that follow from other members and from the arguments. */
void search_prepare_column(struct search_column *column, uint64_t mask, uint64_t directory_length);

void search_lookup(const struct search_tables *tables, const struct search_request *request,
                   const struct search_scratch *scratch, struct search_found *found);

void search_scan(const struct search_tables *tables, const struct search_request *request,
                 const struct search_scratch *scratch, struct search_found *found);

/* Compare each query with all fingerprints, and offer them to its best matches.  `keys` has room
   for all queries. */
void search_nearest(const struct search_tables *tables, const uint64_t *queries, size_t count,
                    uint64_t *keys, struct search_best *best);

#endif
