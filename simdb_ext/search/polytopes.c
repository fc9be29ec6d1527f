#include "polytopes.h"

#include "kernel.h"
#include "polytope.h"
#include "root.h"

#include <stdlib.h>

enum {
    GROUP = 8,        /* queries that are searched together */
    HELD = 512,       /* probes, and near keys, that wait for their memory */
    WAITING = 96,     /* near keys that wait if a few matches are enough */
    CROWD = 64,       /* keys of the delta that are measured at a time */
    SEEN_BITS = 10,   /* log2 of the number of ordinals that are remembered */
    AHEAD = 8,        /* matches between the request for a vector and its use */
    BATCH = SEARCH_SIFTING, /* queries whose probes are looked up in the order of tables */
    BATCH_LEAST = 2048,     /* least queries for which a batch pays */
    BATCH_BITS = 14,        /* of the index of a query */
    REST_BITS = 32 - BATCH_BITS, /* of a header: the bits that vary within a bin */
    BIN_KEYS = 1 << 14,     /* keys that the headers of a bin lead to, about */
    BINS_MAX = 1024,
    BINNED_MAX = BINS_MAX >> (POLYTOPE_CODE_BITS - REST_BITS), /* columns */
    BATCH_PROBES = 1 << 21, /* probes that wait in bins */
    BATCH_NEAR = 1 << 18    /* near keys that wait in a batch */
};

static const uint32_t FLIPS_UNKNOWN = UINT32_MAX; /* larger than any sum of weights */

/* A header to look up. */
struct probe {
    uint32_t header;
    uint32_t place; /* index of the column * SEARCH_SIFTING + index of the query */
};

/* The prepared queries of a group. */
struct group {
    size_t first; /* index of the first query in the request */
    size_t count;
    uint32_t generation;
    unsigned offset; /* index of the first query in the batch; 0 without a batch */
    uint64_t firm[GROUP]; /* the bits of fingerprints that are compared */
    const struct polytope_limits *limits[GROUP];
    struct search_wanted wanted[GROUP]; /* in the runs */
    struct polytope_unit units[GROUP];
    uint32_t roots[GROUP]; /* of the components of the queries, if there is a forest */
    struct search_weights weights[GROUP];
    uint8_t done[GROUP]; /* matches found so far, if they are counted */
    uint32_t flipped[GROUP]; /* limit on the weights whose signs differ; FLIPS_UNKNOWN at first */
    uint8_t sizes[GROUP][64]; /* of the weights behind the signs of fingerprints */
    int8_t unpacked[GROUP][2 * POLYTOPE_WIDTH_MAX];
};

struct scratch {
    _Alignas(64) int16_t rotated[GROUP][POLYTOPE_TABLES_MAX][POLYTOPE_COORDINATES];
    uint32_t headers[POLYTOPE_HEADERS_ROOM];
    struct probe probes[HELD];
    struct search_stretch stretches[HELD];
    struct search_sifted sifted[HELD];
    struct search_near near[HELD];
    const uint8_t *places[HELD];  /* vectors of the candidates */
    uint32_t ordinals[HELD];      /* ordinals of the candidates */
    uint8_t queries[HELD];        /* indices of the queries of the candidates */
    float similarities[HELD];
    uint64_t seen[1 << SEEN_BITS]; /* generation << 32 | ordinal; an evicted one is found twice */
    uint32_t generation;           /* of the first query of the last group */
    struct group groups[2];        /* the group looked up; the group of a batch that is measured */
};

_Static_assert(BATCH == 1 << BATCH_BITS, "the number of a query has its bits");

/* Probes of one column whose headers begin with the same bits.  Each is the rest of the header <<
   BATCH_BITS | the index of the query. */
struct bin {
    uint32_t *probes;
    size_t count;
};

/* The waiting probes and near keys of many queries. */
struct batch {
    size_t first, count; /* the queries of the request */
    struct search_wanted wanted[BATCH];
    struct bin bins[BINS_MAX];
    size_t bin_count, bin_room;      /* room for probes in each */
    size_t first_bins[BINNED_MAX];   /* index of the first bin of each column */
    unsigned rest_bits[BINNED_MAX];  /* bits of the rest of a header in each column */
    uint32_t ends[BATCH + 1];        /* of the near keys of each query */
    uint32_t probes[BATCH_PROBES];
    struct search_near near[BATCH_NEAR], sorted[BATCH_NEAR];
};

