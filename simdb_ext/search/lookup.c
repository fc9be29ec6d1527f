#include "lookup.h"

#include "kernel.h"
#include "partition.h"

enum {
    GROUP = 16,        /* probes whose memory is fetched together */
    HITS = 256,        /* found at a time */
    PENDING = 64,      /* whose ordinals are fetched together */
    SORTED_MIN = 1024, /* queries from which on sorting may pay, */
    SHARING = 16,      /* and does, with a query for so many values of a header */
    AHEAD = 16,        /* sorted queries between asking for memory and using it */
    LINE = 8,          /* keys of a cache line */
    LONG = 4 * LINE,   /* a bucket of more keys than this is long */
    FETCHED_MAX = 256, /* keys of a bucket that are fetched in advance */
    TILE = 4096        /* keys that stay in the first-level cache while queries pass */
};

struct probe {
    const struct search_column *column;
    uint64_t key;
    uint64_t first; /* directory entry where the bucket begins */
    uint32_t query;
};

/* A match, unless its ordinal is not wanted. */
struct pending {
    const uint32_t *ordinal;
    uint32_t query;
    uint32_t distance;
};

/* A lookup under way. */
struct probing {
    const struct search_tables *tables;
    const struct search_request *request;
    struct search_found *found;
    unsigned flips; /* allowed among the bits that lead */
    uint8_t *done;
    size_t probe_count, bucket_count, pending_count;
    struct probe probes[GROUP];
    struct search_bucket buckets[GROUP];
    struct search_hit hits[HITS];
    struct pending pending[PENDING];
};

void search_prepare_column(struct search_column *column, uint64_t mask, uint64_t directory_length)
{
    uint32_t leading = (uint32_t)__builtin_popcountll(mask);
    uint32_t header_bits = 63 - (uint32_t)__builtin_clzll(directory_length - 1);
    uint32_t width = leading < header_bits ? leading : header_bits;

    column->shift = 64 - width;
    column->spread = header_bits - width;
}

static int is_done(const struct probing *probing, uint32_t query)
{
    return probing->done != NULL && probing->done[query];
}

static int has_at_most(uint64_t word, unsigned bits)
{
    for (; word != 0; word &= word - 1)
        if (bits-- == 0)
            return 0;
    return 1;
}

/* Whether the bits that lead in `column` differ in at most `flips`, and those of no earlier one. */
static int is_reached_here(const struct probing *probing, const struct search_column *column,
                           uint64_t difference)
{
    const uint64_t *masks = probing->tables->masks;
    uint64_t original;

    if (column == &probing->tables->loose)
        return 1;
    original = search_kernel->restore(difference, masks[column->table]);
    for (size_t table = 0; table < column->table; table++)
        if (has_at_most(original & masks[table], probing->flips))
            return 0;
    return has_at_most(original & masks[column->table], probing->flips);
}

static void accept(struct probing *probing, const struct pending *pending)
{
    const struct search_tables *tables = probing->tables;
    uint32_t query = pending->query, ordinal = *pending->ordinal;

    if (probing->request->after != NULL && ordinal <= probing->request->after[query])
        return;
    if (search_marked(tables->dead, tables->dead_bytes, ordinal) || is_done(probing, query))
        return;
    if (probing->done != NULL)
        probing->done[query] = 1;
    search_add(probing->found, query, pending->distance, ordinal);
}

static void accept_pending(struct probing *probing)
{
    for (size_t i = 0; i < probing->pending_count; i++)
        accept(probing, &probing->pending[i]);
    probing->pending_count = 0;
}

/* Have the ordinals fetched of those hits that their table is to return.  They are looked at
   when they are many, or at once where a match makes further work unnecessary. */
static void keep_reached(struct probing *probing, const struct search_bucket *buckets,
                         const struct search_hits *hits)
{
    for (size_t i = 0; i < hits->count; i++) {
        const struct search_hit *hit = &hits->list[i];
        const struct search_bucket *bucket = &buckets[hit->bucket];
        const struct search_column *column = bucket->column;
        const uint32_t *ordinal = column->ordinals + (hit->place - column->keys);
        if (!is_reached_here(probing, column, *hit->place ^ bucket->key))
            continue;
        __builtin_prefetch(ordinal);
        probing->pending[probing->pending_count++] =
            (struct pending){ordinal, bucket->query, hit->distance};
        if (probing->pending_count == PENDING)
            accept_pending(probing);
    }
    if (probing->done != NULL)
        accept_pending(probing);
}

