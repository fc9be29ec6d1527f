/* The steps that lookups and probes share.  Probes become buckets, and the keys of buckets are
   measured.  A near key is accepted unless its document is deleted, its ordinal is too low, or
   another table returns it.

   In tables of headers, probes become ranges of tags.  An entry is noted if its header and tag
   together are near.  Then its ordinal is read, and then its fingerprint, which is measured.

   Memory is requested one step before it is used, for a group of probes at a time. */
#ifndef SIMDB_SEARCH_PROBING_H
#define SIMDB_SEARCH_PROBING_H

#include "kernel.h"
#include "lookup.h"

enum {
    SEARCH_GROUP = 16,      /* probes of keys whose memory is fetched together */
    SEARCH_TAG_GROUP = 32,  /* the same for tags, which fill less of the first-level cache */
    SEARCH_HITS = 256,  /* hits collected at a time */
    SEARCH_PENDING = 64, /* hits whose ordinals are fetched together */
    SEARCH_SHARING = 64 /* tables up to which one table may be read for another */
};

/* One range of keys to search. */
struct search_probe {
    const struct search_column *column;
    uint64_t key;
    uint64_t first; /* directory entry where the bucket begins */
    uint32_t spread; /* log2 of the number of directory entries of the bucket */
    uint32_t query;
};

/* An entry of a table of headers whose tag is near; its ordinal has been requested. */
struct search_noted {
    const struct search_column *column;
    const uint32_t *ordinal;
    uint32_t query;
};

/* A noted entry whose fingerprint has been requested. */
struct search_located {
    const struct search_column *column;
    const uint64_t *fingerprint;
    uint32_t ordinal;
    uint32_t query;
};

/* A match, unless its document is omitted. */
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

    /* Return whether a table returns the key with this difference from the query; NULL: always. */
    int (*is_returned)(const struct search_probing *probing, const struct search_column *column,
                       uint32_t query, uint64_t difference);

    /* For a lookup: the table that is read for each table, and, for each table that is read, one
       more than the last table that it is read for. */
    uint8_t readers[SEARCH_SHARING], ends[SEARCH_SHARING];

    size_t probe_count, bucket_count, range_count, pending_count, noted_count, located_count;
    struct search_probe probes[SEARCH_TAG_GROUP];
    struct search_bucket buckets[SEARCH_TAG_GROUP];
    struct search_hit hits[SEARCH_HITS];
    struct search_pending pending[SEARCH_PENDING];
    struct search_tag_range ranges[SEARCH_TAG_GROUP];
    struct search_tag_hit tag_hits[SEARCH_PENDING];
    struct search_noted noted[SEARCH_PENDING];
    struct search_located located[SEARCH_PENDING];
};

/* Positions in a column from `start` to `stop`, half open. */
struct search_range {
    uint64_t start, stop;
};

static inline int search_is_done(const struct search_probing *probing, uint32_t query)
{
    return probing->done != NULL && probing->done[query] >= probing->request->enough;
}

void search_begin(struct search_probing *probing, const struct search_tables *tables,
                  const struct search_request *request, uint8_t *done,
                  struct search_found *found);

/* Measure the buckets of the last group of probes while the directories of this group arrive; then
   look this group up. */
void search_turn(struct search_probing *probing);

/* Measure all buckets and keep the matches. */
void search_measure(struct search_probing *probing);

/* Measure buckets that the caller holds, and keep the matches; the starts of the buckets move. */
void search_measure_buckets(struct search_probing *probing, struct search_bucket *buckets,
                            size_t count);

/* Compare one range of keys with the keys of some queries, whose indices are the lower halves of
   `queries`. */
void search_add_crowd(struct search_probing *probing, const struct search_column *column,
                      struct search_range range, const uint64_t *queries, size_t count,
                      const uint64_t *keys);

/* Measure everything that has been probed for, and accept all matches. */
void search_finish(struct search_probing *probing);

/* Compare all keys of a column with all queries, given as keys of that column.  `counted` are the
   bits of each query that are compared, permuted in the same way; NULL: all bits. */
void search_scan_column(struct search_probing *probing, const struct search_column *column,
                        const uint64_t *keys, const uint64_t *counted, size_t count);

/* Return whether the bucket that begins at directory entry `first` is in the window. */
static inline int search_is_inside(const struct search_column *column, uint64_t first)
{
    return first - column->window.start < column->window.length;
}