/* A search under way. */
struct searching {
    const struct search_polytopes *tables;
    const struct polytope_request *request;
    struct search_found *found;
    struct scratch *scratch;
    struct group *group;
    struct batch *batch; /* NULL: each group is searched by itself */
    size_t probe_count;
    const struct search_wanted *wanted; /* for the queries of the group or of the batch */
    struct search_near *near;
    size_t near_count, near_room;
    size_t segment; /* of the last vector */
    uint32_t missing;
    int is_missing;
};

size_t search_polytopes_scratch(void)
{
    return sizeof(struct scratch);
}

/* Return the index, within its group, of the query of a place. */
static unsigned query_of(const struct searching *searching, uint32_t place)
{
    return place % SEARCH_SIFTING - searching->group->offset;
}

/* Prepare a group of queries, starting at query `first` of the request. */
static void begin_group(struct searching *searching, size_t first, size_t stop)
{
    const struct polytope_request *request = searching->request;
    struct scratch *scratch = searching->scratch;
    struct group *group = searching->group;
    const struct search_polytopes *tables = searching->tables;
    size_t width = tables->vectors.width;

    group->first = first;
    group->count = stop - first < GROUP ? stop - first : GROUP;
    group->offset = searching->batch == NULL ? 0 : (unsigned)(first - searching->batch->first);
    for (size_t i = 0; i < group->count; i++) {
        const uint8_t *query = request->queries + (first + i) * width;
        group->firm[i] = polytope_firm(query, width);
        group->limits[i] = group->firm[i] == UINT64_MAX ? &request->all : &request->firm;
        group->wanted[i] = (struct search_wanted){
            polytope_fingerprint(query, width), group->firm[i] & UINT64_MAX >> tables->skipped,
            group->limits[i]->distance,
        };
        group->weights[i] = search_unpack(query, width, group->unpacked[i]);
        group->units[i] = polytope_unit_of(group->weights[i].norm, width);
        group->done[i] = 0;
        group->flipped[i] = FLIPS_UNKNOWN;
        if (request->parents != NULL)
            group->roots[i] = find_root(request->parents, request->members[first + i]);
    }
    if (scratch->generation > UINT32_MAX - 2 * GROUP) {
        memset(scratch->seen, 0, sizeof scratch->seen);
        scratch->generation = 0;
    }
    /* Generations begin at 1, because 0 marks an unused slot. */
    scratch->generation += scratch->generation == 0 ? 1 : GROUP;
    group->generation = scratch->generation;
}

/* Rotate the queries of the group for all tables. */
static void rotate_group(struct searching *searching)
{
    const struct search_polytopes *tables = searching->tables;
    const struct group *group = searching->group;

    for (size_t i = 0; i < group->count; i++)
        search_kernel->rotate(
            searching->request->queries + (group->first + i) * tables->vectors.width,
            tables->vectors.width, tables->first_table,
            tables->first_table + tables->table_count, searching->scratch->rotated[i][0]);
}

/* Return whether enough matches of a query have been found. */
static int is_done(const struct searching *searching, unsigned query)
{
    uint8_t enough = searching->request->enough;

    return enough > 0 && searching->group->done[query] >= enough;
}

/* Return whether a query has met this ordinal before; remember the ordinal. */
static int is_seen(struct searching *searching, unsigned query, uint32_t ordinal)
{
    struct scratch *scratch = searching->scratch;
    uint32_t mixed = (ordinal + query * 0x9E3779B9u) * 0x85EBCA6Bu;
    uint64_t *slot = &scratch->seen[mixed >> (32 - SEEN_BITS)];
    uint64_t entry = (uint64_t)(searching->group->generation + query) << 32 | ordinal;

    if (*slot == entry)
        return 1;
    *slot = entry;
    return 0;
}

/* Return whether a document is in the component of a query. */
static int is_joined(const struct searching *searching, unsigned query, uint32_t ordinal)
{
    const struct polytope_request *request = searching->request;

    return request->parents != NULL && ordinal < request->parent_count
           && find_root(request->parents, ordinal) == searching->group->roots[query];
}

/* Return whether only the best matches are wanted and a match is not among them. */
static int is_too_far(const struct search_best *best, uint32_t far, uint32_t ordinal)
{
    return best != NULL && best->count == best->most
           && ((uint64_t)far << 32 | ordinal) >= best->ranks[0];
}