/* Measure all buckets and keep what is found. */
static void measure(struct probing *probing)
{
    struct search_bucket *buckets = probing->buckets;
    size_t count = probing->bucket_count;
    struct search_hits hits = {probing->hits, 0, HITS};

    /* Where one match is enough, look at few before asking whether it was among them. */
    if (probing->done != NULL)
        hits.capacity = 2 * SEARCH_HITS_MIN;
    while (count > 0) {
        hits.count = 0;
        size_t finished = search_kernel->measure(buckets, count, probing->request->distance, &hits);
        keep_reached(probing, buckets, &hits);
        buckets += finished;
        count -= finished;
        if (count > 0 && is_done(probing, buckets->query))
            buckets->start = buckets->stop;
    }
    probing->bucket_count = 0;
}

static void add_bucket(struct probing *probing, const struct search_column *column, uint64_t start,
                       uint64_t stop, uint64_t key, uint32_t query)
{
    probing->buckets[probing->bucket_count++] = (struct search_bucket){
        column->keys + start, column->keys + stop, key, column, query,
    };
}

/* Have the middle of a long bucket fetched to where it does not drive out the ends of others. */
static void fetch_middle(const uint64_t *start, const uint64_t *stop)
{
    if (stop - start > FETCHED_MAX)
        stop = start + FETCHED_MAX;
    for (const uint64_t *line = start + 2 * LINE; line < stop; line += LINE)
        __builtin_prefetch(line, 0, 2);
}

/* The directory entry where the keys begin that lead like `header`. */
static inline uint64_t first_entry(const struct search_column *column, uint64_t header)
{
    return (column->shift < 64 ? header >> column->shift : 0) << column->spread;
}

struct range {
    uint64_t start, stop;
};

static inline struct range range_at(const struct search_column *column, uint64_t first)
{
    uint64_t start = column->directory[first];
    uint64_t stop = column->directory[first + ((uint64_t)1 << column->spread)];

    /* A damaged directory may miss keys but not lead out of them. */
    return (struct range){start, stop < column->count ? stop : column->count};
}

/* Have a range fetched; `fetched` is where the long one before began, which need not be again. */
static inline void fetch(const struct search_column *column, struct range range, uint64_t *fetched)
{
    __builtin_prefetch(column->keys + range.start);
    __builtin_prefetch(column->keys + range.start + LINE);
    __builtin_prefetch(column->keys + range.stop - 1);
    if (range.stop - range.start > LONG && range.start != *fetched) {
        fetch_middle(column->keys + range.start, column->keys + range.stop);
        *fetched = range.start;
    }
}

/* Look the probes up in their directories, and have the buckets fetched. */
static void resolve(struct probing *probing)
{
    uint64_t fetched = UINT64_MAX;

    for (size_t i = 0; i < probing->probe_count; i++) {
        const struct probe *probe = &probing->probes[i];
        struct range range = range_at(probe->column, probe->first);
        if (range.start >= range.stop || is_done(probing, probe->query))
            continue;
        fetch(probe->column, range, &fetched);
        add_bucket(probing, probe->column, range.start, range.stop, probe->key, probe->query);
    }
    probing->probe_count = 0;
}

/* Measure the buckets of the probes before, during which the directories arrive. */
static void turn(struct probing *probing)
{
    measure(probing);
    resolve(probing);
}

static void finish(struct probing *probing)
{
    turn(probing);
    measure(probing);
    accept_pending(probing);
}

/* Probe for the keys that lead like `header`, which is `key` with some bits flipped. */
static inline void add_probe(struct probing *probing, const struct search_column *column,
                             uint64_t header, uint64_t key, uint32_t query)
{
    struct probe *probe = &probing->probes[probing->probe_count];

    probe->column = column;
    probe->key = key;
    probe->first = first_entry(column, header);
    probe->query = query;
    __builtin_prefetch(column->directory + probe->first);
    __builtin_prefetch(column->directory + probe->first + ((uint64_t)1 << column->spread));
    if (++probing->probe_count == GROUP)
        turn(probing);
}

/* The next larger word with as many bits set, or 0. */
static uint64_t next_flip_set(uint64_t set)
{
    uint64_t lowest = set & -set, carried = set + lowest;

    return carried == 0 ? 0 : carried | (set ^ carried) >> 2 >> __builtin_ctzll(set);
}

/* Probe for all headers with at most as many bits flipped as requested, the fewest first. */
static void add_probes(struct probing *probing, const struct search_column *column, uint64_t key,
                       uint32_t query)
{
    unsigned width = 64 - column->shift, flips = probing->flips;

    add_probe(probing, column, key, key, query);
    for (unsigned size = 1; size <= flips && size <= width; size++) {
        uint64_t set = ~(uint64_t)0 >> (64 - size);
        while (set != 0 && set >> (width - 1) <= 1 && !is_done(probing, query)) {
            add_probe(probing, column, key ^ set << column->shift, key, query);
            set = next_flip_set(set);
        }
    }
}

