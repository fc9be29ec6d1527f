#include "lookup.h"

#include "kernel.h"
#include "probing.h"

enum {
    SORTED_MIN = 1024, /* least number of queries for which sorting may pay */
    SHARING = 16,      /* most header values per query for which sorting pays */
    LINE_BITS = 3      /* log2 of the entries per header at which headers share no cache line */
};

void search_prepare_order(uint8_t *order, uint64_t mask)
{
    const uint64_t parts[2] = {mask, ~mask};

    for (int part = 0; part < 2; part++)
        for (unsigned bit = 64; bit-- > 0;)
            if (parts[part] >> bit & 1)
                *order++ = (uint8_t)bit;
}

void search_prepare_column(struct search_column *column, uint64_t mask, uint64_t directory_length)
{
    uint32_t leading = (uint32_t)__builtin_popcountll(mask);
    uint32_t header_bits = 63 - (uint32_t)__builtin_clzll(directory_length - 1);
    uint32_t width = leading < header_bits ? leading : header_bits;

    column->shift = 64 - width;
    column->spread = header_bits - width;
    column->width = header_bits;
    column->header = 0;
    if (header_bits > 0)
        column->header = search_kernel->restore(~(uint64_t)0 << (64 - header_bits), mask);
}

void search_prepare_window(struct search_column *column, uint64_t start, uint64_t stop,
                           uint64_t directory_length)
{
    column->window = (struct search_window){0, directory_length - 1, 0, column->count};
    if (stop == 0)
        return;
    column->window.start = start;
    column->window.length = stop - start;
    column->window.first = column->directory[start];
    if (column->directory[stop] < column->count)
        column->window.last = column->directory[stop];
}

/* The place of the directory entries of a header.  `shift` reduces a key to the bits that tell
   headers apart, and a header has 2**spread entries. */
struct headers {
    uint32_t shift, spread;
};

/* Return the headers that are looked up: the leading bits of the table, as far as the directory
   tells them apart.  For a distance of 0, all bits of the directory are used: equal fingerprints
   agree in them. */
static inline struct headers headers_of(const struct search_probing *probing,
                                        const struct search_column *column)
{
    if (probing->request->distance == 0)
        return (struct headers){64 - column->width, 0};
    return (struct headers){column->shift, column->spread};
}

/* Return whether two tables have the same bits of fingerprints as headers in all runs.  Then the
   buckets of one hold everything that the other finds without flips. */
static int have_same_headers(const struct search_probing *probing, size_t left, size_t right)
{
    const struct search_tables *tables = probing->tables;

    for (size_t run = 0; run < tables->run_count; run++) {
        const struct search_column *columns = &tables->columns[run * tables->table_count];
        if (columns[left].header != columns[right].header ||
            headers_of(probing, &columns[left]).spread != 0 ||
            headers_of(probing, &columns[right]).spread != 0)
            return 0;
    }
    return 1;
}

/* Choose the table that is read for each table: the first table with the same headers, or the table
   itself.  Different tables can have equal headers, because a header has fewer bits than there are
   leading bits unless the table is very large. */
static void choose_readers(struct search_probing *probing)
{
    const int8_t *flips = probing->request->flips;
    size_t count = probing->tables->table_count;

    for (size_t table = 0; table < count && count <= SEARCH_SHARING; table++) {
        size_t reader = table;
        for (size_t earlier = 0; earlier < table && flips[table] == 0; earlier++)
            if (flips[earlier] == 0 && probing->readers[earlier] == earlier &&
                have_same_headers(probing, earlier, table)) {
                reader = earlier;
                break;
            }
        probing->readers[table] = (uint8_t)reader;
        probing->ends[reader] = (uint8_t)(table + 1);
    }
}

static inline int is_read(const struct search_probing *probing, size_t table)
{
    if (probing->request->flips[table] < 0)
        return 0;
    return probing->tables->table_count > SEARCH_SHARING || probing->readers[table] == table;
}

