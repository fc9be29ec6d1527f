/* Leaks: how much of an item is in a document, from the n-grams that both have.

   Seeds, which are n-grams of both, are chained as minimap2 chains its (Li 2018, section 2.1): the
   score of a chain grows by the words that a seed adds and shrinks by what one side has more than
   the other between two seeds.  A chain grows between its seeds and at its ends over changed words
   (`align_next`), and is a passage then.  What counts is the passages that lie near one another in
   the document. */

#ifndef SIMDB_LEAKS_H
#define SIMDB_LEAKS_H

#include <stdint.h>

#include "align.h"

/* A chain goes on over at most so many words, to one of so many seeds before. */
#define LEAKS_GAP 25
#define LEAKS_BEFORE 32
/* So many chains are looked at. */
#define LEAKS_CHAINS 64
/* Passages count together if they end within 2 x the words of the item and so many more. */
#define LEAKS_NEAR 32
/* Numbers are compared where so many words of the document lie between equal ones, and in so many
   words at the ends of a passage. */
#define LEAKS_BETWEEN 23
#define LEAKS_ENDS 4
/* What a document has of an item: `covered`, the weight of its words; `equal`, how many; `same`,
   how many numbers; `other`, how many numbers it has another one for. */
struct leak_verdict {
    int64_t covered;
    int64_t equal;
    int64_t same;
    int64_t other;
};

/* A passage of a pair; its equal words are `runs` runs from `first_run` on. */
struct leak_passage {
    struct align_passage place;
    int64_t first_run;
    int64_t runs;
};

struct leak_scored;
struct leak_ranked;

/* Memory that calls share, and the passages and runs found so far; begins with all 0. */
struct leak_work {
    struct leak_passage *passages;
    int64_t passage_count, passage_room;
    struct align_run *runs;
    int64_t run_count, run_room;
    struct leak_scored *scored; /* the seeds */
    int64_t scored_room;
    struct leak_ranked *ranked; /* and by the scores of their chains */
    int64_t ranked_room;
    int64_t *covering; /* of each word of the item, by how many passages it is covered */
    int64_t word_room;
};

/* Judge a pair by its seeds, which ascend by document, then by item.  `weights`: of each word of
   the item.  Words are marked (SKETCH_NUMBER).  If at least `least` is covered, the passages are
   appended, as those of pair `number`; further on those of other copies with so much.  Return 0
   without memory. */
int leaks_judge(struct leak_work *work, struct align_words document, struct align_words item,
                const int64_t *weights, const struct align_run *seeds, int64_t count,
                int64_t least, int64_t number, struct leak_verdict *verdict);

/* Free the memory. */
void leaks_free(struct leak_work *work);

#endif