/* Offer a match that may be found several times. */
static void offer_once(struct search_best *best, uint32_t far, uint32_t ordinal)
{
    uint64_t rank = (uint64_t)far << 32 | ordinal;

    if (is_too_far(best, far, ordinal))
        return;
    for (size_t i = 0; i < best->count; i++)
        if (best->ranks[i] == rank)
            return;
    search_offer(best, rank);
}

/* Measure `count` candidates of one query, starting at candidate `start`. */
static void weigh_some(struct searching *searching, size_t start, size_t count)
{
    struct scratch *scratch = searching->scratch;
    struct group *group = searching->group;
    unsigned query = scratch->queries[start];

    search_kernel->weigh(&group->weights[query], scratch->places + start, count,
                         searching->tables->vectors.width, scratch->similarities);
    for (size_t i = 0; i < count; i++) {
        float similarity = scratch->similarities[i];
        if (!(similarity >= searching->request->similarity))
            continue;
        if (is_done(searching, query))
            return;
        group->done[query] += searching->request->enough > 0;
        uint32_t far = search_far_of(similarity), ordinal = scratch->ordinals[start + i];
        if (searching->request->best != NULL)
            offer_once(searching->request->best, far, ordinal);
        else
            search_add(searching->found, (uint32_t)(group->first + query), far, ordinal);
    }
}

/* Fill in the sizes of the weights of a query, and the limit on the weights whose signs differ. */
static void measure_signs(struct searching *searching, unsigned query)
{
    struct group *group = searching->group;
    const struct search_weights *weights = &group->weights[query];
    size_t width = searching->tables->vectors.width;
    uint8_t *sizes = group->sizes[query];
    uint32_t sum = 0;

    for (size_t i = 0; i < 64; i++) {
        int weight = i < width ? weights->low[i] : i < 2 * width ? weights->high[i - width] : 0;
        sizes[i] = (uint8_t)abs(weight);
        sum += group->wanted[query].counted >> i & 1 ? sizes[i] : 0;
    }
    const uint8_t *packed = searching->request->queries + (group->first + query) * width;
    int is_known = polytope_is_usual(packed, width);
    group->flipped[query] = (uint32_t)((is_known ? group->limits[query]->flipped : 1.0) * sum);
}

/* Drop near keys whose signs differ where the weights of the query are large; return the number of
   keys left. */
static size_t drop_flipped(struct searching *searching, struct search_near *near, size_t count)
{
    struct group *group = searching->group;
    size_t kept = 0;

    for (size_t start = 0, stop; start < count; start = stop) {
        unsigned query = query_of(searching, near[start].place);
        for (stop = start + 1; stop < count && query_of(searching, near[stop].place) == query;)
            stop++;
        if (group->flipped[query] == FLIPS_UNKNOWN)
            measure_signs(searching, query);
        memmove(near + kept, near + start, (stop - start) * sizeof *near);
        kept += search_kernel->drop_flipped(near + kept, stop - start, &group->wanted[query],
                                            group->sizes[query], group->flipped[query]);
    }
    return kept;
}

/* Read the ordinals of near keys, and request the memory that says whether they are omitted. */
static void read_ordinals(struct searching *searching, const struct search_near *near, size_t count)
{
    const struct search_polytopes *tables = searching->tables;
    const struct polytope_request *request = searching->request;
    struct scratch *scratch = searching->scratch;

    for (size_t i = 0; i < count; i++)
        __builtin_prefetch(tables->columns[near[i].place / SEARCH_SIFTING].ordinals
                           + near[i].entry);
    for (size_t i = 0; i < count; i++) {
        uint32_t ordinal =
            tables->columns[near[i].place / SEARCH_SIFTING].ordinals[near[i].entry];
        scratch->ordinals[i] = ordinal;
        search_fetch_filter(&tables->filter, ordinal);
        if (request->parents != NULL)
            __builtin_prefetch(request->parents + ordinal);
    }
}

/* Turn near keys, whose ordinals have been read, into candidates, each ordinal once; return their
   number. */
