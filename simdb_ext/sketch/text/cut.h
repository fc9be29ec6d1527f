/* Cutting text of any script into words. */

#ifndef SIMDB_CUT_H
#define SIMDB_CUT_H

#include "text.h"

/* The words of characters [start, stop), in UTF-8, in lower case if asked.  Where the word that
   touches `stop` begins is written to `open`, or `stop` where there is none; it counts.  Returns
   the number of tokens.  For n characters there is room for n + CUT_SLACK tokens and
   4 n + CUT_SLACK bytes; what is not needed is overwritten.

   `cut_spaces` is the same where a token is whatever lies between white space. */
typedef int64_t sketch_cut_function(const struct sketch_text *text, int64_t start, int64_t stop,
                                    int lowercase, const struct sketch_tokens *tokens,
                                    int64_t *open);

#define CUT_SLACK 64

#endif
