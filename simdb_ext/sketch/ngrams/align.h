/* Alignment: from runs of equal words of a document and an item to the passages around them. */

#ifndef SIMDB_ALIGN_H
#define SIMDB_ALIGN_H

#include <stdint.h>

/* So many words in a row may differ in a passage, on either side ... */
#define ALIGN_CHANGED 3
/* ... if so many words are equal again behind them. */
#define ALIGN_AGAIN 2

/* Equal words: `length` words of both sides, from these positions on. */
struct align_run {
    int64_t document;
    int64_t item;
    int64_t length;
};

/* Words of a document that are, but for changes, words of an item; positions of both.  `pair` is
   the number of both. */
struct align_passage {
    int64_t pair;
    int64_t document_start;
    int64_t document_stop;
    int64_t item_start;
    int64_t item_stop;
};

/* Words of one side. */
struct align_words {
    const uint64_t *words;
    int64_t count;
};

/* Where to look for equal words: starts are in it, stops are not. */
struct align_bounds {
    int64_t document_start;
    int64_t document_stop;
    int64_t item_start;
    int64_t item_stop;
};

/* From two positions on, find the next equal words forwards (step 1) or backwards (-1): those that
   follow at once or, if there are none, behind a change.  Put them into `run`, and the positions of
   the last of them into `at` and `own`; return 0 if there are none within bounds. */
int align_next(struct align_words document, struct align_words item,
               const struct align_bounds *within, int step, int64_t *at, int64_t *own,
               struct align_run *run);

/* Grow each run that is in no passage yet into a passage, on both sides, as long as words are equal
   and over changes.  `found` has room for a passage of each run; return how many there are. */
int64_t align_grow(struct align_words document, struct align_words item,
                   const struct align_run *runs, int64_t count, int64_t pair,
                   struct align_passage *found);

#endif