static size_t gather_candidates(struct searching *searching, const struct search_near *near,
                                size_t near_count)
{
    const struct search_polytopes *tables = searching->tables;
    const struct polytope_request *request = searching->request;
    struct scratch *scratch = searching->scratch;
    size_t count = 0;

    for (size_t i = 0; i < near_count; i++) {
        unsigned query = query_of(searching, near[i].place);
        uint32_t ordinal = scratch->ordinals[i];
        size_t number = searching->group->first + query;
        if (is_done(searching, query)
            || (request->members != NULL && ordinal == request->members[number])
            || (request->after != NULL && ordinal <= request->after[number])
            || search_is_left_out(&tables->filter, ordinal)
            || is_too_far(request->best, search_far_of(1), ordinal) /* even an equal document */
            || is_seen(searching, query, ordinal) || is_joined(searching, query, ordinal))
            continue;
        const uint8_t *vector = search_vector_at(&tables->vectors, ordinal, &searching->segment);
        if (vector == NULL) {
            searching->missing = ordinal;
            searching->is_missing = 1;
            break;
        }
        __builtin_prefetch(vector);
        __builtin_prefetch(vector + tables->vectors.width - 1);
        scratch->places[count] = vector;
        scratch->ordinals[count] = ordinal;
        scratch->queries[count++] = (uint8_t)query;
    }
    return count;
}

/* Measure the documents behind at most HELD near keys of the group. */
static void weigh_near(struct searching *searching, struct search_near *near, size_t near_count)
{
    struct scratch *scratch = searching->scratch;

    read_ordinals(searching, near, near_count);
    size_t count = gather_candidates(searching, near, near_count);
    for (size_t start = 0, stop; start < count; start = stop) {
        for (stop = start + 1; stop < count && scratch->queries[stop] == scratch->queries[start];
             stop++)
            ;
        weigh_some(searching, start, stop - start);
    }
}

/* Measure the documents behind near keys of runs, after dropping keys with large differences. */
static void weigh_runs(struct searching *searching, struct search_near *near, size_t count)
{
    if (searching->request->all.flipped < 1 || searching->request->firm.flipped < 1)
        count = drop_flipped(searching, near, count);
    weigh_near(searching, near, count);
}

/* Order the near keys of a batch by their queries. */
static void sort_near(struct searching *searching)
{
    struct batch *batch = searching->batch;

    memset(batch->ends, 0, (batch->count + 1) * sizeof *batch->ends);
    for (size_t i = 0; i < searching->near_count; i++)
        batch->ends[batch->near[i].place % SEARCH_SIFTING + 1]++;
    for (size_t query = 0; query < batch->count; query++)
        batch->ends[query + 1] += batch->ends[query];
    /* ends[q] is the start of the keys of query q, and becomes their end. */
    for (size_t i = 0; i < searching->near_count; i++)
        batch->sorted[batch->ends[batch->near[i].place % SEARCH_SIFTING]++] = batch->near[i];
}

/* Measure the documents behind the near keys of a batch, group by group. */
static void weigh_batch(struct searching *searching)
{
    struct batch *batch = searching->batch;
    struct group *group = searching->group;
    size_t start = 0;

    sort_near(searching);
    searching->group = &searching->scratch->groups[1];
    for (size_t query = 0; query < batch->count; query += GROUP) {
        size_t last = query + GROUP < batch->count ? query + GROUP : batch->count;
        size_t stop = batch->ends[last - 1];
        if (start < stop)
            begin_group(searching, batch->first + query, batch->first + batch->count);
        for (size_t some; start < stop && !searching->is_missing; start += some) {
            some = stop - start < HELD ? stop - start : HELD;
            weigh_runs(searching, batch->sorted + start, some);
        }
    }
    searching->group = group;
}

/* Measure the documents behind the near keys that wait. */
static void weigh_held(struct searching *searching)
{
    if (searching->batch == NULL)
        weigh_runs(searching, searching->near, searching->near_count);
    else
        weigh_batch(searching);
    searching->near_count = 0;
}

/* Sift the keys of some stretches. */
static void sift_stretches(struct searching *searching, size_t count)
{
    const struct polytope_column *columns = searching->tables->columns;
    struct search_stretch *stretches = searching->scratch->stretches;
    const struct search_sifted *list = searching->scratch->sifted;

    while (count > 0 && !searching->is_missing) {
        size_t room = searching->near_room - searching->near_count, sifted;
        size_t finished = search_kernel->sift(
            stretches, count, searching->wanted, searching->scratch->sifted,
            room < HELD ? room : HELD, &sifted);
        for (size_t i = 0; i < sifted; i++)
            searching->near[searching->near_count++] = (struct search_near){
                *list[i].key,
                (uint32_t)(list[i].key - columns[list[i].place / SEARCH_SIFTING].keys),
                list[i].place,
            };
        stretches += finished;
        count -= finished;
        if (searching->near_room - searching->near_count < SEARCH_SIFTED_MIN)
            weigh_held(searching);
        /* Once a query has enough matches, the rest of its stretches need not be sifted. */
        while (count > 0 && is_done(searching, query_of(searching, stretches->place))) {
            stretches++;
            count--;
        }
    }
}

