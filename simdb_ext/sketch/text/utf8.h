/* UTF-8: checking it, and decoding it to code points of one width, as a Python str has them. */

#ifndef SIMDB_UTF8_H
#define SIMDB_UTF8_H

#include <stdint.h>

#include "text.h"

/* The width of a text that is still UTF-8, whose length is in bytes.  Once `utf8_accept` has found
   it valid, its width is minus the result of `utf8_measure`. */
#define UTF8_WIDTH 0

/* Return the bytes that each code point of a text needs, 1, 2 or 4, and write the number of code
   points to `count`.  Return 0 if the bytes are not valid UTF-8 (Unicode, section 3.9, D92: no
   surrogates, no longer form than needed, nothing above 10FFFF). */
int utf8_measure(const uint8_t *content, int64_t length, int64_t *count);

/* Check the texts that are still UTF-8, starting at `start`.  An ASCII text is used without
   decoding.  For any other text, add to `size` the bytes that it needs once it is decoded.  Return
   the position of the first text that is not valid UTF-8, or `stop`. */
int64_t utf8_accept(struct sketch_text *texts, int64_t start, int64_t stop, int64_t *size);

/* Decode the texts that `utf8_accept` found valid into `room`, which is aligned for uint32_t and
   has at least the `size` that `utf8_accept` added up. */
void utf8_decode(struct sketch_text *texts, int64_t count, uint8_t *room);

#endif
