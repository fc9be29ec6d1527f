/* The distinct features of one document, if it does not matter how often each occurs. */

#ifndef SIMDB_SET_H
#define SIMDB_SET_H

#include <stdint.h>

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