/* Add the entries under a header to `count` stretches, unless there are none; return the number. */
static size_t add_stretch(struct searching *searching, size_t count, size_t number, uint32_t header,
                          uint32_t place)
{
    const struct polytope_column *column = &searching->tables->columns[number];
    uint64_t start = column->directory[header], stop = column->directory[header + 1];

    stop = stop < column->count ? stop : column->count;
    searching->scratch->stretches[count] = (struct search_stretch){
        column->keys + start, (uint32_t)(stop - start), place,
    };
    __builtin_prefetch(column->keys + start);
    __builtin_prefetch(column->keys + stop - 1);
    return count + (start < stop);
}

/* Look up the waiting headers of the group, and measure the documents that they lead to. */
static void look_up_held(struct searching *searching)
{
    const struct probe *probes = searching->scratch->probes;
    size_t count = 0;

    for (size_t i = 0; i < searching->probe_count; i++)
        count = add_stretch(searching, count, probes[i].place / SEARCH_SIFTING, probes[i].header,
                            probes[i].place);
    searching->probe_count = 0;
    sift_stretches(searching, count);
    weigh_held(searching);
}

/* Look up the headers of one bin of a column, and sift the entries that they lead to. */
static void look_up_bin(struct searching *searching, size_t number, size_t at)
{
    struct batch *batch = searching->batch;
    struct bin *bin = &batch->bins[at];
    uint32_t first = (uint32_t)(at - batch->first_bins[number]) << batch->rest_bits[number];

    for (size_t start = 0, stop; start < bin->count && !searching->is_missing; start = stop) {
        size_t count = 0;
        stop = bin->count - start < HELD ? bin->count : start + HELD;
        for (size_t i = start; i < stop; i++)
            count = add_stretch(searching, count, number, first | bin->probes[i] >> BATCH_BITS,
                                (uint32_t)number * SEARCH_SIFTING
                                    + bin->probes[i] % SEARCH_SIFTING);
        sift_stretches(searching, count);
    }
    bin->count = 0;
}

/* Let headers of one query in one table of a run wait. */
static void add_probes(struct searching *searching, size_t run, size_t table, unsigned query,
                       const uint32_t *headers, size_t count)
{
    const struct polytope_run *own = &searching->tables->runs[run];
    size_t number = run * searching->tables->table_count + table;
    const uint32_t *directory = searching->tables->columns[number].directory;
    struct scratch *scratch = searching->scratch;

    for (size_t i = 0; i < count; i++) {
        if (headers[i] - own->start >= own->length)
            continue;
        if (searching->probe_count == HELD) {
            look_up_held(searching);
            if (searching->is_missing || is_done(searching, query))
                return;
        }
        __builtin_prefetch(directory + headers[i]);
        __builtin_prefetch(directory + headers[i] + 1);
        scratch->probes[searching->probe_count++] =
            (struct probe){headers[i], (uint32_t)(number * SEARCH_SIFTING + query)};
    }
}

/* Let headers of one query of a batch wait in the bins of a column. */
static void fill_bins(struct searching *searching, size_t run, size_t table, unsigned query,
                      const uint32_t *headers, size_t count)
{
    const struct polytope_run *own = &searching->tables->runs[run];
    struct batch *batch = searching->batch;
    size_t number = run * searching->tables->table_count + table;
    unsigned rest_bits = batch->rest_bits[number];
    uint32_t rest = (1u << rest_bits) - 1;

    for (size_t i = 0; i < count; i++) {
        if (headers[i] - own->start >= own->length)
            continue;
        size_t at = batch->first_bins[number] + (headers[i] >> rest_bits);
        struct bin *bin = &batch->bins[at];
        bin->probes[bin->count++] = (headers[i] & rest) << BATCH_BITS | query;
        if (bin->count == batch->bin_room)
            look_up_bin(searching, number, at);
    }
}

