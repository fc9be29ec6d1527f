#include "probing.h"

enum {
    LINE = 8,          /* keys in a cache line */
    FETCHED_MAX = 256, /* keys of a bucket that are prefetched */
    CROWD_MIN = 3,     /* least queries for which comparing them with a range together pays */
    TILE = 4096        /* keys that fit the first-level cache while all queries are compared */
};

void search_begin(struct search_probing *probing, const struct search_tables *tables,
                  const struct search_request *request, uint8_t *done,
                  struct search_found *found)
{
    probing->tables = tables;
    probing->request = request;
    probing->found = found;
    probing->done = done;
    probing->is_returned = NULL;
    probing->probe_count = probing->bucket_count = probing->pending_count = 0;
    probing->range_count = probing->noted_count = probing->located_count = 0;
    found->count = 0;
    if (done != NULL)
        memset(done, 0, request->count);
}

static void accept(struct search_probing *probing, uint32_t query, uint32_t ordinal,
                   uint32_t distance)
{
    const struct search_tables *tables = probing->tables;

    if (probing->request->after != NULL && ordinal <= probing->request->after[query])
        return;
    if (search_is_left_out(&tables->filter, ordinal) || search_is_done(probing, query))
        return;
    if (probing->done != NULL)
        probing->done[query]++;
    search_add(probing->found, query, distance, ordinal);
}

static void accept_pending(struct search_probing *probing)
{
    for (size_t i = 0; i < probing->pending_count; i++) {
        const struct search_pending *pending = &probing->pending[i];
        accept(probing, pending->query, *pending->ordinal, pending->distance);
    }
    probing->pending_count = 0;
}

/* Measure the fingerprints that were located, and accept the matches. */
static void accept_located(struct search_probing *probing)
{
    for (size_t i = 0; i < probing->located_count; i++) {
        const struct search_located *located = &probing->located[i];
        const struct search_column *column = located->column;
        uint64_t difference = *located->fingerprint ^ probing->request->queries[located->query];
        uint32_t distance = (uint32_t)__builtin_popcountll(difference);
        if (distance > probing->request->distance)
            continue;
        if (probing->is_returned != NULL) {
            search_kernel->permute(&difference, 1, probing->tables->masks[column->table],
                                   &difference);
            if (!probing->is_returned(probing, column, located->query, difference))
                continue;
        }
        accept(probing, located->query, located->ordinal, distance);
    }
    probing->located_count = 0;
}

/* Locate the fingerprints of noted entries; accept the entries located before.  A damaged ordinal
   hides an entry but cannot lead beyond the fingerprints. */
static void locate_noted(struct search_probing *probing)
{
    accept_located(probing);
    for (size_t i = 0; i < probing->noted_count; i++) {
        const struct search_noted *noted = &probing->noted[i];
        const struct search_column *column = noted->column;
        uint64_t place = *noted->ordinal - column->first;
        uint64_t within = ((uint64_t)1 << column->segment_bits) - 1;
        if (place >= column->stored)
            continue;
        const uint64_t *fingerprint =
            column->segments[place >> column->segment_bits] + (place & within);
        __builtin_prefetch(fingerprint);
        probing->located[probing->located_count++] =
            (struct search_located){column, fingerprint, *noted->ordinal, noted->query};
    }
    probing->noted_count = 0;
}

/* Note the entries of some ranges whose tags are near. */
static void note(struct search_probing *probing, const struct search_tag_hits *hits)
{
    for (size_t i = 0; i < hits->count; i++) {
        const struct search_tag_range *range = &probing->ranges[hits->list[i].range];
        const struct search_column *column = range->column;
        const uint32_t *ordinal = column->ordinals + (hits->list[i].place - column->tags);
        __builtin_prefetch(ordinal);
        if (probing->noted_count == SEARCH_PENDING)
            locate_noted(probing);
        probing->noted[probing->noted_count++] =
            (struct search_noted){column, ordinal, range->query};
    }
}

/* Compare the tags of all ranges. */
static void measure_tags(struct search_probing *probing)
{
    size_t finished = 0;

    locate_noted(probing);
    while (finished < probing->range_count) {
        struct search_tag_range *range = &probing->ranges[finished];
        struct search_tag_hits hits = {probing->tag_hits, 0, SEARCH_PENDING};
        if (search_is_done(probing, range->query))
            range->start = range->stop;
        /* Hits have indices of ranges that are counted from `range`. */
        size_t some = search_kernel->measure_tags(range, probing->range_count - finished, &hits);
        for (size_t i = 0; i < hits.count; i++)
            hits.list[i].range += (uint32_t)finished;
        note(probing, &hits);
        finished += some;
    }
    probing->range_count = 0;
}

