#include "forest.h"

#include <string.h>

#include "root.h"

/* Pairs between the prefetch of a parent and its use. */
#define FOREST_AHEAD 16

void arrange_plant(uint32_t *parents, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        parents[i] = (uint32_t)i;
}

int64_t arrange_join(uint32_t *parents, int64_t count, const uint32_t *left,
                     const uint32_t *right, int64_t pairs)
{
    for (int64_t i = 0; i < pairs; i++) {
        if (i + FOREST_AHEAD < pairs) {
            __builtin_prefetch(parents + left[i + FOREST_AHEAD]);
            __builtin_prefetch(parents + right[i + FOREST_AHEAD]);
        }
        if (left[i] >= count || right[i] >= count)
            return i;

        uint32_t one = find_root(parents, left[i]);
        uint32_t two = find_root(parents, right[i]);

        /* A parent is never larger than its child, so one ascending pass sets all labels. */
        if (one < two)
            parents[two] = one;
        else
            parents[one] = two;
    }
    return -1;
}

void arrange_label(uint32_t *parents, int64_t count, uint32_t *labels)
{
    for (int64_t i = 0; i < count; i++)
        if (parents[i] < i)
            parents[i] = parents[parents[i]];
    if (count > 0)
        memcpy(labels, parents, (size_t)count * sizeof *labels);
}
