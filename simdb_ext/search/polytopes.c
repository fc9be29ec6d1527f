#include "polytopes.h"

#include "kernel.h"
#include "polytope.h"
#include "root.h"

#include <stdlib.h>

enum {
    GROUP = SEARCH_SIFTING,
    HELD = 512,       /* probes, and keys near enough, that are held back for their memory */
    WAITING = 96,     /* near keys that are held back where some matches are enough */
    CROWD = 64,       /* keys of the delta that are measured at a time */
    SEEN_BITS = 10,   /* of the number of ordinals that are remembered */
    AHEAD = 8,        /* matches between the request for a vector and its use */
    PART_BITS = 6,    /* signs that are looked up together, */
    PARTS = (64 + PART_BITS - 1) / PART_BITS /* and how often */
};

static const uint32_t FLIPS_UNKNOWN = UINT32_MAX; /* no sum of weights is so large */

/* A header to look up. */
struct probe {
    uint32_t header;
    uint32_t place; /* number of the column * GROUP + number of the query */
};

/* What is known about the queries of a group. */
struct group {
    size_t first; /* number of the first query in the request */
    size_t count;
    uint64_t firm[GROUP]; /* the bits of fingerprints that count */
    const struct polytope_limits *limits[GROUP];
    struct search_wanted wanted[GROUP]; /* in the runs */
    struct polytope_unit units[GROUP];
    uint32_t roots[GROUP]; /* with a forest: of the components of the queries */
    struct search_weights weights[GROUP];
    uint8_t done[GROUP]; /* matches that were found, if they are counted */
    uint32_t flipped[GROUP]; /* the sum of weights whose signs may differ; FLIPS_UNKNOWN */
    uint16_t flips[GROUP][PARTS][1 << PART_BITS]; /* of each set of signs that differ */
    int8_t unpacked[GROUP][2 * POLYTOPE_WIDTH_MAX];
};

struct scratch {
    _Alignas(64) int16_t rotated[GROUP][POLYTOPE_TABLES_MAX][POLYTOPE_COORDINATES];
    uint32_t headers[POLYTOPE_HEADERS_ROOM];
    struct probe probes[HELD];
    struct search_stretch stretches[HELD];
    struct search_sifted sifted[HELD];
    const uint8_t *places[HELD];  /* vectors of the candidates, */
    uint32_t ordinals[HELD];      /* their ordinals */
    uint8_t queries[HELD];        /* and the numbers of their queries */
    float similarities[HELD];
    uint64_t seen[1 << SEEN_BITS]; /* generation << 32 | ordinal; what is lost is found twice */
    uint32_t generation;           /* of the first query of this group */
    struct group group;
};

/* A search under way. */
struct searching {
    const struct search_polytopes *tables;
    const struct polytope_request *request;
    struct search_found *found;
    struct scratch *scratch;
    size_t probe_count, sifted_count;
    size_t near; /* segment of the last vector */
    uint32_t missing;
    int is_missing;
};

size_t search_polytopes_scratch(void)
{
    return sizeof(struct scratch);
}

/* Prepare the next queries. */
static void begin_group(struct searching *searching, size_t first)
{
    const struct polytope_request *request = searching->request;
    struct scratch *scratch = searching->scratch;
    struct group *group = &scratch->group;
    const struct search_polytopes *tables = searching->tables;
    size_t width = tables->vectors.width;

    group->first = first;
    group->count = request->count - first < GROUP ? request->count - first : GROUP;
    for (size_t i = 0; i < group->count; i++) {
        const uint8_t *query = request->queries + (first + i) * width;
        search_kernel->rotate(query, width, tables->first_table,
                              tables->first_table + tables->table_count, scratch->rotated[i][0]);
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
    /* Generations begin at 1, so a slot that was never used has none. */
    scratch->generation += scratch->generation == 0 ? 1 : GROUP;
}

/* Return whether enough matches of a query are found. */
static int is_done(const struct searching *searching, unsigned query)
{
    uint8_t enough = searching->request->enough;

    return enough > 0 && searching->scratch->group.done[query] >= enough;
}

/* Return whether a query has met this ordinal already; remember it. */
static int is_seen(struct scratch *scratch, unsigned query, uint32_t ordinal)
{
    uint32_t mixed = (ordinal + query * 0x9E3779B9u) * 0x85EBCA6Bu;
    uint64_t *slot = &scratch->seen[mixed >> (32 - SEEN_BITS)];
    uint64_t entry = (uint64_t)(scratch->generation + query) << 32 | ordinal;

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
           && find_root(request->parents, ordinal) == searching->scratch->group.roots[query];
}

/* Measure `count` candidates of one query, from candidate `start` on. */
static void weigh_some(struct searching *searching, size_t start, size_t count)
{
    struct scratch *scratch = searching->scratch;
    struct group *group = &scratch->group;
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
        search_add(searching->found, (uint32_t)(group->first + query),
                   search_far_of(similarity), scratch->ordinals[start + i]);
    }
}

