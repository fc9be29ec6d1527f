#include "lookup.h"

#include "kernel.h"
#include "partition.h"
#include "probing.h"

enum {
    SORTED_MIN = 1024, /* queries from which on sorting may pay, */
    SHARING = 16,      /* and does with one query for this many header values */
    AHEAD = 16         /* sorted queries between the request for memory and its use */
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

static int has_at_most(uint64_t word, unsigned bits)
{
    for (; word != 0; word &= word - 1)
        if (bits-- == 0)
            return 0;
    return 1;
}

/* Return whether `column` reaches the key and no earlier table does.  A table reaches a key if at
   most `flips` of the table's leading bits differ. */
static int is_reached_first(const struct search_probing *probing,
                            const struct search_column *column, uint32_t query,
                            uint64_t difference)
{
    const uint64_t *masks = probing->tables->masks;
    unsigned flips = probing->request->flips;
    uint64_t original = search_kernel->restore(difference, masks[column->table]);

    (void)query;
    for (size_t table = 0; table < column->table; table++)
        if (has_at_most(original & masks[table], flips))
            return 0;
    return has_at_most(original & masks[column->table], flips);
}

/* Return the directory entry where the keys begin whose leading bits are those of `header`. */
static inline uint64_t first_entry(const struct search_column *column, uint64_t header)
{
    return (column->shift < 64 ? header >> column->shift : 0) << column->spread;
}

/* Probe for the keys whose leading bits are those of `header`, which is `key` with some bits
   flipped. */
static inline void add_probe(struct search_probing *probing, const struct search_column *column,
                             uint64_t header, uint64_t key, uint32_t query)
{
    search_add_probe(probing, column, first_entry(column, header), column->spread, key, query);
}

/* Return the next larger word with as many bits set, or 0 if there is none. */
static uint64_t next_flip_set(uint64_t set)
{
    uint64_t lowest = set & -set, carried = set + lowest;

    return carried == 0 ? 0 : carried | (set ^ carried) >> 2 >> __builtin_ctzll(set);
}

/* Probe for all headers with at most the requested number of bits flipped, the fewest flips
   first. */
static void add_probes(struct search_probing *probing, const struct search_column *column,
                       uint64_t key, uint32_t query)
{
    unsigned width = 64 - column->shift, flips = probing->request->flips;

    add_probe(probing, column, key, key, query);
    for (unsigned size = 1; size <= flips && size <= width; size++) {
        uint64_t set = ~(uint64_t)0 >> (64 - size);
        while (set != 0 && set >> (width - 1) <= 1 && !search_is_done(probing, query)) {
            add_probe(probing, column, key ^ set << column->shift, key, query);
            set = next_flip_set(set);
        }
    }
}

static inline struct search_range bucket_of(const struct search_column *column, uint64_t key)
{
    uint64_t first = first_entry(column, key);

    if (!search_is_inside(column, first))
        return (struct search_range){0, 0};
    return search_range_at(column, first, column->spread);
}

/* Probe for the headers of sorted keys.  Their directory entries and buckets follow each other in
   memory, so only the buckets are requested in advance. */
static void probe_sorted(struct search_probing *probing, const struct search_column *column,
                         const uint64_t *keys, const uint32_t *numbers, size_t count)
{
    uint64_t fetched = UINT64_MAX;

    search_finish(probing);
    for (size_t i = 0; i < count; i++) {
        struct search_range range = bucket_of(column, keys[i]);
        if (i + AHEAD < count) {
            struct search_range later = bucket_of(column, keys[i + AHEAD]);
            if (later.start < later.stop)
                search_fetch(column, later, &fetched);
        }
        if (range.start >= range.stop || search_is_done(probing, numbers[i]))
            continue;
        search_add_bucket(probing, column, range, keys[i], numbers[i]);
        if (probing->bucket_count == SEARCH_GROUP)
            search_measure(probing);
    }
    search_measure(probing);
}

static void probe_table(struct search_probing *probing, size_t table, const uint64_t *keys,
                        const uint32_t *numbers, size_t count)
{
    const struct search_tables *tables = probing->tables;

    for (size_t run = 0; run < tables->run_count; run++) {
        const struct search_column *column = &tables->columns[run * tables->table_count + table];
        if (numbers != NULL && probing->request->flips == 0) {
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
    struct search_probing probing;
    size_t count = request->count;

    search_begin(&probing, tables, request, scratch->done, found);
    probing.is_returned = is_reached_first;
    search_scan_column(&probing, &tables->delta, request->queries, count);
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
    search_finish(&probing);
}

void search_scan(const struct search_tables *tables, const struct search_request *request,
                 const struct search_scratch *scratch, struct search_found *found)
{
    struct search_probing probing;

    search_begin(&probing, tables, request, scratch->done, found);
    /* Only the first table is scanned: each table has all entries. */
    search_scan_column(&probing, &tables->delta, request->queries, request->count);
    search_kernel->permute(request->queries, request->count, tables->masks[0], scratch->keys);
    for (size_t run = 0; run < tables->run_count; run++)
        search_scan_column(&probing, &tables->columns[run * tables->table_count], scratch->keys,
                    request->count);
    search_finish(&probing);
}