/* Return whether `column` is read for the first table that reaches the key. */
static int is_reached_first(const struct search_probing *probing,
                            const struct search_column *column, uint32_t query,
                            uint64_t difference)
{
    const struct search_tables *tables = probing->tables;
    int is_sharing = tables->table_count <= SEARCH_SHARING;
    size_t end = is_sharing ? probing->ends[column->table] : column->table + (size_t)1;
    size_t first = search_kernel->first_reached(difference, tables->masks,
                                                probing->request->flips, column->table, end);

    (void)query;
    if (first == end)
        return 0;
    return is_sharing ? probing->readers[first] == column->table : first == column->table;
}

/* Return the directory entry at which the keys with the header of `key` begin. */
static inline uint64_t first_entry(struct headers headers, uint64_t key)
{
    return (headers.shift < 64 ? key >> headers.shift : 0) << headers.spread;
}

/* Return the next larger word with the same number of set bits, or 0 if there is none. */
static uint64_t next_flip_set(uint64_t set)
{
    uint64_t lowest = set & -set, carried = set + lowest;

    return carried == 0 ? 0 : carried | (set ^ carried) >> 2 >> __builtin_ctzll(set);
}

/* The sets of header bits that are flipped in one table, the smaller sets first. */
struct flip_sets {
    uint64_t set; /* the current set, as low bits of a word */
    unsigned size, size_max, width;
};

/* Begin with the empty set.  A key with more flipped bits than the distance is too far anyway. */
static struct flip_sets first_set(const struct search_probing *probing, size_t table,
                                  unsigned width)
{
    unsigned most = (unsigned)probing->request->flips[table];

    if (most > probing->request->distance)
        most = probing->request->distance;
    return (struct flip_sets){0, 0, most < width ? most : width, width};
}

/* Move to the next set; return 0 after the last. */
static int next_set(struct flip_sets *sets)
{
    if (sets->size > 0) {
        sets->set = next_flip_set(sets->set);
        if (sets->set != 0 && sets->set >> (sets->width - 1) <= 1)
            return 1;
    }
    if (sets->size == sets->size_max)
        return 0;
    sets->size++;
    sets->set = ~(uint64_t)0 >> (64 - sets->size);
    return 1;
}

/* Probe for all headers of one key. */
static void add_probes(struct search_probing *probing, const struct search_column *column,
                       uint64_t key, uint32_t query)
{
    struct headers headers = headers_of(probing, column);
    struct flip_sets sets = first_set(probing, column->table, 64 - headers.shift);

    do {
        uint64_t header = sets.size > 0 ? key ^ sets.set << headers.shift : key;
        uint64_t first = first_entry(headers, header);
        search_add_probe(probing, column, first, headers.spread, key, query);
    } while (next_set(&sets) && !search_is_done(probing, query));
}

static inline struct search_range bucket_of(const struct search_column *column,
                                            struct headers headers, uint64_t key)
{
    uint64_t first = first_entry(headers, key);

    if (!search_is_inside(column, first))
        return (struct search_range){0, 0};
    return search_range_at(column, first, headers.spread);
}

static inline void fetch_entries(const struct search_column *column, struct headers headers,
                                 uint64_t key)
{
    const uint32_t *first = column->directory + first_entry(headers, key);

    __builtin_prefetch(first);
    __builtin_prefetch(first + ((uint64_t)1 << headers.spread));
}

/* Write the buckets of some keys, with the bits `flipped` flipped, that are not empty, and request
   their memory; return their number. */
static size_t fetch_buckets(const struct search_probing *probing,
                            const struct search_column *column, const uint64_t *keys,
                            const uint32_t *numbers, size_t count, uint64_t flipped,
                            struct search_bucket *buckets)
{
    struct headers headers = headers_of(probing, column);
    uint64_t fetched = UINT64_MAX;
    size_t held = 0;

    for (size_t i = 0; i < count; i++) {
        struct search_range range = bucket_of(column, headers, keys[i] ^ flipped);
        if (range.start >= range.stop || search_is_done(probing, numbers[i]))
            continue;
        search_fetch(column, range, &fetched);
        buckets[held++] = (struct search_bucket){
            column->keys + range.start, column->keys + range.stop,
            search_all_bits(probing, keys[i]), column, numbers[i],
        };
    }
    return held;
}

/* Probe for one header of each of the sorted keys, with the bits `flipped` flipped.  A group of
   buckets is measured while the memory of the next group arrives.  Directory entries are not
   requested in advance if neighbouring headers share cache lines. */
