/* The distinct features of one document, and how often each occurs. */

#ifndef SIMDB_BAG_H
#define SIMDB_BAG_H

#include <stdint.h>

/* Features are in the order in which they came, with room for `room` of them.  `slots` is a hash
   table of 2 * room or more places; a place has the number of a feature plus 1, or 0.  Only the
   first slot_mask + 1 places, a power of two, are in use, so that a short document clears
   little. */
struct sketch_bag {
    uint64_t *first;
    uint64_t *second;
    uint32_t *counts;
    uint32_t *slots;
    int64_t room; /* a power of two, BAG_LEAST or more */
    int64_t count;
    uint64_t slot_mask;
};

#define BAG_LEAST 128

/* Empty the bag for about `expected` features. */
void sketch_bag_clear(struct sketch_bag *bag, int64_t expected);

/* Count features; return 0 if there is no room for all of them, else 1. */
int sketch_bag_add(struct sketch_bag *bag, const uint64_t *first, const uint64_t *second,
                   int64_t count);

#endif
