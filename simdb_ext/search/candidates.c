#include "candidates.h"

#include <string.h>

#include "vosh.h"

/* Return a lower bound of the place, from 1, of a set of `size` ranks, the highest rank first, in
   the order of VOSH.  It counts the set and all sets that precede it at any costs.  The ranks are
   looked at from the highest down; ways[taken] counts the ways to choose `taken` of them. */
static size_t count_sets_up_to(const uint8_t *ranks, unsigned size)
{
    size_t ways[CANDIDATE_SIZE_MAX + 1] = {1}, all = 0;

    for (int rank = ranks[0]; rank >= 0; rank--)
        for (unsigned taken = size; taken-- > 0;)
            if (rank <= ranks[taken])
                ways[taken + 1] += ways[taken];
    for (unsigned taken = 0; taken <= size; taken++)
        all += ways[taken];
    return all;
}

static int is_candidate(uint64_t set, unsigned size, size_t cap)
{
    uint8_t ranks[CANDIDATE_SIZE_MAX];

    for (unsigned i = 0; i < size; i++, set &= set - 1)
        ranks[i] = (uint8_t)(63 - __builtin_ctzll(set));
    return count_sets_up_to(ranks, size) <= cap;
}

/* Insert a set into the sorted sets from `sets` to `end`, half open.  Lower ranks are higher bits,
   and sets with lower ranks precede. */
static void insert(const uint64_t *sets, uint64_t *end, uint64_t set)
{
    for (; end > sets && end[-1] < set; end--)
        *end = end[-1];
    *end = set;
}

/* Find the candidates of one size; return their number.  If a set is not a candidate, neither are
   its children. */
static size_t find_of_size(uint64_t *sets, unsigned size, size_t cap)
{
    uint64_t waiting[CANDIDATE_OTHERS], children[2];
    size_t found = 0, left = 0;

    waiting[left++] = ~(uint64_t)0 << (64 - size);
    if (!is_candidate(waiting[0], size, cap))
        return 0;
    while (left > 0) {
        uint64_t set = waiting[--left];
        insert(sets, sets + found++, set);
        for (size_t i = search_vosh_children(set, CANDIDATE_RANKS, children); i-- > 0;)
            if (is_candidate(children[i], size, cap))
                waiting[left++] = children[i];
    }
    return found;
}

void search_find_candidates(struct search_candidates *candidates, size_t cap, unsigned distance)
{
    uint64_t sets[CANDIDATE_OTHERS];

    candidates->wanted = cap > 0 && cap <= CANDIDATE_CAP_MAX && distance > 0 ? cap - 1 : 0;
    candidates->distance = distance;
    candidates->others = 0;
    memset(candidates->ranks, CANDIDATE_NO_RANK, sizeof candidates->ranks);
    if (candidates->wanted == 0)
        return;
    for (unsigned size = 2; size <= CANDIDATE_SIZE_MAX && size <= distance; size++) {
        size_t found = find_of_size(sets, size, cap);
        for (size_t i = 0; i < found; i++, candidates->others++)
            for (unsigned j = 0; j < size; j++, sets[i] &= sets[i] - 1)
                candidates->ranks[j][candidates->others] = (uint8_t)(63 - __builtin_ctzll(sets[i]));
    }
}
