/* Characters as tokens: white space becomes one space and is dropped at both ends. */

#ifndef SIMDB_FOLD_H
#define SIMDB_FOLD_H

#include "text.h"

/* White space between two characters is held back until the second character comes. */
struct sketch_space {
    int is_begun; /* a character other than white space has come */
    int is_held;  /* white space has come after it */
};

#define FOLD_SLACK 65

/* Fold the characters [start, stop) of any text, each as a token in UTF-8; return their number. For
   n characters `tokens` has room for n + 1 tokens and 4 n + 4 bytes. */
int64_t sketch_fold_any(const struct sketch_text *text, int64_t start, int64_t stop, int lowercase,
                        struct sketch_space *space, const struct sketch_tokens *tokens);

#endif
