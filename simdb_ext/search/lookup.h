/* Matches of queries among the runs of all tables.

   Probe lists become buckets, buckets are measured, and what is near enough is accepted unless it
   is dead, too early, not reached by the table or reached by one before it. */
#ifndef SIMDB_SEARCH_LOOKUP_H
#define SIMDB_SEARCH_LOOKUP_H

#include <stddef.h>
#include <stdint.h>

#include "found.h"

/* The part of a run that is looked at: all buckets that begin at so many entries of the directory
   from `start` on, and the positions that a scan compares. */
struct search_window {
    uint64_t start, length;
    uint64_t first, last;
};

/* One run in one table. */
struct search_column {
    const uint64_t *keys;
    const uint32_t *ordinals;
    const uint32_t *directory;
    uint64_t count;
    struct search_window window;
    uint32_t table;
    uint32_t shift; /* what leaves the bits of a key that the directory can tell apart; 64: none */
    uint32_t spread; /* log2 of the number of directory entries for one value of those bits */
    uint32_t width;  /* of the directory: how many bits it tells apart, whatever the table */
    uint64_t header; /* which bits of a fingerprint those are */
};

struct search_tables {
    const uint64_t *masks;
    const uint8_t *orders; /* 64 of each table */
    size_t table_count;
    const struct search_column *columns; /* run by run, table by table */
    size_t run_count;
    struct search_column loose; /* not permuted, without directory */
    const uint8_t *dead;
    uint64_t dead_bytes;
};

struct search_request {
    const uint64_t *queries;
    size_t count;
    const uint32_t *after; /* NULL: any ordinal */
    unsigned distance;
    unsigned flips;
    int first;
};

/* Room for all queries; a single one needs `keys` only. */
struct search_scratch {
    uint64_t *keys;
    uint64_t *sorted;
    uint32_t *numbers;
    uint32_t *places; /* 2**PARTITION_BITS */
    uint8_t *done;        /* NULL unless only the first match is wanted */
};

/* Which bit of a fingerprint each of the 64 bits of a key is, the highest first. */
void search_prepare_order(uint8_t *order, uint64_t mask);

/* Look only at the entries start .. stop of the directory, all if `stop` is 0. */
void search_prepare_window(struct search_column *column, uint64_t start, uint64_t stop,
                           uint64_t directory_length);

/* Fill in the members that follow from the others. */
void search_prepare_column(struct search_column *column, uint64_t mask, uint64_t directory_length);

void search_lookup(const struct search_tables *tables, const struct search_request *request,
                   const struct search_scratch *scratch, struct search_found *found);

void search_scan(const struct search_tables *tables, const struct search_request *request,
                 const struct search_scratch *scratch, struct search_found *found);

#endif