static void probe_flipped(struct search_probing *probing, const struct search_column *column,
                          const uint64_t *keys, const uint32_t *numbers, size_t count,
                          uint64_t flipped)
{
    struct headers headers = headers_of(probing, column);
    struct search_bucket buckets[2][SEARCH_GROUP];
    size_t held[2] = {0, 0};
    int turn = 0;

    for (size_t start = 0; start < count; start += SEARCH_GROUP, turn ^= 1) {
        size_t left = count - start, some = left < SEARCH_GROUP ? left : SEARCH_GROUP;
        if (headers.spread > LINE_BITS)
            for (size_t i = some; i < left && i < 2 * SEARCH_GROUP; i++)
                fetch_entries(column, headers, keys[start + i] ^ flipped);
        held[turn] = fetch_buckets(probing, column, keys + start, numbers + start, some, flipped,
                                   buckets[turn]);
        search_measure_buckets(probing, buckets[turn ^ 1], held[turn ^ 1]);
    }
    search_measure_buckets(probing, buckets[turn ^ 1], held[turn ^ 1]);
}

/* Probe a table of headers for one header of each of the sorted keys, with the bits `flipped`
   flipped. */
static void probe_tags(struct search_probing *probing, const struct search_column *column,
                       const uint64_t *keys, const uint32_t *numbers, size_t count,
                       uint64_t flipped)
{
    struct headers headers = headers_of(probing, column);

    for (size_t i = 0; i < count; i++)
        if (!search_is_done(probing, numbers[i]))
            search_add_probe(probing, column, first_entry(headers, keys[i] ^ flipped),
                             headers.spread, keys[i], numbers[i]);
}

/* Probe for all headers of sorted keys, one set of flipped bits after another. */
static void probe_sorted(struct search_probing *probing, const struct search_column *column,
                         const uint64_t *keys, const uint32_t *numbers, size_t count)
{
    unsigned shift = headers_of(probing, column).shift;
    struct flip_sets sets = first_set(probing, column->table, 64 - shift);

    search_finish(probing);
    do {
        uint64_t flipped = shift < 64 ? sets.set << shift : 0;
        if (column->tags != NULL)
            probe_tags(probing, column, keys, numbers, count, flipped);
        else
            probe_flipped(probing, column, keys, numbers, count, flipped);
    } while (next_set(&sets));
}

/* Probe for all headers of all keys.  The order by sets pays only if headers lie close together. */
static void probe_table(struct search_probing *probing, size_t table, const uint64_t *keys,
                        const uint32_t *numbers, size_t count)
{
    const struct search_tables *tables = probing->tables;

    for (size_t run = 0; run < tables->run_count; run++) {
        const struct search_column *column = &tables->columns[run * tables->table_count + table];
        int is_far = headers_of(probing, column).spread > LINE_BITS;
        if (numbers != NULL && (probing->request->flips[table] == 0 || !is_far)) {
            probe_sorted(probing, column, keys, numbers, count);
            continue;
        }
        for (size_t i = 0; i < count; i++) {
            uint32_t query = numbers != NULL ? numbers[i] : (uint32_t)i;
            if (!search_is_done(probing, query))
                add_probes(probing, column, keys[i], query);
        }
    }
}

/* Return whether `count` queries will probably share cache lines of the table once they are
   sorted. */
static int is_worth_sorting(const struct search_probing *probing, size_t table, size_t count)
{
    const struct search_tables *tables = probing->tables;

    for (size_t run = 0; run < tables->run_count; run++) {
        const struct search_column *column = &tables->columns[run * tables->table_count + table];
        unsigned width = 64 - headers_of(probing, column).shift;
        if (count >= SORTED_MIN && count * SHARING >> width > 0)
            return 1;
    }
    return 0;
}