/* Add up the weights of each set of signs of a query that a part has; only bits that count have
   weights. */
static void add_flips(struct searching *searching, unsigned query)
{
    struct group *group = &searching->scratch->group;
    const struct search_weights *weights = &group->weights[query];
    size_t width = searching->tables->vectors.width;
    uint16_t sizes[PARTS * PART_BITS] = {0};
    uint32_t sum = 0;

    for (uint64_t left = group->wanted[query].counted; left != 0; left &= left - 1) {
        size_t i = (size_t)__builtin_ctzll(left);
        sizes[i] = (uint16_t)abs(i < width ? weights->low[i] : weights->high[i - width]);
        sum += sizes[i];
    }
    for (size_t part = 0; part < PARTS; part++) {
        uint16_t *flips = group->flips[query][part];
        flips[0] = 0;
        for (unsigned set = 1; set < 1 << PART_BITS; set++)
            flips[set] = (uint16_t)(flips[set & (set - 1)]
                                    + sizes[part * PART_BITS + (size_t)__builtin_ctz(set)]);
    }
    const uint8_t *packed = searching->request->queries + (group->first + query) * width;
    int is_known = polytope_is_usual(packed, width);
    group->flipped[query] = (uint32_t)((is_known ? group->limits[query]->flipped : 1.0) * sum);
}

/* Drop near keys whose signs differ where the weights of the query are large. */
static void drop_flipped(struct searching *searching)
{
    struct scratch *scratch = searching->scratch;
    struct group *group = &scratch->group;
    size_t stored = searching->tables->run_count * searching->tables->table_count * GROUP, kept = 0;

    for (size_t i = 0; i < searching->sifted_count; i++) {
        struct search_sifted sifted = scratch->sifted[i];
        unsigned query = sifted.place % GROUP;
        uint32_t flipped = 0;
        uint64_t differing = *sifted.key ^ group->wanted[query].key;
        /* A query is next to itself, where nothing differs; many have no other near key. */
        if (sifted.place < stored && (differing & group->wanted[query].counted) != 0) {
            if (group->flipped[query] == FLIPS_UNKNOWN)
                add_flips(searching, query);
            for (size_t part = 0; part < PARTS; part++, differing >>= PART_BITS)
                flipped += group->flips[query][part][differing % (1 << PART_BITS)];
        }
        scratch->sifted[kept] = sifted;
        kept += flipped == 0 || flipped <= group->flipped[query];
    }
    searching->sifted_count = kept;
}

/* Read the ordinals of near keys, and request the memory that says whether they count. */
static void read_ordinals(struct searching *searching)
{
    const struct search_polytopes *tables = searching->tables;
    const struct polytope_request *request = searching->request;
    struct scratch *scratch = searching->scratch;

    for (size_t i = 0; i < searching->sifted_count; i++) {
        const struct search_sifted *sifted = &scratch->sifted[i];
        const struct polytope_column *column = &tables->columns[sifted->place / GROUP];
        __builtin_prefetch(column->ordinals + (sifted->key - column->keys));
    }
    for (size_t i = 0; i < searching->sifted_count; i++) {
        const struct search_sifted *sifted = &scratch->sifted[i];
        const struct polytope_column *column = &tables->columns[sifted->place / GROUP];
        uint32_t ordinal = column->ordinals[sifted->key - column->keys];
        scratch->ordinals[i] = ordinal;
        search_fetch_filter(&tables->filter, ordinal);
        if (request->parents != NULL)
            __builtin_prefetch(request->parents + ordinal);
    }
}

/* Turn near keys, whose ordinals are read, into candidates, each ordinal once; return the number of
   candidates. */
