/* Cutting ASCII text into words: longest sequences of letters, digits and underscores. */

#ifndef SIMDB_WORDS_H
#define SIMDB_WORDS_H

#include <stdint.h>

/* Copies text[0 .. length) to `copy`, in lower case if asked, and writes where each word starts
   and stops.  Returns the number of words.  There is room for WORDS_SLACK more bytes in `copy`
   and entries in the others than are needed; they are overwritten. */
typedef int64_t sketch_words_function(const uint8_t *text, int64_t length, int lowercase,
                                      uint8_t *copy, uint32_t *starts, uint32_t *stops);

#define WORDS_SLACK 64

#endif
