/* UTF-8: checks it, and decodes it to code points of one width, as a Python str has them. */

#ifndef SIMDB_UTF8_H
#define SIMDB_UTF8_H

#include <stdint.h>

#include "text.h"

/* The width of a text that is still UTF-8, with its length in bytes.  Once `utf8_accept` has found
   it valid, its width is minus what `utf8_measure` returns. */
#define UTF8_WIDTH 0

/* Return the bytes that each code point of a text needs: 1, 2 or 4, and put the number of code
   points into `count`.  Return 0 if the bytes are not valid UTF-8 (Unicode, section 3.9, D92: no
   surrogates, no longer form than needed, nothing above 10FFFF). */
int utf8_measure(const uint8_t *content, int64_t length, int64_t *count);

/* Look at the texts from `start` on that are still UTF-8.  ASCII becomes a text as it is; of other
   texts, the bytes that they need once they are decoded are added to `size`.  Return the position
   of the first text that is not valid UTF-8, or `stop`. */
int64_t utf8_accept(struct sketch_text *texts, int64_t start, int64_t stop, int64_t *size);

/* Decode the texts that `utf8_accept` has found valid into `room`, which is aligned for uint32_t
   and has at least the `size` that it has added up. */
void utf8_decode(struct sketch_text *texts, int64_t count, uint8_t *room);

#endif
