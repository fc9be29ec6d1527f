/* Characters as tokens: white space is folded to one space and cut off at both ends. */

#ifndef SIMDB_FOLD_H
#define SIMDB_FOLD_H

#include "text.h"

/* White space between two characters is held back until the second comes. */
struct sketch_space {
    int is_begun; /* there was a character that is not white space */
    int is_held;  /* white space came after it */
};

/* The characters of ASCII text go on in `copy`, in lower case if asked; returns how many there
   are.  There is room for `length` + FOLD_SLACK. */
typedef int64_t sketch_fold_function(const uint8_t *text, int64_t length, int lowercase,
                                     struct sketch_space *space, uint8_t *copy);

#define FOLD_SLACK 65

/* The same for characters [start, stop) of any text, each as a token of UTF-8; returns their
   number.  For n characters there is room for n + 1 tokens and 4 n + 4 bytes. */
int64_t sketch_fold_any(const struct sketch_text *text, int64_t start, int64_t stop, int lowercase,
                        struct sketch_space *space, const struct sketch_tokens *tokens);

#endif
