#include "vosh.h"

/* Return the place of a set in the order as one number, since comparing two numbers would take
   branches that cannot be predicted.  Lower ranks are higher bits. */
static inline __int128 place_of(const struct search_flip_set *set)
{
    return (__int128)set->price * ((__int128)1 << 64) + (__int128)~set->ranks;
}

/* Return whether a set precedes another. */
static inline int is_before(const struct search_flip_set *one, const struct search_flip_set *other)
{
    return place_of(one) < place_of(other);
}

/* Place a set at `place` of the heap or above it; sets in its way move down. */
static void rise(struct search_flip_set *heap, size_t place, struct search_flip_set set)
{
    while (place > 0 && is_before(&set, &heap[(place - 1) / 2])) {
        heap[place] = heap[(place - 1) / 2];
        place = (place - 1) / 2;
    }
    heap[place] = set;
}

/* Place a set at the top of a heap of `size` sets or below it; sets in its way move up. */
static void sink(struct search_flip_set *heap, size_t size, struct search_flip_set set)
{
    size_t place = 0, next;

    while ((next = 2 * place + 1) < size) {
        if (next + 1 < size)
            next += (size_t)is_before(&heap[next + 1], &heap[next]);
        if (!is_before(&heap[next], &set))
            break;
        heap[place] = heap[next];
        place = next;
    }
    heap[place] = set;
}

size_t search_vosh_children(uint64_t parent, unsigned count, uint64_t *children)
{
    unsigned last = (unsigned)__builtin_ctzll(parent), above;
    uint64_t others = ~(parent >> last);
    size_t found = 0;

    /* One child moves the last rank to the next. */
    if (last > 64 - count)
        children[found++] = parent - ((uint64_t)1 << (last - 1));
    /* The other moves the last earlier rank that is not next to its successor, if exactly one rank
       lies between the two; otherwise the resulting set has another parent. */
    above = others == 0 ? 64 : last + (unsigned)__builtin_ctzll(others);
    if (above < 63 && (parent >> above & 3) == 2)
        children[found++] = parent - ((uint64_t)1 << above);
    return found;
}

/* Return the price of a child: one rank of its parent moved to the next. */
static int64_t price_of_child(const struct search_vosh *vosh, const struct search_flip_set *parent,
                             uint64_t child)
{
    int rank = __builtin_clzll(parent->ranks ^ child);

    return parent->price + vosh->prices[rank + 1] - vosh->prices[rank];
}

void search_vosh_begin(struct search_vosh *vosh, const int64_t *prices, unsigned count,
                       unsigned distance, struct search_flip_set *heap)
{
    struct search_flip_set root = {0, 0};

    vosh->prices = prices;
    vosh->count = count;
    vosh->heap = heap;
    vosh->size = 0;
    for (unsigned rank = 0; rank < count && rank < distance; rank++) {
        root.price += prices[rank];
        root.ranks |= (uint64_t)1 << (63 - rank);
        rise(heap, vosh->size++, root);
    }
}

int search_vosh_next(struct search_vosh *vosh, struct search_flip_set *set)
{
    struct search_flip_set *heap = vosh->heap;
    uint64_t children[2];
    size_t count;

    if (vosh->size == 0)
        return 0;
    *set = heap[0];
    count = search_vosh_children(set->ranks, vosh->count, children);
    if (count == 0) {
        vosh->size--;
        sink(heap, vosh->size, heap[vosh->size]);
    }
    for (size_t i = 0; i < count; i++) {
        struct search_flip_set child = {price_of_child(vosh, set, children[i]), children[i]};
        if (i == 0)
            sink(heap, vosh->size, child);
        else
            rise(heap, vosh->size++, child);
    }
    return 1;
}
