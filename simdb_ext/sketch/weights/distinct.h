/* The distinct features of one document: a bag counts how often each occurs, a set does not. */

#ifndef SIMDB_DISTINCT_H
#define SIMDB_DISTINCT_H

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

/* `places`, SET_PLACES * room of them, hold the first words of hashes, or 0.  Only the first mask +
   1, a power of two, are in use; between documents all are 0.  `members` is memory for moving the
   words to more places. */
struct sketch_set {
    uint64_t *places;
    uint64_t *members;
    int64_t room; /* a power of two, SET_LEAST or more */
    int64_t count;
    uint64_t mask;
};

#define SET_PLACES 8
#define SET_LEAST 64

/* Begin a document of about `expected` features. */
void sketch_set_begin(struct sketch_set *set, int64_t expected);

/* Move the features whose first word is new to the front; return how many, or -1 if there is no
   room for them. */
int64_t sketch_set_keep_new(struct sketch_set *set, uint64_t *first, uint64_t *second,
                            int64_t count);

/* Clear the places that the document used. */
void sketch_set_end(struct sketch_set *set);

#endif
