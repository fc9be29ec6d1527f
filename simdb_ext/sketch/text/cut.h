/* Cutting text of any script into tokens. */

#ifndef SIMDB_CUT_H
#define SIMDB_CUT_H

#include "text.h"

/* Cut the characters [start, stop) into words, write the words in UTF-8, in lower case if
   `lowercase`, and return their number.  If the last word touches `stop`, it counts, and `open`
   becomes the character where it begins; else `open` becomes `stop`.  For n characters `tokens` has
   room for n + CUT_SLACK tokens and 4 n + CUT_SLACK bytes; room that is not needed is overwritten.

   A CJK character is a word by itself.  `cut_spaceless` does the same, but every letter and mark of
   any script without spaces is a word by itself, too.  `cut_spaces` does the same for tokens of
   whatever lies between white space. */
typedef int64_t sketch_cut_function(const struct sketch_text *text, int64_t start, int64_t stop,
                                    int lowercase, const struct sketch_tokens *tokens,
                                    int64_t *open);

#define CUT_SLACK 64

#endif
