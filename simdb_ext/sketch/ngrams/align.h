/* Alignment: from runs of equal words of a document and an item to the passages around them. */

#ifndef SIMDB_ALIGN_H
#define SIMDB_ALIGN_H

#include <stdint.h>

/* The most words in a row that may differ in a passage, on either side. */
#define ALIGN_CHANGED 3
/* Words that must be equal again after a change. */
#define ALIGN_AGAIN 2

/* A run of `length` equal words, which starts at these positions of both sides. */
struct align_run {
    int64_t document;
    int64_t item;
    int64_t length;
};

/* Words of a document that equal words of an item except for changes, with positions in both.
   `pair` is the number of the pair. */
struct align_passage {
    int64_t pair;
    int64_t document_start;
    int64_t document_stop;
    int64_t item_start;
    int64_t item_stop;
};

/* The words of one side. */
struct align_words {
    const uint64_t *words;
    int64_t count;
};

/* Half-open bounds of a search for equal words. */
struct align_bounds {
    int64_t document_start;
    int64_t document_stop;
    int64_t item_start;
    int64_t item_stop;
};

/* Find the next equal words forwards (step 1) or backwards (-1) from two positions: the adjacent
   words or, if they differ, words after a change.  Write the words to `run`, and the positions of
   the last of them to `at` and `own`.  Return 0 if there are none within bounds. */
int align_next(struct align_words document, struct align_words item,
               const struct align_bounds *within, int step, int64_t *at, int64_t *own,
               struct align_run *run);

/* Grow each run outside all earlier passages into a passage, on both sides, through equal words and
   across changes.  `found` has room for a passage of each run; return the number of passages. */
int64_t align_grow(struct align_words document, struct align_words item,
                   const struct align_run *runs, int64_t count, int64_t pair,
                   struct align_passage *found);

#endif
