/* Cutting ASCII text into words: longest sequences of letters, digits and underscores. */

#ifndef SIMDB_WORDS_H
#define SIMDB_WORDS_H

#include <stdint.h>

/* Copy text[0 .. length) to `copy`, in lower case if `lowercase`, and write where each word starts
   and stops.  Return the number of words.  Each output has room for WORDS_SLACK more entries than
   are needed; they are overwritten. */
typedef int64_t sketch_words_function(const uint8_t *text, int64_t length, int lowercase,
                                      uint8_t *copy, uint32_t *starts, uint32_t *stops);

#define WORDS_SLACK 64

#endif
