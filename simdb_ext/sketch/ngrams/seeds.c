#include "seeds.h"

#include <stdlib.h>

/* The state of an item in one document: its last different entries, the latest at the end, and the
   list of its seeds. */
struct state {
    int64_t stamp; /* identifies the document; 0 for none */
    int64_t first, last;
    uint32_t entries[SEEDS_LEAST_MOST];
    int32_t positions[SEEDS_LEAST_MOST];
    int32_t held;
    int32_t is_near;
};

struct node {
    struct align_run run;
    int64_t next;
    uint32_t entry;
};

/* The lists of seeds of one document, and the items that have one. */
struct lists {
    struct state *states;
    struct node *nodes;
    int64_t *touched;
    int64_t node_count, touched_count, room;
};

/* Take an entry at a position, which is not before the positions taken so far. */
static void take(struct state *state, uint32_t entry, int32_t position, int32_t least,
                 int64_t span)
{
    int32_t from = 0;

    while (from < state->held && state->entries[from] != entry)
        from++;
    if (from == state->held && state->held < least)
        state->held++;
    else if (from == state->held)
        from = 0;
    for (int32_t i = from; i + 1 < state->held; i++) {
        state->entries[i] = state->entries[i + 1];
        state->positions[i] = state->positions[i + 1];
    }
    state->entries[state->held - 1] = entry;
    state->positions[state->held - 1] = position;
    if (state->held == least && position - state->positions[0] <= span)
        state->is_near = 1;
}

/* Return the state of an item; for a new document, it is reset. */
static struct state *state_of(struct state *states, int64_t item, int64_t stamp, int *is_new)
{
    struct state *state = &states[item];

    *is_new = state->stamp != stamp;
    if (*is_new)
        *state = (struct state){.stamp = stamp, .first = -1, .last = -1};
    return state;
}

int64_t seeds_screen(const struct seed_postings *postings, const struct seed_rule *rule,
                     const struct ngram_hit *hits, int64_t count, uint8_t *has_any,
                     uint32_t *seen)
{
    struct state *states = calloc((size_t)postings->items + 1, sizeof *states);
    int32_t *stamps = calloc((size_t)postings->entries + 1, sizeof *stamps);
    int64_t written = states == NULL || stamps == NULL ? -1 : 0;
    int is_new;

    for (int64_t i = 0; written >= 0 && i < count; i++) {
        struct ngram_hit hit = hits[i];
        if (stamps[hit.entry] != hit.document + 1) {
            stamps[hit.entry] = hit.document + 1;
            seen[written++] = hit.entry;
        }
        uint32_t at = postings->bounds[hit.entry], stop = postings->bounds[hit.entry + 1];
        for (; at < stop && !has_any[hit.document]; at++) {
            struct seed_posting own = postings->all[at];
            if (!own.is_first)
                continue;
            struct state *state = state_of(states, own.item, hit.document + 1, &is_new);
            take(state, hit.entry, hit.position, rule->least[own.item], rule->spans[own.item]);
            has_any[hit.document] = (uint8_t)state->is_near;
        }
    }
    free(states);
    free(stamps);
    return written;
}

/* Enlarge an array; return 0 if there is no memory. */
static int widen(void **things, int64_t room, size_t size)
{
    void *wider = realloc(*things, (size_t)room * size);

    if (wider != NULL)
        *things = wider;
    return wider != NULL;
}

static int make_room(struct lists *lists, int64_t wanted)
{
    if (wanted <= lists->room)
        return 1;
    lists->room = 2 * wanted;
    return widen((void **)&lists->nodes, lists->room, sizeof *lists->nodes) &&
           widen((void **)&lists->touched, lists->room, sizeof *lists->touched);
}

