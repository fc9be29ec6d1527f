#include "found.h"

#include "sort_few.h"

enum {
    FEW = 24, /* ranks; up to this many are sorted by insertion */
    DIGIT_VALUES = 256,
    ROOM_MAX = 1 << 21 /* matches for which a group of several queries gets room */
};

static int is_sorted(const uint64_t *ranks, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (ranks[i - 1] > ranks[i])
            return 0;
    return 1;
}

/* Do one pass of a radix sort, by the byte from bit `shift` up. */
static void scatter(const uint64_t *ranks, size_t count, unsigned shift, uint64_t *out)
{
    size_t places[DIGIT_VALUES] = {0}, place = 0;

    for (size_t i = 0; i < count; i++)
        places[ranks[i] >> shift & 255]++;
    for (size_t value = 0; value < DIGIT_VALUES; value++) {
        size_t entries = places[value];
        places[value] = place;
        place += entries;
    }
    for (size_t i = 0; i < count; i++)
        out[places[ranks[i] >> shift & 255]++] = ranks[i];
}

void search_sort(uint64_t *ranks, uint64_t *spare, size_t count)
{
    uint64_t all = ~(uint64_t)0, any = 0;
    uint64_t *from = ranks, *to = spare;

    if (count <= FEW) {
        search_sort_few(ranks, count);
        return;
    }
    if (is_sorted(ranks, count))
        return;
    for (size_t i = 0; i < count; i++) {
        all &= ranks[i];
        any |= ranks[i];
    }
    for (unsigned shift = 0; shift < 64; shift += 8) {
        if (((all ^ any) >> shift & 255) == 0)
            continue;
        scatter(from, count, shift, to);
        uint64_t *next = from;
        from = to;
        to = next;
    }
    if (from != ranks)
        memcpy(ranks, from, count * sizeof *ranks);
}

void search_group(struct search_found *found, uint64_t *sorted, size_t count, int64_t *offsets)
{
    int64_t base = offsets[0];

    /* offsets[i + 1] is first the number of matches of query i, then their start, at last their
       end. */
    memset(offsets + 1, 0, count * sizeof *offsets);
    for (size_t i = 0; i < found->count; i++)
        offsets[found->queries[i] + 1]++;
    int64_t place = base;
    for (size_t i = 0; i < count; i++) {
        int64_t entries = offsets[i + 1];
        offsets[i + 1] = place;
        place += entries;
    }
    for (size_t i = 0; i < found->count; i++)
        sorted[offsets[found->queries[i] + 1]++ - base] = found->ranks[i];
    for (size_t i = 0; i < count; i++) {
        size_t start = (size_t)(offsets[i] - base), stop = (size_t)(offsets[i + 1] - base);
        if (stop - start > 1)
            search_sort(sorted + start, found->ranks + start, stop - start);
    }
}

void search_ordinals(const uint64_t *ranks, size_t count, uint32_t *ordinals)
{
    for (size_t i = 0; i < count; i++)
        ordinals[i] = (uint32_t)ranks[i];
}

void search_nearness(const uint64_t *ranks, size_t count, size_t size, void *nearness)
{
    if (size == sizeof(uint8_t))
        for (size_t i = 0; i < count; i++)
            ((uint8_t *)nearness)[i] = (uint8_t)(ranks[i] >> 32);
    else if (size == sizeof(uint16_t))
        for (size_t i = 0; i < count; i++)
            ((uint16_t *)nearness)[i] = (uint16_t)(ranks[i] >> 32);
    else
        for (size_t i = 0; i < count; i++)
            ((float *)nearness)[i] = search_similarity_of((uint32_t)(ranks[i] >> 32));
}

size_t search_room(const struct search_found *found, size_t count)
{
    size_t wanted = 2 * found->count;

    if (count == 1)
        return found->count;
    return wanted < ROOM_MAX ? wanted : ROOM_MAX;
}

size_t search_group_size(const struct search_found *found, size_t count, size_t count_max)
{
    double each = ((double)found->count + 1) / (double)count;
    double fitting = 0.5 * (double)found->capacity / each;
    size_t size = fitting < (double)count_max ? (size_t)fitting : count_max;

    /* At most double the group: the next queries may have more matches than these. */
    size = size < 2 * count ? size : 2 * count;
    return size > 1 ? size : 1;
}

/* Move the rank at `at` down the heap, until no rank below it is worse. */
static void sink(struct search_best *best, size_t at, uint64_t rank)
{
    for (size_t child; (child = 2 * at + 1) < best->count; at = child) {
        if (child + 1 < best->count && best->ranks[child + 1] > best->ranks[child])
            child++;
        if (best->ranks[child] <= rank)
            break;
        best->ranks[at] = best->ranks[child];
    }
    best->ranks[at] = rank;
}

void search_offer(struct search_best *best, uint64_t rank)
{
    size_t at = best->count;

    if (best->count == best->most) {
        if (rank < best->ranks[0])
            sink(best, 0, rank);
        return;
    }
    best->count++;
    for (; at > 0 && best->ranks[(at - 1) / 2] < rank; at = (at - 1) / 2)
        best->ranks[at] = best->ranks[(at - 1) / 2];
    best->ranks[at] = rank;
}
