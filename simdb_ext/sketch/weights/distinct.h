/* The distinct features of one document: a bag counts occurrences, a set does not. */

#ifndef SIMDB_DISTINCT_H
#define SIMDB_DISTINCT_H

#include <stdint.h>

/* Features in the order in which they came, with room for `room`.  `slots` is a hash table of at
   least 2 * room places; a place has the number of a feature plus 1, or 0.  Only the first
   slot_mask + 1 places, a power of two, are used, so that a short document clears few. */
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

/* Count features; return 1, or 0 if there is no room for all of them. */
int sketch_bag_add(struct sketch_bag *bag, const uint64_t *first, const uint64_t *second,
                   int64_t count);

/* A set of the first words of hashes.  `places` has SET_PLACES * room places, each a word or 0.
   Only the first mask + 1, a power of two, are used; between documents all are 0.  `members` is
   memory for moving the words to more places. */
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

/* Move the features whose first word is new to the front; return their number, or -1 if there is no
   room for them. */
int64_t sketch_set_keep_new(struct sketch_set *set, uint64_t *first, uint64_t *second,
                            int64_t count);

/* Clear the places that the document used. */
void sketch_set_end(struct sketch_set *set);

#endif
