/* From texts to weights: tokens, their hashes, shingles, and how often each bit is set. */

#ifndef SIMDB_PROJECT_H
#define SIMDB_PROJECT_H

#include <stdint.h>

#include "scratch.h"
#include "tokens.h"

#define SKETCH_FEATURES_MAX INT32_MAX /* above this a weight could overflow */

/* SKETCH_FULL: the bag or the set has no room for the document; enlarge it and call again.
   SKETCH_UNCLEAN: the text needs cleaning; clean it and call again. */
enum sketch_outcome {
    SKETCH_DONE,
    SKETCH_SURROGATE,
    SKETCH_UNCLEAN,
    SKETCH_TOO_MANY,
    SKETCH_FULL
};

/* Fill the tables of logarithms and places; call this once, before anything else. */
void sketch_project_begin(void);

/* Write weights and numbers of features of the texts whose number of features is given as negative,
   from text `done` on up to the first text with an error; `done` becomes the number of texts before
   it.  Unknown tokens are forgotten if `done` is 0.
   `sketch_tokens_begin` has prepared `scratch`.  Weights are [count][settings->dimensions], int32
   for SKETCH_TF and SKETCH_BINARY without idf, else float.  A text with unknown tokens, which
   `scratch` then holds, keeps a negative number.  With SKETCH_COLLECT the features of the last text
   stay in the bag, and there are no weights.  With SKETCH_MINHASH weights are signatures, uint32
   [count][family->count]. */
enum sketch_outcome sketch_project_texts(const struct sketch_text *texts, int64_t count,
                                         const struct sketch_settings *settings,
                                         struct sketch_scratch *scratch, void *weights,
                                         int64_t *features, int64_t *done);

/* Do the same for documents given as tokens; document i has the tokens from offsets[i] up to
   offsets[i + 1]. */
enum sketch_outcome sketch_project_tokens(const struct sketch_token *tokens,
                                          const int64_t *offsets, int64_t count,
                                          const struct sketch_settings *settings,
                                          struct sketch_scratch *scratch, void *weights,
                                          int64_t *features, int64_t *done);

#endif
