/* Seeds: the n-grams that a document and an item share, found by the entries of a table. */

#ifndef SIMDB_SEEDS_H
#define SIMDB_SEEDS_H

#include <stdint.h>

#include "align.h"
#include "ngrams.h"

/* At most so many different n-grams have to be near one another. */
#define SEEDS_LEAST_MOST 3

/* That an item has an entry, from a word on.  It may have several places; one of them is the
   first. */
struct seed_posting {
    uint32_t item;
    uint32_t start : 31;
    uint32_t is_first : 1;
};

/* Which items have an entry: entry e has the postings all[bounds[e]] .. all[bounds[e + 1] - 1]. */
struct seed_postings {
    const uint32_t *bounds;
    const struct seed_posting *all;
    int64_t entries;
    int64_t items;
};

/* A document may have an item if `least` different entries lie within `spans` words; both of each
   item.  Only the entries count that are marked in is_counted, but all of an item in is_whole;
   NULL: all count. */
struct seed_rule {
    const int32_t *least;
    const int64_t *spans;
    const uint8_t *is_counted;
    const uint8_t *is_whole;
};

/* A document and an item with seeds. */
struct seed_pair {
    int64_t document;
    int64_t item;
};

/* Seeds found: pair p has those from bounds[p] to bounds[p + 1]; begins with all 0. */
struct seed_found {
    struct seed_pair *pairs;
    int64_t *bounds;
    int64_t pair_count, pair_room;
    struct align_run *runs;
    uint32_t *entries;
    int64_t run_count, run_room;
};

/* Mark in has_any[d] each document d that may have an item, by the first places of entries, and
   write the entries of each document, each once, to `seen`, which has room for `count`.  Hits come
   by document and position.  Return how many entries were written, -1 without memory. */
int64_t seeds_screen(const struct seed_postings *postings, const struct seed_rule *rule,
                     const struct ngram_hit *hits, int64_t count, uint8_t *has_any,
                     uint32_t *seen);

/* Append the pairs of which the document may have the item, by document and item, and all seeds of
   each, of `length` words, by position and start.  Hits come by document and position.  Return 0
   without memory. */
int seeds_find(const struct seed_postings *postings, const struct seed_rule *rule,
               const struct ngram_hit *hits, int64_t count, int64_t length,
               struct seed_found *found);

/* Free the memory. */
void seeds_free(struct seed_found *found);

#endif
