#include "best.h"

/* Move the rank of the hole at `at` down to where no rank below it is worse. */
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
