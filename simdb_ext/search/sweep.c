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

static uint64_t leading_bits(uint64_t mask)
{
    unsigned width = (unsigned)__builtin_popcountll(mask);

    return width == 0 ? 0 : ~(uint64_t)0 << (64 - width);
}

/* Return where the group of the key at `position` ends, with doubling steps and then halving
   ones. */
static uint64_t group_stop(const struct search_sweep *sweep, uint64_t position, uint64_t leading)
{
    uint64_t header = sweep->keys[position] & leading, step = 1;
    uint64_t start = position, stop;

    while (step < sweep->count - start && (sweep->keys[start + step] & leading) == header) {
        start += step;
        step *= 2;
    }
    stop = step < sweep->count - start ? start + step : sweep->count;
    while (stop - start > 1) {
        uint64_t middle = start + (stop - start) / 2;
        if ((sweep->keys[middle] & leading) == header)
            start = middle;
        else
            stop = middle;
    }
    return stop;
}

static int is_left_to_earlier(const struct search_sweep *sweep, uint64_t difference)
{
    uint64_t original;

    if (sweep->table == 0)
        return 0;
    original = search_kernel->restore(difference, sweep->masks[sweep->table]);
    for (size_t table = 0; table < sweep->table; table++)
        if ((original & sweep->masks[table]) == 0)
            return 1;
    return 0;
}

/* Write the pairs of some hits.  Return 1 if all had room; else record the first without room in
   `sweep` and return 0. */
static int write_pairs(struct search_sweep *sweep, const struct search_bucket *buckets,
                       const struct search_hits *hits, struct pairs *pairs)
{
    for (size_t k = 0; k < hits->count; k++) {
        const struct search_hit *hit = &hits->list[k];
        const struct search_bucket *bucket = &buckets[hit->bucket];
        uint32_t one = sweep->ordinals[bucket->query];
        uint32_t other = sweep->ordinals[hit->place - sweep->keys];
        if (is_left_to_earlier(sweep, *hit->place ^ bucket->key))
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
        size_t finished = search_kernel->measure(buckets, count, sweep->distance, &hits);
        if (!write_pairs(sweep, buckets, &hits, pairs))
            return 0;
        buckets += finished;
        count -= finished;
    }
    return 1;
}

size_t search_sweep(struct search_sweep *sweep, uint32_t *left, uint32_t *right,
                    uint8_t *distances, size_t capacity)
{
    struct pairs pairs = {left, right, distances, 0, capacity};
    struct search_bucket buckets[GROUP];
    uint64_t leading = leading_bits(sweep->masks[sweep->table]);
    uint64_t i = sweep->i, j = sweep->j, stop = 0, count = sweep->count;

    while (i < count) {
        size_t some = 0;
        for (; i < count && some < GROUP; i++, j = i + 1) {
            if (i >= stop)
                stop = group_stop(sweep, i, leading);
            if (j < stop)
                buckets[some++] = (struct search_bucket){
                    sweep->keys + j, sweep->keys + stop, sweep->keys[i], NULL, (uint32_t)i,
                };
        }
        if (!measure(sweep, buckets, some, &pairs))
            return pairs.count;
    }
    sweep->i = count;
    sweep->j = count + 1;
    return pairs.count;
}