static inline struct search_range search_range_at(const struct search_column *column,
                                                  uint64_t first, uint32_t spread)
{
    uint64_t start = column->directory[first];
    uint64_t stop = column->directory[first + ((uint64_t)1 << spread)];

    /* A damaged directory may hide keys but cannot lead beyond them. */
    return (struct search_range){start, stop < column->count ? stop : column->count};
}

/* Prefetch the rest of a long range.  `fetched` becomes its start, so that the same range is not
   fetched twice in a row. */
void search_fetch_long(const struct search_column *column, struct search_range range,
                       uint64_t *fetched);

static inline void search_fetch(const struct search_column *column, struct search_range range,
                                uint64_t *fetched)
{
    enum { LINE = 8, LONG = 4 * LINE }; /* keys in a cache line; keys of a long bucket */

    __builtin_prefetch(column->keys + range.start);
    __builtin_prefetch(column->keys + range.stop - 1);
    if (range.stop - range.start > LINE)
        __builtin_prefetch(column->keys + range.start + LINE);
    if (range.stop - range.start > LONG && range.start != *fetched)
        search_fetch_long(column, range, fetched);
}

/* Return `key` as wanted, with any key near that is within the distance of the request. */
static inline struct search_wanted search_all_bits(const struct search_probing *probing,
                                                   uint64_t key)
{
    return (struct search_wanted){key, ~(uint64_t)0, probing->request->distance};
}

static inline void search_add_bucket(struct search_probing *probing,
                                     const struct search_column *column,
                                     struct search_range range, struct search_wanted wanted,
                                     uint32_t query)
{
    probing->buckets[probing->bucket_count++] = (struct search_bucket){
        column->keys + range.start, column->keys + range.stop, wanted, column, query,
    };
}

/* Return the header of a key, which chooses an entry of the directory. */
static inline uint64_t search_entry_of(const struct search_column *column, uint64_t key)
{
    return column->width > 0 ? key >> (64 - column->width) : 0;
}

/* Probe a table of headers for each of 2**spread directory entries whose header is near. */
void search_add_headers(struct search_probing *probing, const struct search_column *column,
                        uint64_t first, uint32_t spread, uint64_t key, uint32_t query);

/* Request the directory entries of one probe; a group has at most `most` probes. */
static inline void search_request_probe(struct search_probing *probing, struct search_probe probe,
                                        size_t most)
{
    const uint32_t *entry = probe.column->directory + probe.first;

    __builtin_prefetch(entry);
    __builtin_prefetch(entry + ((uint64_t)1 << probe.spread));
    probing->probes[probing->probe_count] = probe;
    if (++probing->probe_count >= most)
        search_turn(probing);
}

/* Probe for the keys of 2**spread directory entries, starting at entry `first`. */
static inline void search_add_probe(struct search_probing *probing,
                                    const struct search_column *column, uint64_t first,
                                    uint32_t spread, uint64_t key, uint32_t query)
{
    if (!search_is_inside(column, first))
        return;
    if (column->tags != NULL)
        search_add_headers(probing, column, first, spread, key, query);
    else
        search_request_probe(probing, (struct search_probe){column, key, first, spread, query},
                             SEARCH_GROUP);
}

/* Probes of many queries, gathered so that probes of the same part of a table follow each other.

   The headers that a query looks up are spread all over a table.  Query by query, a table larger
   than the caches is read again and again.  In the order of headers, each part is read once.  Whole
   queries are ordered by the leading bits of their keys for the same reason. */

enum {
    GATHERED_MAX = 1 << 18, /* probes that are ordered together */
    GATHER_BITS = 14        /* leading bits of headers by which they are ordered */
};

/* Gathered probes, each header << 32 | index of the query. */
struct search_gathering {
    uint64_t *probes; /* room for GATHERED_MAX */
    uint64_t *sorted; /* room for GATHERED_MAX */
    size_t count;
};

/* Order the probes, by the leading bits of their headers of `width` bits, into `sorted`. */
void search_gather_sort(const struct search_gathering *gathering, unsigned width);

enum { PARTITION_BITS = 16 }; /* the counters just fit the second-level cache */

/* Order `keys` by their top bits; more keys are ordered by more bits.  numbers[i] is the former
   place of sorted[i].  `places` is scratch memory for 2**PARTITION_BITS numbers. */
void search_partition(const uint64_t *keys, size_t count, uint64_t *sorted, uint32_t *numbers,
                      uint32_t *places);

#endif
