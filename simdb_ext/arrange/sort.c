#include "sort.h"

#include <string.h>

#define SORT_FEW 32           /* entries; up to this many are sorted by insertion */
#define SORT_CACHED (1 << 16) /* entries; both copies take 1.5 MiB, about the second-level cache */
#define SORT_AIM (1 << 13)    /* entries that a bin should have */
#define SORT_BITS_MIN 4
#define SORT_BITS_MAX 8 /* more bits need more cache lines and pages than the processor can hold */
#define SORT_BINS_MAX (1 << SORT_BITS_MAX)
#define SORT_DIGIT 8
#define SORT_DIGITS (1 << SORT_DIGIT)

struct sort_part {
    uint64_t *keys;
    uint32_t *ordinals;
};

static inline struct sort_part sort_from(struct sort_part part, int64_t start)
{
    part.keys += start;
    part.ordinals += start;
    return part;
}

static inline void sort_copy(struct sort_part from, struct sort_part to, int64_t count)
{
    if (count == 0)
        return;
    memcpy(to.keys, from.keys, (size_t)count * sizeof *to.keys);
    memcpy(to.ordinals, from.ordinals, (size_t)count * sizeof *to.ordinals);
}

/* Return the number of low bits in which keys differ, or 0 if the keys are sorted.  `bits` is known
   to be enough; the loop ends as soon as unsorted keys need all of them. */
static int sort_bits(const uint64_t *keys, int64_t count, int bits)
{
    uint64_t differing = 0;
    int is_sorted = 1;

    for (int64_t i = 1; i < count; i++) {
        differing |= keys[i] ^ keys[0];
        is_sorted &= keys[i] >= keys[i - 1];
        if (i % 256 == 0 && !is_sorted && differing >> (bits - 1))
            break;
    }
    return is_sorted ? 0 : 64 - __builtin_clzll(differing);
}

/* Insert the entries of `from` one by one into the sorted `to`, which may be `from` itself. */
static void sort_insert(struct sort_part from, struct sort_part to, int64_t count)
{
    uint64_t largest = 0;

    for (int64_t i = 0; i < count; i++) {
        uint64_t key = from.keys[i];
        uint32_t ordinal = from.ordinals[i];
        int64_t j = i;

        if (key < largest)
            for (; j > 0 && to.keys[j - 1] > key; j--) {
                to.keys[j] = to.keys[j - 1];
                to.ordinals[j] = to.ordinals[j - 1];
            }
        else
            largest = key;
        to.keys[j] = key;
        to.ordinals[j] = ordinal;
    }
}

/* Replace the counts of the bins by the positions where the bins start. */
static inline void sort_sum(uint32_t counts[SORT_DIGITS])
{
    uint32_t start = 0;

    for (int digit = 0; digit < SORT_DIGITS; digit++) {
        uint32_t count = counts[digit];

        counts[digit] = start;
        start += count;
    }
}

static inline void sort_scatter(struct sort_part from, struct sort_part to, int64_t count,
                                int shift, uint32_t positions[SORT_DIGITS])
{
    for (int64_t i = 0; i < count; i++) {
        uint64_t key = from.keys[i];
        uint32_t position = positions[key >> shift & (SORT_DIGITS - 1)]++;

        to.keys[position] = key;
        to.ordinals[position] = from.ordinals[i];
    }
}

/* Sort by two digits from bit `shift` up: by the lower digit into `spare`, then by the upper digit
   back. */
static void sort_digits(struct sort_part part, struct sort_part spare, int64_t count, int shift)
{
    uint32_t low[SORT_DIGITS] = {0}, high[SORT_DIGITS] = {0};

    for (int64_t i = 0; i < count; i++) {
        uint64_t digits = part.keys[i] >> shift;

        low[digits & (SORT_DIGITS - 1)]++;
        high[digits >> SORT_DIGIT & (SORT_DIGITS - 1)]++;
    }
    sort_sum(low);
    sort_sum(high);
    sort_scatter(part, spare, count, shift, low);
    sort_scatter(spare, part, count, shift + SORT_DIGIT, high);
}

/* Return whether many neighbours among sorted entries agree from bit `shift` up: certainly 1 if 3/2
   SORT_FEW entries agree, certainly 0 if no more than SORT_FEW do. */
static int sort_has_group(const uint64_t *keys, int64_t count, int shift)
{
    for (int64_t i = SORT_FEW; i < count; i += SORT_FEW / 2)
        if (keys[i] >> shift == keys[i - SORT_FEW] >> shift)
            return 1;
    return 0;
}

/* Sort `count` entries whose keys differ only in the low `bits` bits: in place, or into `spare` if
   `is_moved`. */
static void sort_part(struct sort_part part, struct sort_part spare, int64_t count, int bits,
                      int is_moved);