/* Look up the headers of one query in one table of all runs. */
static void probe_table(struct searching *searching, size_t table, unsigned query)
{
    struct scratch *scratch = searching->scratch;
    const struct polytope_run *runs = searching->tables->runs;
    const float *thresholds = searching->request->thresholds;
    const int16_t *own = scratch->rotated[query][table];

    for (size_t run = 0, count = 0; run < searching->tables->run_count; run++) {
        unsigned width = runs[run].width;
        if (run == 0 || width != runs[run - 1].width || thresholds[run] != thresholds[run - 1]) {
            const struct polytope_unit *unit = &searching->group->units[query];
            int32_t cut = polytope_cut(thresholds[run], unit, own, width);
            count = search_kernel->near_headers(own, width, cut, scratch->headers);
        }
        if (searching->batch == NULL)
            add_probes(searching, run, table, query, scratch->headers, count);
        else
            fill_bins(searching, run, table, searching->group->offset + query, scratch->headers,
                      count);
    }
}

/* Look up the headers of the queries themselves in all runs. */
static void probe_own(struct searching *searching)
{
    const struct search_polytopes *tables = searching->tables;
    struct scratch *scratch = searching->scratch;

    for (unsigned query = 0; query < searching->group->count; query++)
        for (size_t table = 0; table < tables->table_count; table++) {
            uint32_t code = search_kernel->encode(scratch->rotated[query][table]);
            for (size_t run = 0; run < tables->run_count; run++) {
                uint32_t header = code >> (POLYTOPE_CODE_BITS - tables->runs[run].width);
                add_probes(searching, run, table, query, &header, 1);
            }
        }
    look_up_held(searching);
}

/* Compare the queries with all documents of the delta. */
static void scan_delta(struct searching *searching)
{
    const struct search_polytopes *tables = searching->tables;
    size_t number = tables->run_count * tables->table_count;
    const struct polytope_column *delta = &tables->columns[number];
    struct group *group = searching->group;
    struct search_bucket buckets[GROUP];
    struct search_hit list[CROWD];
    struct search_hits hits = {list, 0, CROWD};
    struct search_near near[CROWD];
    size_t start = 0;

    for (size_t i = 0; i < group->count; i++)
        buckets[i] = (struct search_bucket){
            delta->keys, delta->keys + delta->count,
            {group->wanted[i].key, group->firm[i], group->limits[i]->delta_distance}, NULL,
            (uint32_t)i,
        };
    while (start < group->count && !searching->is_missing) {
        size_t finished =
            search_kernel->measure_crowd(buckets + start, group->count - start, &hits);
        for (size_t i = 0; i < hits.count; i++) {
            uint32_t query = buckets[start + hits.list[i].bucket].query;
            near[i] = (struct search_near){
                *hits.list[i].place, (uint32_t)(hits.list[i].place - delta->keys),
                (uint32_t)(number * SEARCH_SIFTING + group->offset + query),
            };
        }
        weigh_near(searching, near, hits.count);
        hits.count = 0;
        start += finished;
    }
}

/* Find the matches of the queries of a group; with a batch, only matches in the delta. */
static void search_group_of(struct searching *searching)
{
    const struct search_polytopes *tables = searching->tables;
    const struct group *group = searching->group;

    rotate_group(searching);
    if (tables->columns[tables->run_count * tables->table_count].count > 0)
        scan_delta(searching);
    if (searching->request->enough > 0)
        probe_own(searching);
    for (unsigned query = 0; query < group->count; query++)
        for (size_t table = 0; table < tables->table_count; table++)
            if (!is_done(searching, query) && !searching->is_missing)
                probe_table(searching, table, query);
}

/* Divide each column into bins according to its number of keys; return whether there are enough
   bins. */
static int divide_columns(const struct search_polytopes *tables, struct batch *batch)
{
    size_t columns = tables->run_count * tables->table_count, bins = BINS_MAX + 1;

    for (uint64_t keys = BIN_KEYS; columns <= BINNED_MAX && bins > BINS_MAX; keys *= 2) {
        bins = 0;
        for (size_t i = 0; i < columns; i++) {
            unsigned width = tables->runs[i / tables->table_count].width;
            unsigned rest = width < REST_BITS ? width : REST_BITS;
            while (rest > 0 && tables->columns[i].count >> (width - rest) > keys)
                rest--;
            batch->first_bins[i] = bins;
            batch->rest_bits[i] = rest;
            bins += (size_t)1 << (width - rest);
        }
    }
    batch->bin_count = bins;
    batch->bin_room = bins > 0 ? BATCH_PROBES / bins : 0;
    for (size_t i = 0; i < bins && bins <= BINS_MAX; i++)
        batch->bins[i] = (struct bin){batch->probes + i * batch->bin_room, 0};
    return bins <= BINS_MAX;
}