/* Append the places of a hit to the lists of their items; return 0 without memory. */
static int list_hit(struct lists *lists, const struct seed_postings *postings,
                    const struct seed_rule *rule, struct ngram_hit hit, int64_t length)
{
    uint32_t at = postings->bounds[hit.entry], stop = postings->bounds[hit.entry + 1];
    int is_counted = rule->is_counted == NULL || rule->is_counted[hit.entry], is_new;

    if (!make_room(lists, lists->node_count + stop - at))
        return 0;
    for (; at < stop; at++) {
        int64_t item = postings->all[at].item, own = lists->node_count++;
        struct state *state = state_of(lists->states, item, hit.document + 1, &is_new);

        lists->nodes[own] =
            (struct node){{hit.position, postings->all[at].start, length}, -1, hit.entry};
        if (is_new) {
            lists->touched[lists->touched_count++] = item;
            state->first = own;
        } else {
            lists->nodes[state->last].next = own;
        }
        state->last = own;
        if (!state->is_near && (is_counted || rule->is_whole[item]))
            take(state, hit.entry, hit.position, rule->least[item], rule->spans[item]);
    }
    return 1;
}

static int compare_items(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

    return (a > b) - (a < b);
}

static int make_found_room(struct seed_found *found, int64_t pairs, int64_t runs)
{
    if (found->pair_count + pairs + 1 > found->pair_room) {
        found->pair_room = 2 * (found->pair_count + pairs + 1);
        if (!widen((void **)&found->pairs, found->pair_room, sizeof *found->pairs) ||
            !widen((void **)&found->bounds, found->pair_room, sizeof *found->bounds))
            return 0;
    }
    if (found->run_count + runs > found->run_room) {
        found->run_room = 2 * (found->run_count + runs);
        return widen((void **)&found->runs, found->run_room, sizeof *found->runs) &&
               widen((void **)&found->entries, found->run_room, sizeof *found->entries);
    }
    return 1;
}

/* Append the pairs of a document, in the order of items; return 0 without memory. */
static int append_near(struct lists *lists, int64_t document, struct seed_found *found)
{
    int64_t near = 0;

    for (int64_t i = 0; i < lists->touched_count; i++)
        if (lists->states[lists->touched[i]].is_near)
            lists->touched[near++] = lists->touched[i];
    if (!make_found_room(found, near, near ? lists->node_count : 0))
        return 0;
    if (near > 1)
        qsort(lists->touched, (size_t)near, sizeof *lists->touched, compare_items);
    for (int64_t i = 0; i < near; i++) {
        int64_t item = lists->touched[i];
        found->pairs[found->pair_count] = (struct seed_pair){document, item};
        found->bounds[found->pair_count++] = found->run_count;
        for (int64_t at = lists->states[item].first; at >= 0; at = lists->nodes[at].next) {
            found->entries[found->run_count] = lists->nodes[at].entry;
            found->runs[found->run_count++] = lists->nodes[at].run;
        }
    }
    found->bounds[found->pair_count] = found->run_count;
    return 1;
}

int seeds_find(const struct seed_postings *postings, const struct seed_rule *rule,
               const struct ngram_hit *hits, int64_t count, int64_t length,
               struct seed_found *found)
{
    struct lists lists = {.states = calloc((size_t)postings->items + 1, sizeof *lists.states)};
    int has_memory = lists.states != NULL && make_found_room(found, 0, 1);

    if (has_memory)
        found->bounds[0] = 0;
    for (int64_t i = 0, stop; has_memory && i < count; i = stop) {
        lists.node_count = lists.touched_count = 0;
        for (stop = i; has_memory && stop < count && hits[stop].document == hits[i].document;
             stop++)
            has_memory = list_hit(&lists, postings, rule, hits[stop], length);
        has_memory = has_memory && append_near(&lists, hits[i].document, found);
    }
    free(lists.states);
    free(lists.nodes);
    free(lists.touched);
    return has_memory;
}

void seeds_free(struct seed_found *found)
{
    free(found->pairs);
    free(found->bounds);
    free(found->runs);
    free(found->entries);
}
