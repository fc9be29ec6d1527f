/* Roots of a union-find forest: an array in which each number has a parent, a root itself. */
#ifndef SIMDB_ROOT_H
#define SIMDB_ROOT_H

#include <stdint.h>

/* Return the root of `number`, which must have a parent.  Every other number on the way is attached
   to its grandparent, which halves the path.  A parent is never larger than its child; a number
   with a larger parent counts as a root, so no content of the array leads out of it.

   Several threads may look for roots at a time, while none joins: whatever parent one of them reads
   is on the way to the same root. */
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