/* Keep the hits that their table returns, and prefetch their ordinals.  Which hits are kept cannot
   be predicted, and the ordinals are read later, many at a time. */
static void keep_returned(struct search_probing *probing, const struct search_bucket *buckets,
                          const struct search_hits *hits)
{
    for (size_t i = 0; i < hits->count; i++) {
        const struct search_hit *hit = &hits->list[i];
        const struct search_bucket *bucket = &buckets[hit->bucket];
        const struct search_column *column = bucket->column;
        const uint32_t *ordinal = column->ordinals + (hit->place - column->keys);
        int is_returned = probing->is_returned == NULL || column == &probing->tables->delta
            || probing->is_returned(probing, column, bucket->query,
                                    *hit->place ^ bucket->wanted.key);
        __builtin_prefetch(ordinal);
        probing->pending[probing->pending_count] =
            (struct search_pending){ordinal, bucket->query, hit->distance};
        probing->pending_count += is_returned != 0;
        if (probing->pending_count == SEARCH_PENDING)
            accept_pending(probing);
    }
}

void search_measure_buckets(struct search_probing *probing, struct search_bucket *buckets,
                            size_t count)
{
    struct search_hits hits = {probing->hits, 0, SEARCH_HITS};

    /* If a few matches are enough, measure few keys before looking for matches among them.  Do not
       wait for their ordinals: they are read when the next buckets are measured. */
    if (probing->done != NULL) {
        hits.capacity = 2 * SEARCH_HITS_MIN;
        accept_pending(probing);
    }
    while (count > 0) {
        hits.count = 0;
        size_t finished = search_kernel->measure(buckets, count, &hits);
        keep_returned(probing, buckets, &hits);
        buckets += finished;
        count -= finished;
        if (count > 0 && probing->done != NULL) {
            accept_pending(probing);
            if (search_is_done(probing, buckets->query))
                buckets->start = buckets->stop;
        }
    }
}

void search_measure(struct search_probing *probing)
{
    search_measure_buckets(probing, probing->buckets, probing->bucket_count);
    probing->bucket_count = 0;
    if (probing->range_count + probing->noted_count + probing->located_count > 0)
        measure_tags(probing);
}

/* Measure all buckets, which share one range. */
static void measure_crowd(struct search_probing *probing)
{
    struct search_bucket *buckets = probing->buckets;
    size_t count = probing->bucket_count;

    while (count > 0) {
        struct search_hits hits = {probing->hits, 0, SEARCH_HITS};
        size_t finished = search_kernel->measure_crowd(buckets, count, &hits);
        keep_returned(probing, buckets, &hits);
        buckets += finished;
        count -= finished;
    }
    probing->bucket_count = 0;
}

void search_add_crowd(struct search_probing *probing, const struct search_column *column,
                      struct search_range range, const uint64_t *queries, size_t count,
                      const uint64_t *keys)
{
    int is_crowd = count >= CROWD_MIN;

    if (range.start >= range.stop)
        return;
    if (is_crowd)
        search_measure(probing);
    for (size_t i = 0; i < count; i++) {
        uint32_t query = (uint32_t)queries[i];
        search_add_bucket(probing, column, range, search_all_bits(probing, keys[query]), query);
        if (probing->bucket_count < SEARCH_GROUP)
            continue;
        if (is_crowd)
            measure_crowd(probing);
        else
            search_measure(probing);
    }
    if (is_crowd)
        measure_crowd(probing);
}

/* The middle goes to the second-level cache, where it does not evict the ends of other buckets. */
void search_fetch_long(const struct search_column *column, struct search_range range,
                       uint64_t *fetched)
{
    const uint64_t *start = column->keys + range.start, *stop = column->keys + range.stop;

    if (stop - start > FETCHED_MAX)
        stop = start + FETCHED_MAX;
    for (const uint64_t *line = start + 2 * LINE; line < stop; line += LINE)
        __builtin_prefetch(line, 0, 2);
    *fetched = range.start;
}

/* Prefetch the tags of a header; they are measured later. */
static void add_range(struct search_probing *probing, const struct search_probe *probe,
                      struct search_range range)
{
    enum { LOADED = 16 };
    const struct search_column *column = probe->column;
    const uint16_t *start = column->tags + range.start, *stop = column->tags + range.stop;
    uint64_t difference = search_entry_of(column, probe->key) ^ probe->first;

