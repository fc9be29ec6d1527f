/* From texts to weights: tokens, their hashes, shingles, and the number of times each bit is
   set. */

#ifndef SIMDB_PROJECT_H
#define SIMDB_PROJECT_H

#include <stdint.h>

#include "scratch.h"

/* A given token: its bytes. */
struct sketch_token {
    const uint8_t *content;
    int64_t length;
};

/* Hash the tokens of one ASCII character, which depend on the seed alone.  Call this once before
   any text is read. */
void sketch_tokens_begin(struct sketch_scratch *scratch, const struct sketch_settings *settings);

/* Hold the hashes of the tokens starting at `position`, in at most a window of characters; return
   where the next window begins. */
int64_t sketch_hold_window(struct sketch_scratch *scratch, const struct sketch_text *text,
                           int64_t position, struct sketch_space *space,
                           const struct sketch_settings *settings);

/* Hold the hashes of the first of some given tokens, at most a window; return their number. */
int64_t sketch_hold_given(struct sketch_scratch *scratch, const struct sketch_token *tokens,
                          int64_t count, const struct sketch_settings *settings);

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

/* Fill the table of logarithms; call this once, before anything else. */
void sketch_project_begin(void);

/* Write weights and numbers of features of the texts, starting at text `done`, up to the first text
   with an error.  `done` becomes the number of texts before it.  Texts whose number of features is
   not negative are skipped.  `sketch_tokens_begin` has prepared `scratch`.

   Weights are [count][settings->dimensions], int32 for SKETCH_TF and SKETCH_BINARY without idf,
   else float.  With SKETCH_COLLECT there are no weights, and the features of the last text remain
   in the bag.  With SKETCH_MINHASH, weights are signatures, uint32 [count][family->count].  With
   any other counting and a family, signatures are written to scratch->signatures.

   Unknown tokens are recorded in `scratch`, and forgotten first if `done` is 0.  A text with
   unknown tokens keeps a negative number of features. */
enum sketch_outcome sketch_project_texts(const struct sketch_text *texts, int64_t count,
                                         const struct sketch_settings *settings,
                                         struct sketch_scratch *scratch, void *weights,
                                         int64_t *features, int64_t *done);

/* Do what `sketch_project_texts` does for documents given as tokens: document i has the tokens
   offsets[i] to offsets[i + 1]. */
enum sketch_outcome sketch_project_tokens(const struct sketch_token *tokens,
                                          const int64_t *offsets, int64_t count,
                                          const struct sketch_settings *settings,
                                          struct sketch_scratch *scratch, void *weights,
                                          int64_t *features, int64_t *done);

/* The fingerprint of simhash-cpp, as weights. */

#define MOZ_WINDOW_MAX 64
#define MOZ_TOKENS_MAX (INT32_MAX / 2) /* above this a weight could overflow */

/* Write weights int32[count][128] and numbers of tokens of texts, up to the first text with an
   error; `done` becomes the number of texts before it. */
enum sketch_outcome sketch_moz_texts(const struct sketch_text *texts, int64_t count, int window,
                                     int is_replaced, int32_t *weights, int64_t *features,
                                     int64_t *done);

/* Write where the words of a text begin and end, two positions each, and return their number.
   `places` has room for a word of each character.  A lone surrogate is a question mark. */
int64_t sketch_place_words(const struct sketch_text *text, enum sketch_unit unit,
                           int64_t *places);

#endif
