/* Parts: the paragraphs, lines and sentences of texts, and a key for the words of each.

   Parts are divided by separators, which belong to no part.

   Paragraph: lines without a blank line between them.  Line ends and blank lines separate.
   Line: the text between line ends, which are the mandatory breaks of UAX #14.
   Sentence: ends at a line end, or after a sentence terminator.  After . ! ? and the ellipsis,
     white space must follow, and then no lower-case letter.  Closing quotes and brackets belong to
     the sentence.  The white space after it separates. */

#ifndef SIMDB_PARTS_H
#define SIMDB_PARTS_H

#include <stdint.h>

#include "text/text.h"

enum part_unit { PART_PARAGRAPH, PART_LINE, PART_SENTENCE };

/* The positions where a part begins, where it ends, and where the next part begins. */
struct part {
    int64_t start;
    int64_t stop;
    int64_t next;
};

/* The place up to which texts are cut: a character of a text. */
struct part_place {
    int64_t text;
    int64_t position;
};

/* Fill the tables; call this once, after `unicode_unfold`. */
void parts_unfold(void);

/* Find the parts of a text, starting at `position`, which is 0 or the start of a part.  Write the
   first `room` parts, move `position` after them, and return their number.  Parts and separators
   together are the whole text. */
int64_t parts_find(const struct sketch_text *text, enum part_unit unit, int64_t *position,
                   struct part *found, int64_t room);

/* Write to `rest` a text without the parts whose flag is set.  It has the same width and room for
   the whole text.  There is one flag for each of `count` parts.  The separator after a part is
   dropped with it, and the text ends as it did before.  Return the number of characters, or -1 if
   the text does not have `count` parts. */
int64_t parts_rest(const struct sketch_text *text, enum part_unit unit, const uint8_t *is_dropped,
                   int64_t count, void *rest);

/* Take up to `room` parts of `count` texts, starting at `place`, and move `place` after them.
   Write each part as a text, and the number of its text to `owners`.  Add the number of parts of
   each text to `counts`.  Return the number of parts; it is below `room` only at the end. */
int64_t parts_take(const struct sketch_text *texts, int64_t count, enum part_unit unit,
                   struct part_place *place, struct sketch_text *parts, int64_t *owners,
                   int64_t *counts, int64_t room);

/* Write the key of each part, which depends on the hashes of its words in order.  The words of all
   parts are back to back; part i has counts[i] of them. */
void parts_keys(const uint64_t *words, const int64_t *counts, int64_t parts, uint64_t *keys);

#endif
