/* Seeds: the n-grams that a document and an item share, found by the entries of a table. */

#ifndef SIMDB_SEEDS_H
#define SIMDB_SEEDS_H

#include <stdint.h>

#include "align.h"
#include "ngrams.h"

/* The most different n-grams that a rule can ask for. */
#define SEEDS_LEAST_MOST 3

/* A place of an entry: the item, and the first word there.  An item may have several places of an
   entry, one of which is the first. */
struct seed_posting {
    uint32_t item;
    uint32_t start : 31;
    uint32_t is_first : 1;
};

/* The items of the entries of a table: entry e has all[bounds[e]] .. all[bounds[e + 1] - 1]. */
struct seed_postings {
    const uint32_t *bounds;
    const struct seed_posting *all;
    int64_t entries;
    int64_t items;
};

/* A rule by which a document may contain item i: least[i] different entries lie within spans[i]
   words.  Only entries marked in is_counted count, except for items marked in is_whole, where all
   count.  NULL: all entries count. */
struct seed_rule {
    const int32_t *least;
    const int64_t *spans;
    const uint8_t *is_counted;
    const uint8_t *is_whole;
};

/* A document and an item that have seeds. */
struct seed_pair {
    int64_t document;
    int64_t item;
};

/* The seeds found: pair p has the seeds bounds[p] to bounds[p + 1]; all 0 at first. */
struct seed_found {
    struct seed_pair *pairs;
    int64_t *bounds;
    int64_t pair_count, pair_room;
    struct align_run *runs;
    uint32_t *entries;
    int64_t run_count, run_room;
};

/* Mark in has_any[d] each document d that may contain an item, judged by the first places of
   entries.  Write the distinct entries of each document to `seen`, which has room for `count`.
   Hits are in the order of document and position.  Return the number of entries written; -1 without
   memory. */
int64_t seeds_screen(const struct seed_postings *postings, const struct seed_rule *rule,
                     const struct ngram_hit *hits, int64_t count, uint8_t *has_any,
                     uint32_t *seen);

/* Append the pairs of a document and an item that it may contain, in the order of document and
   item.  Append all seeds of each pair, of `length` words, in the order of position and start.
   Hits are in the order of document and position.  Return 0 without memory. */
int seeds_find(const struct seed_postings *postings, const struct seed_rule *rule,
               const struct ngram_hit *hits, int64_t count, int64_t length,
               struct seed_found *found);

/* Free the memory. */
void seeds_free(struct seed_found *found);

#endif
