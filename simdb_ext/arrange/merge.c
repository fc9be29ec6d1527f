#include "merge.h"

#include <string.h>

/* With fewer entries than this left on one side, the place of each is found by binary search in the
   other side. */
#define MERGE_FEW 32

/* The part of the output that is not written yet. */
struct gap {
    uint64_t *keys;
    uint32_t *ordinals;
    int64_t start;
    int64_t stop;
};

static int64_t size(const struct arrange_sorted *table) { return table->stop - table->start; }

/* Return `one` if `is_one`, else `other`; a branch would be mispredicted every other time. */
static inline uint64_t choose(int is_one, uint64_t one, uint64_t other)
{
    return other ^ ((one ^ other) & -(uint64_t)is_one);
}

/* Write the `steps` smallest and the `steps` largest entries of both tables.  The two chains of
   dependent loads are independent of each other, so the processor works on both at once.  Each side
   has at least twice as many entries as steps, so neither runs out. */
static void merge_ends(struct arrange_sorted *left, struct arrange_sorted *right, int64_t steps,
                       struct gap *out)
{
    struct arrange_sorted a = *left, b = *right;
    uint64_t *first_key = out->keys + out->start, *last_key = out->keys + out->stop - 1;
    uint32_t *first_ordinal = out->ordinals + out->start;
    uint32_t *last_ordinal = out->ordinals + out->stop - 1;

    for (int64_t i = 0; i < steps; i++) {
        uint64_t low_a = a.keys[a.start], low_b = b.keys[b.start];
        uint64_t high_a = a.keys[a.stop - 1], high_b = b.keys[b.stop - 1];
        int is_low_b = low_b < low_a, is_high_a = high_a > high_b;

        first_key[i] = choose(is_low_b, low_b, low_a);
        first_ordinal[i] = (uint32_t)choose(is_low_b, b.ordinals[b.start], a.ordinals[a.start]);
        b.start += is_low_b;
        a.start += 1 - is_low_b;
        last_key[-i] = choose(is_high_a, high_a, high_b);
        last_ordinal[-i] =
            (uint32_t)choose(is_high_a, a.ordinals[a.stop - 1], b.ordinals[b.stop - 1]);
        a.stop -= is_high_a;
        b.stop -= 1 - is_high_a;
    }
    *left = a;
    *right = b;
    out->start += steps;
    out->stop -= steps;
}

/* Return the position of the first entry of `table` whose key is above `key`, or, unless
   `is_above`, at least `key`. */
static int64_t search(const struct arrange_sorted *table, uint64_t key, int is_above)
{
    int64_t start = table->start, stop = table->stop;

    while (start < stop) {
        int64_t middle = start + (stop - start) / 2;

        if (table->keys[middle] < key || (is_above && table->keys[middle] == key))
            start = middle + 1;
        else
            stop = middle;
    }
    return start;
}

/* Write the entries of `table` before `stop` and drop them from the table. */
static void copy(struct arrange_sorted *table, int64_t stop, struct gap *out)
{
    size_t count = (size_t)(stop - table->start);

    if (count == 0)
        return;
    memcpy(out->keys + out->start, table->keys + table->start, count * sizeof *out->keys);
    memcpy(out->ordinals + out->start, table->ordinals + table->start,
           count * sizeof *out->ordinals);
    out->start += (int64_t)count;
    table->start = stop;
}

void arrange_merge(struct arrange_sorted left, struct arrange_sorted right, uint64_t *keys,
                   uint32_t *ordinals)
{
    struct gap out = {keys, ordinals, 0, size(&left) + size(&right)};
    int is_left_few;

    for (;;) {
        int64_t fewer = size(&left) < size(&right) ? size(&left) : size(&right);

        if (fewer < MERGE_FEW)
            break;
        merge_ends(&left, &right, fewer / 2, &out);
    }
    is_left_few = size(&left) < size(&right);
    struct arrange_sorted *few = is_left_few ? &left : &right;
    struct arrange_sorted *many = is_left_few ? &right : &left;

    while (size(few) > 0) {
        copy(many, search(many, few->keys[few->start], !is_left_few), &out);
        copy(few, few->start + 1, &out);
    }
    copy(many, many->stop, &out);
}
