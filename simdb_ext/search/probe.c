#include "probe.h"

#include "probing.h"

enum {
    AHEAD = 16,   /* gathered probes between the request for memory and its use */
    BLOCK = 256,  /* queries whose dearer sets wait until the cheaper sets are probed */
    CROWDED = 12, /* least keys per header for which gathering the probes pays */
    FEW = 8       /* queries below which waiting takes longer than probing for all sets, and
                     finding candidates takes longer than they save */
};

/* The state of one call of search_probe. */
struct flipping {
    struct search_probing probing;
    const struct search_volatility *volatility;
    const struct search_probe_scratch *scratch;
    struct search_candidates candidates; /* if sets are taken in order */
};

/* A part of a table: its runs whose headers have one width. */
struct part {
    size_t table;
    size_t run; /* the first of these runs */
    unsigned width;
};

static const struct search_column *column_at(const struct search_tables *tables, size_t run,
                                             size_t table)
{
    return &tables->columns[run * tables->table_count + table];
}

/* Return the number of header bits of a key. */
static inline unsigned width_of(const struct flipping *flipping,
                                const struct search_column *column)
{
    unsigned most = flipping->volatility->width;

    return column->width < most ? column->width : most;
}

/* Return a mask of the bits of a fingerprint that are its header in a column. */
static inline uint64_t header_bits(const struct flipping *flipping,
                                   const struct search_column *column)
{
    unsigned width = width_of(flipping, column);

    if (width == column->width)
        return column->header;
    if (width == 0)
        return 0;
    return search_kernel->restore(~(uint64_t)0 << (64 - width),
                                  flipping->probing.tables->masks[column->table]);
}

/* Return the next run of the same part, or the number of runs if there is none. */
static size_t next_run(const struct flipping *flipping, const struct part *part, size_t run)
{
    const struct search_tables *tables = flipping->probing.tables;

    do
        run++;
    while (run < tables->run_count &&
           width_of(flipping, column_at(tables, run, part->table)) != part->width);
    return run;
}

static int is_first_of_width(const struct flipping *flipping, const struct part *part)
{
    const struct search_tables *tables = flipping->probing.tables;

    for (size_t earlier = 0; earlier < part->run; earlier++)
        if (width_of(flipping, column_at(tables, earlier, part->table)) == part->width)
            return 0;
    return 1;
}

/* Return whether a set of bits is empty or costs at most `limit`. */
static int is_affordable(const struct search_volatility *volatility, uint32_t query, uint64_t set,
                         int32_t limit)
{
    const uint8_t *levels = volatility->levels + (size_t)query * 64;
    int32_t total = 0;

    for (; set != 0; set &= set - 1) {
        uint8_t cost = volatility->flips.costs[levels[__builtin_ctzll(set)]];
        total += cost;
        if (cost == SEARCH_NEVER || total > limit)
            return 0;
    }
    return 1;
}

/* Return whether no earlier table reaches a key with this difference from the query. */
static int is_reached_first(const struct search_probing *probing,
                            const struct search_column *column, uint32_t query,
                            uint64_t difference)
{
    const struct flipping *flipping = (const struct flipping *)probing;
    const struct search_tables *tables = probing->tables;
    uint64_t original = search_kernel->restore(difference, tables->masks[column->table]);

    for (const struct search_column *earlier = column - column->table; earlier < column;
         earlier++) {
        size_t number = (size_t)(earlier - tables->columns);
        const int16_t *limits = flipping->scratch->limits + number * probing->request->count;
        if (is_affordable(flipping->volatility, query,
                          original & flipping->scratch->headers[number], limits[query]))
            return 0;
    }
    return 1;
}

static inline uint64_t header_of(unsigned width, uint64_t key)
{
    return width > 0 ? key >> (64 - width) : 0;
}

/* Probe all runs of a part for the headers with each of some sets of bits flipped. */
static void add_probes(struct flipping *flipping, const struct part *part, uint32_t query,
                       const uint64_t *sets, size_t count)
{
    const struct search_tables *tables = flipping->probing.tables;
    uint64_t key = flipping->scratch->keys[query];

    for (size_t run = part->run; run < tables->run_count; run = next_run(flipping, part, run)) {
        const struct search_column *column = column_at(tables, run, part->table);
        uint64_t header = header_of(part->width, key);
        uint32_t spread = column->width - part->width;
        for (size_t i = 0; i < count && !search_is_done(&flipping->probing, query); i++)
            search_add_probe(&flipping->probing, column,
                             (header ^ (uint32_t)sets[i]) << spread, spread, key, query);
    }
}