    __builtin_prefetch(start);
    __builtin_prefetch(stop - 1);
    probing->ranges[probing->range_count++] = (struct search_tag_range){
        start, stop, column->tags,
        column->count < LOADED ? NULL : column->tags + column->count - LOADED, column, probe->query,
        (uint16_t)(probe->key >> (64 - SEARCH_TAG_BITS - column->width)),
        (uint16_t)(probing->request->distance - (uint32_t)__builtin_popcountll(difference)),
    };
}

void search_add_headers(struct search_probing *probing, const struct search_column *column,
                        uint64_t first, uint32_t spread, uint64_t key, uint32_t query)
{
    uint64_t own = search_entry_of(column, key), last = first + ((uint64_t)1 << spread);

    for (; first < last; first++)
        if ((unsigned)__builtin_popcountll(own ^ first) <= probing->request->distance)
            search_request_probe(probing, (struct search_probe){column, key, first, 0, query},
                                 SEARCH_TAG_GROUP);
}

/* Look up the probes in their directories and prefetch the buckets. */
static void resolve(struct search_probing *probing)
{
    uint64_t fetched = UINT64_MAX;

    for (size_t i = 0; i < probing->probe_count; i++) {
        const struct search_probe *probe = &probing->probes[i];
        struct search_range range = search_range_at(probe->column, probe->first, probe->spread);
        if (range.start >= range.stop || search_is_done(probing, probe->query))
            continue;
        if (probe->column->tags != NULL) {
            add_range(probing, probe, range);
            continue;
        }
        search_fetch(probe->column, range, &fetched);
        search_add_bucket(probing, probe->column, range, search_all_bits(probing, probe->key),
                          probe->query);
    }
    probing->probe_count = 0;
}

void search_turn(struct search_probing *probing)
{
    search_measure(probing);
    resolve(probing);
}

void search_finish(struct search_probing *probing)
{
    search_turn(probing);
    search_measure(probing);
    locate_noted(probing);
    accept_located(probing);
    accept_pending(probing);
}

void search_scan_column(struct search_probing *probing, const struct search_column *column,
                        const uint64_t *keys, const uint64_t *counted, size_t count)
{
    uint64_t last = column->window.last;

    for (uint64_t start = column->window.first; start < last; start += TILE) {
        uint64_t stop = last - start < TILE ? last : start + TILE;
        for (size_t query = 0; query < count; query++) {
            if (search_is_done(probing, (uint32_t)query))
                continue;
            struct search_wanted wanted = search_all_bits(probing, keys[query]);
            if (counted != NULL) {
                wanted.counted = counted[query];
                wanted.most = probing->request->most[query];
            }
            search_add_bucket(probing, column, (struct search_range){start, stop}, wanted,
                              (uint32_t)query);
            if (probing->bucket_count == SEARCH_GROUP)
                search_measure(probing);
        }
    }
    search_measure(probing);
}

void search_gather_sort(const struct search_gathering *gathering, unsigned width)
{
    uint32_t places[(size_t)1 << GATHER_BITS], place = 0;
    unsigned bits = width < GATHER_BITS ? width : GATHER_BITS;
    unsigned shift = 32 + width - bits;

    memset(places, 0, sizeof *places << bits);
    for (size_t i = 0; i < gathering->count; i++)
        places[gathering->probes[i] >> shift]++;
    for (size_t value = 0; value < (size_t)1 << bits; value++) {
        uint32_t entries = places[value];
        places[value] = place;
        place += entries;
    }
    for (size_t i = 0; i < gathering->count; i++)
        gathering->sorted[places[gathering->probes[i] >> shift]++] = gathering->probes[i];
}

void search_partition(const uint64_t *keys, size_t count, uint64_t *sorted, uint32_t *numbers,
                      uint32_t *places)
{
    unsigned bits = 63 - (unsigned)__builtin_clzll(count | 1);
    uint32_t place = 0;

    bits = bits < 1 ? 1 : bits < PARTITION_BITS ? bits : PARTITION_BITS;
    memset(places, 0, sizeof *places << bits);
    for (size_t i = 0; i < count; i++)
        places[keys[i] >> (64 - bits)]++;
    for (size_t value = 0; value < (size_t)1 << bits; value++) {
        uint32_t entries = places[value];
        places[value] = place;
        place += entries;
    }
    for (size_t i = 0; i < count; i++)
        numbers[places[keys[i] >> (64 - bits)]++] = (uint32_t)i;
    /* Reading from random places in memory costs less than writing there. */
    for (size_t i = 0; i < count; i++)
        sorted[i] = keys[numbers[i]];
}
