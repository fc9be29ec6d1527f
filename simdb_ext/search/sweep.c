#include "sweep.h"

#include "kernel.h"

enum { GROUP = 64, HITS = 256 };

struct pairs {
    uint32_t *left;
    uint32_t *right;
    uint8_t *distances;
    size_t count;
    size_t capacity;
};

/* Two groups of keys, each with equal headers, that are compared with each other. */
struct groups {
    uint64_t header; /* mask of the bits of a key that are its header */
    uint64_t stop;    /* end of the group of the current position */
    uint64_t partner, partner_stop; /* the group that it is compared with */
};

static inline uint64_t header_at(const struct search_sweep *sweep, const struct groups *groups,
                                 uint64_t position)
{
    return sweep->keys[position] & groups->header;
}

/* Return the first position, `start` or later, whose header is above `header`: double the steps,
   then halve them. */
static uint64_t first_above(const struct search_sweep *sweep, const struct groups *groups,
                            uint64_t start, uint64_t header)
{
    uint64_t stop, step = 1;

    if (start >= sweep->count || header_at(sweep, groups, start) > header)
        return start;
    while (step < sweep->count - start && header_at(sweep, groups, start + step) <= header) {
        start += step;
        step *= 2;
    }
    stop = step < sweep->count - start ? start + step : sweep->count;
    while (stop - start > 1) {
        uint64_t middle = start + (stop - start) / 2;
        if (header_at(sweep, groups, middle) <= header)
            start = middle;
        else
            stop = middle;
    }
    return stop;
}

/* Find the group of `position`, and its partner.  Partners follow their groups, so each pair of
   groups is compared once. */
static void enter_group(const struct search_sweep *sweep, struct groups *groups, uint64_t position)
{
    uint64_t header = header_at(sweep, groups, position);
    uint64_t wanted = header ^ sweep->flipped, start;

    groups->stop = first_above(sweep, groups, position, header);
    if (sweep->flipped == 0) {
        groups->partner = position;
        groups->partner_stop = groups->stop;
        return;
    }
    start = groups->partner_stop;
    if (wanted < header || start < groups->stop ||
        header_at(sweep, groups, start - 1) >= wanted)
        start = groups->stop;
    if (wanted > header)
        start = first_above(sweep, groups, start, wanted - 1);
    groups->partner = groups->partner_stop = start;
    if (wanted > header && start < sweep->count && header_at(sweep, groups, start) == wanted)
        groups->partner_stop = first_above(sweep, groups, start, wanted);
}

/* Return whether this table is the first that reaches a pair with this difference of keys. */
static int is_reached_first(const struct search_sweep *sweep, uint64_t difference)
{
    uint64_t mask = sweep->masks[sweep->table], original;
    int flips = sweep->flips[sweep->table];
    int is_sure = sweep->flipped == 0 && sweep->width >= (unsigned)__builtin_popcountll(mask);

    if (sweep->table == 0 && is_sure && flips >= 0)
        return 1;
    original = search_kernel->restore(difference, mask);
    for (size_t table = 0; table < sweep->table; table++)
        if (search_is_reached(original, sweep->masks[table], sweep->flips[table]))
            return 0;
    return search_is_reached(original, mask, flips);
}

/* Write the pairs of some hits.  Return 1, or 0 if a pair had no room; then `sweep` records the
   first such pair. */
static int write_pairs(struct search_sweep *sweep, const struct search_bucket *buckets,
                       const struct search_hits *hits, struct pairs *pairs)
{
    for (size_t k = 0; k < hits->count; k++) {
        const struct search_hit *hit = &hits->list[k];
        const struct search_bucket *bucket = &buckets[hit->bucket];
        uint32_t one = sweep->ordinals[bucket->query];
        uint32_t other = sweep->ordinals[hit->place - sweep->keys];
        if (!is_reached_first(sweep, *hit->place ^ bucket->wanted.key))
            continue;
        if (pairs->count == pairs->capacity) {
            sweep->i = bucket->query;
            sweep->j = (uint64_t)(hit->place - sweep->keys);
            return 0;
        }
        pairs->left[pairs->count] = one < other ? one : other;
        pairs->right[pairs->count] = one < other ? other : one;
        pairs->distances[pairs->count++] = (uint8_t)hit->distance;
    }
    return 1;
}

static int measure(struct search_sweep *sweep, struct search_bucket *buckets, size_t count,
                   struct pairs *pairs)
{
    struct search_hit list[HITS];

    while (count > 0) {
        struct search_hits hits = {list, 0, HITS};
        size_t finished = search_kernel->measure(buckets, count, &hits);
        if (!write_pairs(sweep, buckets, &hits, pairs))
            return 0;
        buckets += finished;
        count -= finished;
    }
    return 1;
}

static struct search_wanted wanted_at(const struct search_sweep *sweep, uint64_t position)
{
    uint64_t key = sweep->keys[position];

    if (sweep->counted == NULL)
        return (struct search_wanted){key, ~(uint64_t)0, sweep->distance};
    return (struct search_wanted){key, sweep->counted[position], sweep->most[position]};
}

size_t search_sweep(struct search_sweep *sweep, uint32_t *left, uint32_t *right,
                    uint8_t *distances, size_t capacity)
{
    struct pairs pairs = {left, right, distances, 0, capacity};
    struct search_bucket buckets[GROUP];
    struct groups groups = {
        sweep->width == 0 ? 0 : ~(uint64_t)0 << (64 - sweep->width), 0, 0, 0,
    };
    uint64_t i = sweep->i, j = sweep->j, stop = sweep->stop;

    while (i < stop) {
        size_t some = 0;
        for (; i < stop && some < GROUP; i++, j = i + 1) {
            if (i >= groups.stop)
                enter_group(sweep, &groups, i);
            if (groups.partner >= groups.partner_stop) {
                i = groups.stop - 1;
                continue;
            }
            if (j < groups.partner)
                j = groups.partner;
            if (j < groups.partner_stop)
                buckets[some++] = (struct search_bucket){
                    sweep->keys + j, sweep->keys + groups.partner_stop, wanted_at(sweep, i), NULL,
                    (uint32_t)i,
                };
        }
        if (!measure(sweep, buckets, some, &pairs))
            return pairs.count;
    }
    sweep->i = stop;
    sweep->j = stop + 1;
    return pairs.count;
}