/* Probe for the headers of sorted keys.  Their directory entries and buckets follow each other in
   memory, so that nothing but the buckets need be asked for in advance. */
static void probe_sorted(struct probing *probing, const struct search_column *column,
                         const uint64_t *keys, const uint32_t *numbers, size_t count)
{
    uint64_t fetched = UINT64_MAX;

    finish(probing);
    for (size_t i = 0; i < count; i++) {
        struct range range = range_at(column, first_entry(column, keys[i]));
        if (i + AHEAD < count)
            fetch(column, range_at(column, first_entry(column, keys[i + AHEAD])), &fetched);
        if (range.start >= range.stop || is_done(probing, numbers[i]))
            continue;
        add_bucket(probing, column, range.start, range.stop, keys[i], numbers[i]);
        if (probing->bucket_count == GROUP)
            measure(probing);
    }
    measure(probing);
}

static void probe_table(struct probing *probing, size_t table, const uint64_t *keys,
                        const uint32_t *numbers, size_t count)
{
    const struct search_tables *tables = probing->tables;

    for (size_t run = 0; run < tables->run_count; run++) {
        const struct search_column *column = &tables->columns[run * tables->table_count + table];
        if (numbers != NULL && probing->flips == 0) {
            probe_sorted(probing, column, keys, numbers, count);
            continue;
        }
        for (size_t i = 0; i < count; i++) {
            uint32_t query = numbers != NULL ? numbers[i] : (uint32_t)i;
            if (!is_done(probing, query))
                add_probes(probing, column, keys[i], query);
        }
    }
}

/* Compare all keys of a column with all queries, given as keys of the column. */
static void scan_column(struct probing *probing, const struct search_column *column,
                        const uint64_t *keys, size_t count)
{
    for (uint64_t start = 0; start < column->count; start += TILE) {
        uint64_t stop = column->count - start < TILE ? column->count : start + TILE;
        for (size_t query = 0; query < count; query++) {
            if (is_done(probing, (uint32_t)query))
                continue;
            add_bucket(probing, column, start, stop, keys[query], (uint32_t)query);
            if (probing->bucket_count == GROUP)
                measure(probing);
        }
    }
    measure(probing);
}

static void begin(struct probing *probing, const struct search_tables *tables,
                  const struct search_request *request, const struct search_scratch *scratch,
                  struct search_found *found)
{
    probing->tables = tables;
    probing->request = request;
    probing->found = found;
    probing->flips = request->flips;
    probing->done = scratch->done;
    probing->probe_count = probing->bucket_count = probing->pending_count = 0;
    found->count = 0;
    if (scratch->done != NULL)
        memset(scratch->done, 0, request->count);
}

/* Whether so many queries are likely to share cache lines of the table when they are sorted. */
static int is_worth_sorting(const struct search_tables *tables, size_t table, size_t count)
{
    for (size_t run = 0; run < tables->run_count; run++) {
        unsigned width = 64 - tables->columns[run * tables->table_count + table].shift;
        if (count >= SORTED_MIN && count * SHARING >> width > 0)
            return 1;
    }
    return 0;
}

void search_lookup(const struct search_tables *tables, const struct search_request *request,
                   const struct search_scratch *scratch, struct search_found *found)
{
    struct probing probing;
    size_t count = request->count;

    begin(&probing, tables, request, scratch, found);
    scan_column(&probing, &tables->loose, request->queries, count);
    for (size_t table = 0; table < tables->table_count; table++) {
        search_kernel->permute(request->queries, count, tables->masks[table], scratch->keys);
        if (is_worth_sorting(tables, table, count)) {
            search_partition(scratch->keys, count, scratch->sorted, scratch->numbers,
                             scratch->places);
            probe_table(&probing, table, scratch->sorted, scratch->numbers, count);
        } else {
            probe_table(&probing, table, scratch->keys, NULL, count);
        }
    }
    finish(&probing);
}

void search_scan(const struct search_tables *tables, const struct search_request *request,
                 const struct search_scratch *scratch, struct search_found *found)
{
    struct probing probing;

    begin(&probing, tables, request, scratch, found);
    /* Only the first table is scanned, and it reaches everything. */
    probing.flips = 64;
    scan_column(&probing, &tables->loose, request->queries, request->count);
    search_kernel->permute(request->queries, request->count, tables->masks[0], scratch->keys);
    for (size_t run = 0; run < tables->run_count; run++)
        scan_column(&probing, &tables->columns[run * tables->table_count], scratch->keys,
                    request->count);
    finish(&probing);
}