void search_lookup(const struct search_tables *tables, const struct search_request *request,
                   const struct search_scratch *scratch, struct search_found *found)
{
    struct search_probing probing;
    size_t count = request->count;

    search_begin(&probing, tables, request, scratch->done, found);
    probing.is_returned = is_reached_first;
    choose_readers(&probing);
    search_scan_column(&probing, &tables->delta, request->queries, request->counted, count);
    for (size_t table = 0; table < tables->table_count; table++) {
        if (!is_read(&probing, table))
            continue;
        search_kernel->permute(request->queries, count, tables->masks[table], scratch->keys);
        if (is_worth_sorting(&probing, table, count)) {
            search_partition(scratch->keys, count, scratch->sorted, scratch->numbers,
                             scratch->places);
            probe_table(&probing, table, scratch->sorted, scratch->numbers, count);
        } else {
            probe_table(&probing, table, scratch->keys, NULL, count);
        }
    }
    search_finish(&probing);
}

void search_scan(const struct search_tables *tables, const struct search_request *request,
                 const struct search_scratch *scratch, struct search_found *found)
{
    struct search_probing probing;
    uint64_t *counted = NULL;

    search_begin(&probing, tables, request, scratch->done, found);
    /* Each table has all entries, so only the first one is scanned. */
    search_scan_column(&probing, &tables->delta, request->queries, request->counted,
                       request->count);
    search_kernel->permute(request->queries, request->count, tables->masks[0], scratch->keys);
    if (request->counted != NULL) {
        counted = scratch->sorted;
        search_kernel->permute(request->counted, request->count, tables->masks[0], counted);
    }
    for (size_t run = 0; run < tables->run_count; run++)
        search_scan_column(&probing, &tables->columns[run * tables->table_count], scratch->keys,
                           counted, request->count);
    search_finish(&probing);
}

enum {
    TILE_FIRST = 64, /* keys of the first tile, all of which may be hits */
    TILE = 2048,     /* keys that fit the first-level cache while all queries are compared */
    HITS = 256
};

/* Compare one tile of a column with one query. */
static void compare_tile(const struct search_tables *tables, const struct search_column *column,
                         uint64_t start, uint64_t stop, uint64_t key, struct search_best *best)
{
    struct search_bucket bucket = {
        column->keys + start, column->keys + stop, {key, ~(uint64_t)0, 0}, column, 0,
    };
    struct search_hit list[HITS];
    size_t finished;

    do {
        struct search_hits hits = {list, 0, HITS};
        uint32_t reach = search_reach(best);
        bucket.wanted.most = reach < 64 ? reach : 64;
        finished = search_kernel->measure(&bucket, 1, &hits);
        for (size_t i = 0; i < hits.count; i++) {
            uint32_t ordinal = column->ordinals[list[i].place - column->keys];
            if (!search_is_left_out(&tables->filter, ordinal))
                search_offer(best, (uint64_t)list[i].distance << 32 | ordinal);
        }
    } while (finished == 0);
}

/* Return whether the search may keep one of some documents; always 1 if codes are ignored. */
static int may_find(const struct search_filter *filter, const uint32_t *ordinals, uint64_t count)
{
    for (uint64_t i = 0; filter->codes != NULL && i < count; i++)
        if (!search_is_left_out(filter, ordinals[i]))
            return 1;
    return filter->codes == NULL;
}

/* Tiles grow: the more keys were compared, the fewer of the next keys are among the best. */
static void compare_column(const struct search_tables *tables, const struct search_column *column,
                           const uint64_t *keys, size_t count, struct search_best *best)
{
    uint64_t last = column->window.last, size = TILE_FIRST, stop;

    for (uint64_t start = column->window.first; start < last; start = stop) {
        stop = last - start < size ? last : start + size;
        size = size < TILE ? 2 * size : TILE;
        if (!may_find(&tables->filter, column->ordinals + start, stop - start))
            continue;
        for (size_t query = 0; query < count; query++)
            compare_tile(tables, column, start, stop, keys[query], &best[query]);
    }
}

void search_nearest(const struct search_tables *tables, const uint64_t *queries, size_t count,
                    uint64_t *keys, struct search_best *best)
{
    compare_column(tables, &tables->delta, queries, count, best);
    search_kernel->permute(queries, count, tables->masks[0], keys);
    /* Each table has all entries, so only the first one is compared. */
    for (size_t run = 0; run < tables->run_count; run++)
        compare_column(tables, &tables->columns[run * tables->table_count], keys, count, best);
}