/* Entries that agree from bit `shift` up are a group: sort each group by the bits below `shift`. */
static void sort_groups(struct sort_part part, struct sort_part spare, int64_t count, int shift)
{
    int64_t start = 0;

    for (int64_t stop = 1; stop <= count; stop++) {
        if (stop < count && part.keys[stop] >> shift == part.keys[start] >> shift)
            continue;
        sort_part(sort_from(part, start), sort_from(spare, start), stop - start, shift, 0);
        start = stop;
    }
}

/* Sort a part that fits the cache. */
static void sort_cached(struct sort_part part, struct sort_part spare, int64_t count, int bits,
                        int is_moved)
{
    int shift = bits > 2 * SORT_DIGIT ? bits - 2 * SORT_DIGIT : 0;

    sort_digits(part, spare, count, shift);
    if (shift > 0 && !sort_has_group(part.keys, count, shift)) {
        sort_insert(part, is_moved ? spare : part, count);
        return;
    }
    if (shift > 0)
        sort_groups(part, spare, count, shift);
    if (is_moved)
        sort_copy(part, spare, count);
}

/* Sort a part that does not fit the cache: distribute its entries to bins, then sort each bin. */
static void sort_large(struct sort_part part, struct sort_part spare, int64_t count, int bits,
                       int is_moved)
{
    int64_t positions[SORT_BINS_MAX] = {0};
    int width = SORT_BITS_MIN;

    while (width < SORT_BITS_MAX && count >> width > SORT_AIM)
        width++;
    width = width < bits ? width : bits;

    int shift = bits - width;
    int64_t bins = (int64_t)1 << width, start = 0;

    for (int64_t i = 0; i < count; i++)
        positions[part.keys[i] >> shift & (uint64_t)(bins - 1)]++;
    for (int64_t bin = 0; bin < bins; bin++) {
        int64_t stop = start + positions[bin];

        positions[bin] = start;
        start = stop;
    }
    for (int64_t i = 0; i < count; i++) {
        uint64_t key = part.keys[i];
        int64_t position = positions[key >> shift & (uint64_t)(bins - 1)]++;

        spare.keys[position] = key;
        spare.ordinals[position] = part.ordinals[i];
    }
    /* Each position is now the end of its bin. */
    start = 0;
    for (int64_t bin = 0; bin < bins; bin++) {
        sort_part(sort_from(spare, start), sort_from(part, start), positions[bin] - start, shift,
                  !is_moved);
        start = positions[bin];
    }
}

static void sort_part(struct sort_part part, struct sort_part spare, int64_t count, int bits,
                      int is_moved)
{
    if (count <= SORT_FEW) {
        sort_insert(part, is_moved ? spare : part, count);
        return;
    }
    bits = bits > 0 ? sort_bits(part.keys, count, bits) : 0;
    if (bits == 0) {
        if (is_moved)
            sort_copy(part, spare, count);
    } else if (count <= SORT_CACHED) {
        sort_cached(part, spare, count, bits, is_moved);
    } else {
        sort_large(part, spare, count, bits, is_moved);
    }
}

#define LINE_BYTES 64

/* Return `size` rounded up to whole cache lines. */
static size_t lines(size_t size) { return (size + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES; }

size_t arrange_sort_scratch(int64_t count)
{
    size_t entries = count > SORT_FEW ? (size_t)count : 0;

    return LINE_BYTES + lines(entries * sizeof(uint64_t)) + lines(entries * sizeof(uint32_t));
}

void arrange_sort(uint64_t *keys, uint32_t *ordinals, int64_t count, void *scratch)
{
    struct sort_part here = {keys, ordinals}, there;
    uint8_t *free = scratch;

    free += -(uintptr_t)free % LINE_BYTES;
    there.keys = (uint64_t *)free;
    free += lines((size_t)count * sizeof *keys);
    there.ordinals = (uint32_t *)free;
    sort_part(here, there, count, 64, 0);
}

void arrange_directory(const uint64_t *keys, int64_t count, int header_bits, uint32_t *out)
{
    int64_t headers = (int64_t)1 << header_bits;
    uint32_t stop = 0;

    /* Each key writes the end of its header, and the last key of a header wins: the loop has no
       branch to mispredict.  A header without keys ends where the header before it ends. */
    memset(out, 0, (size_t)(headers + 1) * sizeof *out);
    for (int64_t i = 0; i < count; i++) {
        uint64_t header = keys[i] >> 1 >> (63 - header_bits);

        out[header + 1] = (uint32_t)(i + 1);
    }
    for (int64_t header = 1; header <= headers; header++) {
        stop = out[header] > stop ? out[header] : stop;
        out[header] = stop;
    }
}

/* When one side has fewer entries than this, binary search in the other side finds the place of
   each. */
#define MERGE_FEW 32

/* The part of the output that is still unwritten. */
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

/* Write the `steps` smallest and the `steps` largest entries of both tables.  Each end is a chain
   of dependent loads, but the two chains are independent, so the processor works on both at once.
   Each side has at least 2 * steps entries, so neither runs out. */
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

/* Return the position of the first entry of `table` whose key is at least `key`; above `key` if
   `is_above`. */
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
