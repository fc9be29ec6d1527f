/* Leaks: the part of an item that a document contains, found from the n-grams that they share.

   Seeds are n-grams of both sides.  They are chained as in minimap2 (Li 2018, section 2.1):
   the score of a chain grows by the words that a seed adds.  It shrinks by the words that one side
   has more than the other between two seeds.  A chain then grows between its seeds and at its ends,
   across changed words (`align_next`), into a passage.  Passages that lie near one another in the
   document count together. */

#ifndef SIMDB_LEAKS_H
#define SIMDB_LEAKS_H

#include <stdint.h>

#include "align.h"

/* Limits on the words between two seeds of a chain, and on the predecessors tried for a seed. */
#define LEAKS_GAP 25
#define LEAKS_BEFORE 32
/* The most chains of a pair. */
#define LEAKS_CHAINS 64
/* Passages count together if they lie within 2 * (words of the item) + LEAKS_NEAR words. */
#define LEAKS_NEAR 32
/* Numbers are compared between equal words that are up to LEAKS_BETWEEN words of the document
   apart, and in LEAKS_ENDS words at each end of a passage. */
#define LEAKS_BETWEEN 23
#define LEAKS_ENDS 4
/* The part of an item that a document has.  `covered` is the weight of its words, `equal` their
   number, and `same` the number of numbers among them.  `other` counts the numbers of the item in
   whose place the document has a different one. */
struct leak_verdict {
    int64_t covered;
    int64_t equal;
    int64_t same;
    int64_t other;
};

/* A passage of a pair; its equal words are `runs` runs, starting at `first_run`. */
struct leak_passage {
    struct align_passage place;
    int64_t first_run;
    int64_t runs;
};

struct leak_scored;
struct leak_ranked;

/* Memory that calls share, and the passages and runs found so far; all 0 at first. */
struct leak_work {
    struct leak_passage *passages;
    int64_t passage_count, passage_room;
    struct align_run *runs;
    int64_t run_count, run_room;
    struct leak_scored *scored; /* the seeds */
    int64_t scored_room;
    struct leak_ranked *ranked; /* seeds by the scores of their chains */
    int64_t ranked_room;
    int64_t *covering; /* for each word of the item, the number of passages that cover it */
    int64_t word_room;
};

/* Judge a pair by its seeds, which are in the order of document, then item.  `weights` has one
   weight for each word of the item.  Words are marked (SKETCH_NUMBER).

   If at least `least` is covered, append the passages, with the number `number` of the pair.
   Append further copies in the document of which at least `least` is covered, too.  Return 0
   without memory. */
int leaks_judge(struct leak_work *work, struct align_words document, struct align_words item,
                const int64_t *weights, const struct align_run *seeds, int64_t count,
                int64_t least, int64_t number, struct leak_verdict *verdict);

/* Free the memory. */
void leaks_free(struct leak_work *work);

#endif