/* Enumerate the sets of one query, and record the limit on the cost of a set. */
static size_t flip(struct flipping *flipping, const struct part *part, uint32_t query,
                   uint64_t *sets, int32_t *limit)
{
    const struct search_volatility *volatility = flipping->volatility;
    const struct search_tables *tables = flipping->probing.tables;
    const uint8_t *levels = volatility->levels + (size_t)query * 64;
    const uint8_t *order = tables->orders + 64 * part->table;
    int16_t *limits = flipping->scratch->limits;
    size_t count;

    if (volatility->is_ordered)
        return search_kernel->flip_first(&volatility->flips, &flipping->candidates, levels, order,
                                         part->width, sets, limit);
    count = search_kernel->flip(&volatility->flips, levels, order, part->width, sets, limit);

    if (limits == NULL)
        return count;
    limits += part->table * flipping->probing.request->count + query;
    for (size_t run = part->run; run < tables->run_count; run = next_run(flipping, part, run))
        limits[run * tables->table_count * flipping->probing.request->count] = (int16_t)*limit;
    return count;
}

/* Move the sets that cost at most half of `limit` to the front; return their number. */
static size_t cheaper_first(uint64_t *sets, size_t count, int32_t limit)
{
    uint64_t bound = (uint64_t)(limit / 2 + 1) << 32;
    size_t cheaper = 0;

    for (size_t i = 0; i < count; i++) {
        uint64_t set = sets[i];
        sets[i] = sets[cheaper];
        sets[cheaper] = set;
        cheaper += set < bound;
    }
    return cheaper;
}

static void probe_part_singly(struct flipping *flipping, const struct part *part)
{
    uint64_t *sets = flipping->scratch->sets;
    int32_t limit = 0;

    for (size_t query = 0; query < flipping->probing.request->count; query++) {
        size_t count = flip(flipping, part, (uint32_t)query, sets, &limit);
        if (flipping->probing.done != NULL)
            cheaper_first(sets, count, limit);
        add_probes(flipping, part, (uint32_t)query, sets, count);
    }
}

/* Return the directory entry at which the keys of a gathered probe begin. */
static inline uint64_t first_of(uint64_t probe, uint32_t spread)
{
    return probe >> 32 << spread;
}

/* Return how many of `count` sorted probes, at least one, have the header of the first. */
static size_t count_same(const uint64_t *probes, size_t count)
{
    size_t same = 1;

    while (same < count && probes[same] >> 32 == probes[0] >> 32)
        same++;
    return same;
}

/* Probe all runs of a part for the gathered headers. */
static void probe_gathered(struct flipping *flipping, const struct part *part,
                           struct search_gathering *gathering)
{
    const struct search_tables *tables = flipping->probing.tables;
    const uint64_t *probes = gathering->sorted;
    size_t count = gathering->count;

    search_gather_sort(gathering, part->width);
    search_finish(&flipping->probing);
    for (size_t run = part->run; run < tables->run_count; run = next_run(flipping, part, run)) {
        const struct search_column *column = column_at(tables, run, part->table);
        uint32_t spread = column->width - part->width;
        uint64_t fetched = UINT64_MAX;
        if (column->tags != NULL) {
            for (size_t i = 0; i < count; i++)
                search_add_probe(&flipping->probing, column, first_of(probes[i], spread), spread,
                                 flipping->scratch->keys[(uint32_t)probes[i]], (uint32_t)probes[i]);
            continue;
        }
        for (size_t i = 0, same; i < count; i += same) {
            uint64_t first = first_of(probes[i], spread);
            uint64_t ahead = first_of(probes[i + AHEAD < count ? i + AHEAD : i], spread);
            same = count_same(probes + i, count - i);
            if (search_is_inside(column, ahead))
                search_fetch(column, search_range_at(column, ahead, spread), &fetched);
            if (search_is_inside(column, first))
                search_add_crowd(&flipping->probing, column, search_range_at(column, first, spread),
                                 probes + i, same, flipping->scratch->keys);
        }
        search_measure(&flipping->probing);
    }
    gathering->count = 0;
}

/* Probe a part for all sets of all queries, in the order of headers. */
static void probe_part_gathered(struct flipping *flipping, const struct part *part)
{
    uint64_t *sets = flipping->scratch->sets;
    uint64_t *room = flipping->scratch->gathered;
    struct search_gathering gathering = {room, room + GATHERED_MAX, 0};
    int32_t limit = 0;

    for (size_t query = 0; query < flipping->probing.request->count; query++) {
        size_t count = flip(flipping, part, (uint32_t)query, sets, &limit);
        uint64_t header = header_of(part->width, flipping->scratch->keys[query]);
        uint64_t *probes = gathering.probes + gathering.count;
        if (GATHERED_MAX - gathering.count < count) {
            probe_gathered(flipping, part, &gathering);
            probes = gathering.probes;
        }
        for (size_t i = 0; i < count; i++)
            probes[i] = (header ^ (uint32_t)sets[i]) << 32 | query;
        gathering.count += count;
    }
    probe_gathered(flipping, part, &gathering);
}

/* Probe a part for all sets of all queries; its number of keys per header decides the method. */
static void probe_part(struct flipping *flipping, const struct part *part)
{
    const struct search_tables *tables = flipping->probing.tables;
    uint64_t keys = 0;

    for (size_t run = part->run; run < tables->run_count; run = next_run(flipping, part, run)) {
        uint64_t count = column_at(tables, run, part->table)->count;
        keys = count > keys ? count : keys;
    }
    if (flipping->scratch->gathered != NULL && keys >> part->width >= CROWDED)
        probe_part_gathered(flipping, part);
    else
        probe_part_singly(flipping, part);
}

