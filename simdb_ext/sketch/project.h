/* Texts to weights: tokens, their hashes, shingles, and how often each bit is set. */

#ifndef SIMDB_PROJECT_H
#define SIMDB_PROJECT_H

#include <stdint.h>

#include "scratch.h"
#include "tokens.h"

#define SKETCH_FEATURES_MAX INT32_MAX /* or a weight could overflow */

/* SKETCH_FULL: the bag, or set, has no room for the document; widen it and call again. */
enum sketch_outcome { SKETCH_DONE, SKETCH_SURROGATE, SKETCH_TOO_MANY, SKETCH_FULL };

/* To be called once, before anything else. */
void sketch_project_begin(void);

/* Weights [count][128], int32 for SKETCH_TF and SKETCH_BINARY without idf, else float, and
   numbers of features of those texts whose number of features is given as negative, up to the
   first that has an error; `done` becomes the number of those before it.  Texts with unknown
   tokens, which `scratch` then holds, keep a negative number.  With SKETCH_COLLECT the features
   of the last text are left in the bag, and there are no weights.  With SKETCH_SIGN weights are
   signatures, uint32 [count][family->count]. */
enum sketch_outcome sketch_project_texts(const struct sketch_text *texts, int64_t count,
                                         const struct sketch_settings *settings,
                                         struct sketch_scratch *scratch, void *weights,
                                         int64_t *features, int64_t *done);

/* The same of documents, the tokens of the i-th being tokens[offsets[i]] .. [offsets[i + 1]]. */
enum sketch_outcome sketch_project_tokens(const struct sketch_token *tokens,
                                          const int64_t *offsets, int64_t count,
                                          const struct sketch_settings *settings,
                                          struct sketch_scratch *scratch, void *weights,
                                          int64_t *features, int64_t *done);

#endif