static size_t gather_candidates(struct searching *searching)
{
    const struct search_polytopes *tables = searching->tables;
    const struct polytope_request *request = searching->request;
    struct scratch *scratch = searching->scratch;
    size_t count = 0;

    for (size_t i = 0; i < searching->sifted_count; i++) {
        unsigned query = scratch->sifted[i].place % GROUP;
        uint32_t ordinal = scratch->ordinals[i];
        size_t number = scratch->group.first + query;
        if (is_done(searching, query)
            || (request->members != NULL && ordinal == request->members[number])
            || (request->after != NULL && ordinal <= request->after[number])
            || search_is_left_out(&tables->filter, ordinal)
            || is_seen(scratch, query, ordinal) || is_joined(searching, query, ordinal))
            continue;
        const uint8_t *vector = search_vector_at(&tables->vectors, ordinal, &searching->near);
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

/* Measure the documents behind the near keys. */
static void weigh_sifted(struct searching *searching)
{
    struct scratch *scratch = searching->scratch;

    if (searching->request->all.flipped < 1 || searching->request->firm.flipped < 1)
        drop_flipped(searching);
    read_ordinals(searching);
    size_t count = gather_candidates(searching);
    for (size_t start = 0, stop; start < count; start = stop) {
        for (stop = start + 1; stop < count && scratch->queries[stop] == scratch->queries[start];
             stop++)
            ;
        weigh_some(searching, start, stop - start);
    }
    searching->sifted_count = 0;
}

/* Sift the keys of some stretches. */
static void sift_stretches(struct searching *searching, size_t count)
{
    struct scratch *scratch = searching->scratch;
    struct search_stretch *stretches = scratch->stretches;
    /* Where some matches are enough, most of many candidates would be measured for nothing. */
    size_t room = searching->request->enough > 0 ? WAITING : HELD;

    while (count > 0 && !searching->is_missing) {
        size_t sifted;
        size_t finished = search_kernel->sift(
            stretches, count, scratch->group.wanted, scratch->sifted + searching->sifted_count,
            room - searching->sifted_count, &sifted);
        searching->sifted_count += sifted;
        stretches += finished;
        count -= finished;
        if (count > 0)
            weigh_sifted(searching);
        /* The keys of a crowd need not all be sifted for a query that has found enough of them. */
        while (count > 0 && is_done(searching, stretches->place % GROUP)) {
            stretches++;
            count--;
        }
    }
}

/* Look up the headers that are held back, and search the entries that they lead to. */
static void look_up(struct searching *searching)
{
    const struct polytope_column *columns = searching->tables->columns;
    struct scratch *scratch = searching->scratch;
    size_t count = 0;

    for (size_t i = 0; i < searching->probe_count; i++) {
        const struct probe *probe = &scratch->probes[i];
        const struct polytope_column *column = &columns[probe->place / GROUP];
        uint64_t start = column->directory[probe->header];
        uint64_t stop = column->directory[probe->header + 1];
        stop = stop < column->count ? stop : column->count;
        if (start >= stop)
            continue;
        scratch->stretches[count++] = (struct search_stretch){
            column->keys + start, (uint32_t)(stop - start), probe->place,
        };
        __builtin_prefetch(column->keys + start);
        __builtin_prefetch(column->keys + stop - 1);
    }
    searching->probe_count = 0;
    sift_stretches(searching, count);
    weigh_sifted(searching);
}

/* Hold back headers of one query in one table of a run. */
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
            look_up(searching);
            if (searching->is_missing || is_done(searching, query))
                return;
        }
        __builtin_prefetch(directory + headers[i]);
        __builtin_prefetch(directory + headers[i] + 1);
        scratch->probes[searching->probe_count++] =
            (struct probe){headers[i], (uint32_t)(number * GROUP + query)};
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
            int32_t cut = polytope_cut(thresholds[run], &scratch->group.units[query], own, width);
            count = search_kernel->near_headers(own, width, cut, scratch->headers);
        }
        add_probes(searching, run, table, query, scratch->headers, count);
    }
}

/* Look up the headers of the queries themselves in all runs. */
static void probe_own(struct searching *searching)
{
    const struct search_polytopes *tables = searching->tables;
    struct scratch *scratch = searching->scratch;

    for (unsigned query = 0; query < scratch->group.count; query++)
        for (size_t table = 0; table < tables->table_count; table++) {
            uint32_t code = search_kernel->encode(scratch->rotated[query][table]);
            for (size_t run = 0; run < tables->run_count; run++) {
                uint32_t header = code >> (POLYTOPE_CODE_BITS - tables->runs[run].width);
                add_probes(searching, run, table, query, &header, 1);
            }
        }
    look_up(searching);
}

/* Compare the queries with all documents of the delta. */
static void scan_delta(struct searching *searching)
{
    const struct search_polytopes *tables = searching->tables;
    size_t number = tables->run_count * tables->table_count;
    const struct polytope_column *delta = &tables->columns[number];
    struct group *group = &searching->scratch->group;
    struct search_bucket buckets[GROUP];
    struct search_hit list[CROWD];
    struct search_hits hits = {list, 0, CROWD};
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
            searching->scratch->sifted[searching->sifted_count++] = (struct search_sifted){
                hits.list[i].place, (uint32_t)(number * GROUP + query),
            };
        }
        hits.count = 0;
        start += finished;
        weigh_sifted(searching);
    }
}

/* Find the matches of the queries of a group. */
static void search_group_of(struct searching *searching)
{
    const struct search_polytopes *tables = searching->tables;
    const struct group *group = &searching->scratch->group;

    if (tables->columns[tables->run_count * tables->table_count].count > 0)
        scan_delta(searching);
    if (searching->request->enough > 0)
        probe_own(searching);
    for (unsigned query = 0; query < group->count; query++)
        for (size_t table = 0; table < tables->table_count; table++)
            if (!is_done(searching, query) && !searching->is_missing)
                probe_table(searching, table, query);
    look_up(searching);
}

int search_polytopes(const struct search_polytopes *tables, const struct polytope_request *request,
                     void *scratch, struct search_found *found, uint32_t *missing)
{
    struct searching searching = {tables, request, found, scratch, 0, 0, 0, 0, 0};

    found->count = 0;
    for (size_t first = 0; first < request->count && !searching.is_missing; first += GROUP) {
        begin_group(&searching, first);
        search_group_of(&searching);
    }
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