/* Probe a part for the headers of the queries themselves. */
static void probe_unflipped(struct flipping *flipping, const struct part *part)
{
    const uint64_t nothing = 0;

    for (size_t query = 0; query < flipping->probing.request->count; query++)
        add_probes(flipping, part, (uint32_t)query, &nothing, 1);
}

/* Some queries, and the sets of each that have not been probed yet. */
struct block {
    uint32_t queries[BLOCK];
    const uint64_t *sets[BLOCK];
    size_t counts[BLOCK];
    size_t count;
};

/* Probe for the cheaper sets, without the empty one, of the queries that have room in the block,
   starting at `query`; return the next query. */
static size_t probe_cheaper(struct flipping *flipping, const struct part *part, size_t query,
                            struct block *block)
{
    const struct search_probe_scratch *scratch = flipping->scratch;
    size_t used = 0, wanted = search_sets_room(flipping->volatility->flips.cap);

    for (block->count = 0; query < flipping->probing.request->count; query++) {
        uint64_t *sets = scratch->sets + used;
        int32_t limit = 0;
        if (search_is_done(&flipping->probing, (uint32_t)query))
            continue;
        if (block->count == BLOCK || scratch->sets_room - used < wanted)
            break;
        size_t count = flip(flipping, part, (uint32_t)query, sets, &limit) - 1;
        size_t cheaper = cheaper_first(++sets, count, limit);
        add_probes(flipping, part, (uint32_t)query, sets, cheaper);
        block->queries[block->count] = (uint32_t)query;
        block->sets[block->count] = sets + cheaper;
        block->counts[block->count++] = count - cheaper;
        used += count + 1;
    }
    return query;
}

/* Probe a part for all sets except the empty one, until each query has a match. */
static void probe_flipped(struct flipping *flipping, const struct part *part)
{
    struct block block;
    size_t query = 0;

    search_finish(&flipping->probing);
    while (query < flipping->probing.request->count) {
        query = probe_cheaper(flipping, part, query, &block);
        search_finish(&flipping->probing);
        for (size_t i = 0; i < block.count; i++)
            add_probes(flipping, part, block.queries[i], block.sets[i], block.counts[i]);
    }
}

/* Call `act` with each part of the tables that are searched. */
static void for_all_parts(struct flipping *flipping,
                          void (*act)(struct flipping *, const struct part *))
{
    const struct search_tables *tables = flipping->probing.tables;
    const struct search_request *request = flipping->probing.request;

    for (size_t table = 0; table < flipping->volatility->table_count; table++) {
        search_kernel->permute(request->queries, request->count, tables->masks[table],
                               flipping->scratch->keys);
        for (size_t run = 0; run < tables->run_count; run++) {
            struct part part = {table, run, width_of(flipping, column_at(tables, run, table))};
            if (is_first_of_width(flipping, &part))
                act(flipping, &part);
        }
    }
}

void search_probe(const struct search_tables *tables, const struct search_request *request,
                  const struct search_volatility *volatility,
                  const struct search_probe_scratch *scratch, struct search_found *found)
{
    struct flipping flipping;

    flipping.volatility = volatility;
    flipping.scratch = scratch;
    if (volatility->is_ordered)
        search_find_candidates(&flipping.candidates,
                               request->count < FEW ? 0 : volatility->flips.cap,
                               request->distance);
    search_begin(&flipping.probing, tables, request, scratch->done, found);
    search_scan_column(&flipping.probing, &tables->delta, request->queries, NULL,
                       request->count);
    if (scratch->done != NULL && request->count >= FEW) {
        for_all_parts(&flipping, probe_unflipped);
        for_all_parts(&flipping, probe_flipped);
    } else {
        if (scratch->limits != NULL) {
            flipping.probing.is_returned = is_reached_first;
            for (size_t i = 0; i < tables->run_count * tables->table_count; i++)
                scratch->headers[i] = header_bits(&flipping, &tables->columns[i]);
        }
        for_all_parts(&flipping, probe_part);
    }
    search_finish(&flipping.probing);
}

void search_count_probes(const struct search_tables *tables,
                         const struct search_volatility *volatility, size_t count, uint64_t *sets,
                         int64_t *counts)
{
    size_t largest = 0;
    struct flipping flipping;
    int32_t limit = 0;

    flipping.volatility = volatility;
    memset(counts, 0, count * sizeof *counts);
    for (size_t run = 1; run < tables->run_count; run++)
        if (column_at(tables, run, 0)->count > column_at(tables, largest, 0)->count)
            largest = run;
    if (tables->run_count == 0)
        return;
    for (size_t table = 0; table < volatility->table_count; table++)
        for (size_t query = 0; query < count; query++)
            counts[query] += (int64_t)search_kernel->flip(
                &volatility->flips, volatility->levels + 64 * query, tables->orders + 64 * table,
                width_of(&flipping, column_at(tables, largest, table)), sets, &limit);
}
