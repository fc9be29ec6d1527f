/* What lookups and probes share: probes become buckets, buckets are measured, and what is near
   enough is accepted unless it is dead, too early, or not to be returned by its table.

   Memory is asked for one step before it is used, for a group of probes at a time. */
#ifndef SIMDB_SEARCH_PROBING_H
#define SIMDB_SEARCH_PROBING_H

#include "kernel.h"
#include "lookup.h"

enum {
    SEARCH_GROUP = 16,  /* probes whose memory is fetched together */
    SEARCH_HITS = 256,  /* found at a time */
    SEARCH_PENDING = 64 /* whose ordinals are fetched together */
};

/* One range of keys to be looked at. */
struct search_probe {
    const struct search_column *column;
    uint64_t key;
    uint64_t first; /* directory entry where the bucket begins */
    uint32_t spread; /* log2 of how many entries it takes */
    uint32_t query;
};

/* A match, unless its ordinal is not wanted. */
struct search_pending {
    const uint32_t *ordinal;
    uint32_t query;
    uint32_t distance;
};

/* A search under way. */
struct search_probing {
    const struct search_tables *tables;
    const struct search_request *request;
    struct search_found *found;
    uint8_t *done;

    /* Whether a table is to return what differs so from the query; NULL: always. */
    int (*is_returned)(const struct search_probing *probing, const struct search_column *column,
                       uint32_t query, uint64_t difference);

    size_t probe_count, bucket_count, pending_count;
    struct search_probe probes[SEARCH_GROUP];
    struct search_bucket buckets[SEARCH_GROUP];
    struct search_hit hits[SEARCH_HITS];
    struct search_pending pending[SEARCH_PENDING];
};

/* Positions in a column. */
struct search_range {
    uint64_t start, stop;
};

static inline int search_is_done(const struct search_probing *probing, uint32_t query)
{
    return probing->done != NULL && probing->done[query];
}

void search_begin(struct search_probing *probing, const struct search_tables *tables,
                  const struct search_request *request, uint8_t *done,
                  struct search_found *found);

/* Measure the buckets of the probes before, during which the directories arrive. */
void search_turn(struct search_probing *probing);

/* Measure all buckets and keep what is found. */
void search_measure(struct search_probing *probing);

/* Have one range of keys compared with those of some queries, whose numbers are the lower halves of
   `queries`. */
void search_add_crowd(struct search_probing *probing, const struct search_column *column,
                      struct search_range range, const uint64_t *queries, size_t count,
                      const uint64_t *keys);

/* Measure whatever has been probed for, and have all matches accepted. */
void search_finish(struct search_probing *probing);

/* Compare all keys of a column with all queries, given as keys of the column. */
void search_scan_column(struct search_probing *probing, const struct search_column *column,
                        const uint64_t *keys, size_t count);

/* Whether the window has the bucket that begins at number `first` of the directory. */
static inline int search_is_inside(const struct search_column *column, uint64_t first)
{
    return first - column->window.start < column->window.length;
}

static inline struct search_range search_range_at(const struct search_column *column,
                                                  uint64_t first, uint32_t spread)
{
    uint64_t start = column->directory[first];
    uint64_t stop = column->directory[first + ((uint64_t)1 << spread)];

    /* A damaged directory may miss keys but not lead out of them. */
    return (struct search_range){start, stop < column->count ? stop : column->count};
}

/* Have a range fetched; `fetched` is where the long one before began, which need not be again. */
void search_fetch_long(const struct search_column *column, struct search_range range,
                       uint64_t *fetched);

static inline void search_fetch(const struct search_column *column, struct search_range range,
                                uint64_t *fetched)
{
    enum { LINE = 8, LONG = 4 * LINE }; /* keys of a cache line; of a bucket that is long */

    __builtin_prefetch(column->keys + range.start);
    __builtin_prefetch(column->keys + range.stop - 1);
    if (range.stop - range.start > LINE)
        __builtin_prefetch(column->keys + range.start + LINE);
    if (range.stop - range.start > LONG && range.start != *fetched)
        search_fetch_long(column, range, fetched);
}

static inline void search_add_bucket(struct search_probing *probing,
                                     const struct search_column *column,
                                     struct search_range range, uint64_t key, uint32_t query)
{
    probing->buckets[probing->bucket_count++] = (struct search_bucket){
        column->keys + range.start, column->keys + range.stop, key, column, query,
    };
}

/* Probe for the keys that 2**spread entries of the directory tell of, from number `first` on. */
static inline void search_add_probe(struct search_probing *probing,
                                    const struct search_column *column, uint64_t first,
                                    uint32_t spread, uint64_t key, uint32_t query)
{
    struct search_probe *probe = &probing->probes[probing->probe_count];

    if (!search_is_inside(column, first))
        return;
    probe->column = column;
    probe->key = key;
    probe->first = first;
    probe->spread = spread;
    probe->query = query;
    __builtin_prefetch(column->directory + first);
    __builtin_prefetch(column->directory + first + ((uint64_t)1 << spread));
    if (++probing->probe_count == SEARCH_GROUP)
        search_turn(probing);
}

#endif
