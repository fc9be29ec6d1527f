/* Roots of a union-find forest: an array of the parent of each number; a root is its own parent. */
#ifndef SIMDB_ROOT_H
#define SIMDB_ROOT_H

#include <stdint.h>

/* Return the root of `number`, which must have a parent.  All numbers on the way except the root
   are attached to their grandparents, which halves the path.  A parent is never larger than its
   child.  A number with a larger parent counts as a root, so no content of the array leads out of
   it.

   Several threads may look for roots at the same time, as long as none joins components: any parent
   that they read is on the way to the same root. */
static inline uint32_t find_root(uint32_t *parents, uint32_t number)
{
    for (;;) {
        uint32_t parent = __atomic_load_n(parents + number, __ATOMIC_RELAXED);
        if (parent >= number)
            return number;
        uint32_t above = __atomic_load_n(parents + parent, __ATOMIC_RELAXED);
        if (above >= parent)
            return parent;
        __atomic_store_n(parents + number, above, __ATOMIC_RELAXED);
        number = above;
    }
}

#endif
