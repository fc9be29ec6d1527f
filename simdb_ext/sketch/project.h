/* Texts to weights: tokens, their hashes, shingles, and how often each bit is set. */

#ifndef SIMDB_PROJECT_H
#define SIMDB_PROJECT_H

#include <stdint.h>

#include "counts.h"
#include "cut.h"
#include "fold.h"
#include "shingles.h"
#include "text.h"
#include "words.h"

#define SKETCH_SHINGLE_MAX 1024
#define SKETCH_FEATURES_MAX INT32_MAX /* or a weight could overflow */

/* Characters cut at a time; what is made of them stays in the first level cache. */
#define SKETCH_WINDOW 4096

/* Tokens of which hashes are held: a window's, and those kept for the next one's shingles. */
#define SKETCH_HELD (SKETCH_WINDOW + 1 + SKETCH_SHINGLE_MAX)

/* More than any way to cut text may overwrite. */
#define SKETCH_SLACK (WORDS_SLACK + CUT_SLACK + FOLD_SLACK)

struct sketch_settings {
    int shingle;
    uint32_t seed;
    int is_characters;
    int is_lowercase;
    int is_replaced; /* lone surrogates, by '?'; else they are an error */
};

/* A token that is given: its bytes. */
struct sketch_token {
    const uint8_t *content;
    int64_t length;
};

enum sketch_outcome { SKETCH_DONE, SKETCH_SURROGATE, SKETCH_TOO_MANY };

/* Working memory of one call. */
struct sketch_scratch {
    uint8_t copy[4 * SKETCH_WINDOW + SKETCH_SLACK];
    uint32_t starts[SKETCH_WINDOW + SKETCH_SLACK];
    uint32_t stops[SKETCH_WINDOW + SKETCH_SLACK];
    uint64_t first[SKETCH_HELD + SHINGLES_SLACK];
    uint64_t second[SKETCH_HELD + SHINGLES_SLACK];
    uint64_t letters[128][2]; /* hashes of tokens of one ASCII character */
    uint32_t ones[SKETCH_DIMENSIONS];
    int64_t held;
    int64_t features;
};

/* Weights int32[count][128] and numbers of features of texts, up to the first that has an error;
   `done` becomes the number of those before it. */
enum sketch_outcome sketch_project_texts(const struct sketch_text *texts, int64_t count,
                                         const struct sketch_settings *settings,
                                         struct sketch_scratch *scratch, int32_t *weights,
                                         int64_t *features, int64_t *done);

/* The same of documents, the tokens of the i-th being tokens[offsets[i]] .. [offsets[i + 1]]. */
enum sketch_outcome sketch_project_tokens(const struct sketch_token *tokens,
                                          const int64_t *offsets, int64_t count,
                                          const struct sketch_settings *settings,
                                          struct sketch_scratch *scratch, int32_t *weights,
                                          int64_t *features, int64_t *done);

#endif