/* Find the matches of some queries.  All probes into the same part of a table follow each other, so
   that much of its memory is still in the cache. */
static void search_batch(struct searching *searching, size_t first, size_t count)
{
    struct batch *batch = searching->batch;
    size_t columns = searching->tables->run_count * searching->tables->table_count;

    batch->first = first;
    batch->count = count;
    for (size_t query = 0; query < count && !searching->is_missing; query += GROUP) {
        begin_group(searching, first + query, first + count);
        memcpy(batch->wanted + query, searching->group->wanted,
               searching->group->count * sizeof *batch->wanted);
        search_group_of(searching);
    }
    for (size_t at = 0, number = 0; at < batch->bin_count && !searching->is_missing; at++) {
        number += number + 1 < columns && at == batch->first_bins[number + 1];
        look_up_bin(searching, number, at);
    }
    weigh_held(searching);
}

int search_polytopes(const struct search_polytopes *tables, const struct polytope_request *request,
                     void *scratch, struct search_found *found, uint32_t *missing)
{
    struct scratch *own = scratch;
    struct searching searching = {
        .tables = tables, .request = request, .found = found, .scratch = own,
        .group = &own->groups[0], .wanted = own->groups[0].wanted, .near = own->near,
        /* If a few matches are enough, measuring more candidates at a time is mostly wasted. */
        .near_room = request->enough > 0 ? WAITING : HELD,
    };
    struct batch *batch = NULL;

    found->count = 0;
    if (request->count >= BATCH_LEAST && request->enough == 0)
        batch = malloc(sizeof *batch);
    if (batch != NULL && divide_columns(tables, batch)) {
        searching.batch = batch;
        searching.wanted = batch->wanted;
        searching.near = batch->near;
        searching.near_room = BATCH_NEAR;
        for (size_t first = 0, some; first < request->count && !searching.is_missing;
             first += some) {
            some = request->count - first < BATCH ? request->count - first : BATCH;
            search_batch(&searching, first, some);
        }
    } else {
        for (size_t first = 0; first < request->count && !searching.is_missing; first += GROUP) {
            begin_group(&searching, first, request->count);
            search_group_of(&searching);
            look_up_held(&searching);
        }
    }
    free(batch);
    *missing = searching.missing;
    return !searching.is_missing;
}

size_t search_drop_repeated(uint64_t *ranks, size_t count, int64_t *offsets, int first)
{
    size_t kept = 0, place = 0;

    for (size_t i = 0; i < count; i++) {
        size_t begin = kept, stop = (size_t)(offsets[i + 1] - offsets[0]);
        for (; place < stop; place++)
            if (kept == begin || (!first && ranks[kept - 1] != ranks[place]))
                ranks[kept++] = ranks[place];
        offsets[i + 1] = offsets[0] + (int64_t)kept;
    }
    return kept;
}

void search_vector_distances(const struct search_vectors *vectors, const uint8_t *queries,
                             size_t count, const int64_t *offsets, const uint32_t *ordinals,
                             uint8_t *distances)
{
    const uint8_t *places[AHEAD];
    size_t total = (size_t)offsets[count], near = 0, fetched = 0;

    for (size_t query = 0; query < count; query++) {
        uint64_t own = 0;
        if (offsets[query] < offsets[query + 1])
            own = polytope_fingerprint(queries + query * vectors->width, vectors->width);
        for (size_t i = (size_t)offsets[query]; i < (size_t)offsets[query + 1]; i++) {
            for (; fetched < total && fetched < i + AHEAD; fetched++) {
                places[fetched % AHEAD] = search_vector_at(vectors, ordinals[fetched], &near);
                __builtin_prefetch(places[fetched % AHEAD]);
            }
            distances[i] = (uint8_t)__builtin_popcountll(
                own ^ polytope_fingerprint(places[i % AHEAD], vectors->width));
        }
    }
}
