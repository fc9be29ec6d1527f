/* Parts: where the paragraphs, lines and sentences of texts lie, and a key for the words of each.

   A part lies between separators, which no part holds.

   paragraph   lines without a blank line between them; line ends and blank lines separate
   line        what lies between line ends: the mandatory breaks of UAX #14
   sentence    ends at a line end; behind . ! ? and the ellipsis if white space follows, and then no
               lower-case letter; behind a sentence terminator of any other script.  Closing quotes
               and brackets belong to it, and the white space behind separates */

#ifndef SIMDB_PARTS_H
#define SIMDB_PARTS_H

#include <stdint.h>

#include "text/text.h"

enum part_unit { PART_PARAGRAPH, PART_LINE, PART_SENTENCE };

/* Where a part begins, where it ends, and where the next one begins. */
struct part {
    int64_t start;
    int64_t stop;
    int64_t next;
};

/* How far texts are cut: to this character of this text. */
struct part_place {
    int64_t text;
    int64_t position;
};

/* Fill the tables; call this once, after `unicode_unfold`. */
void parts_unfold(void);

/* Find parts of a text from `position` on, which is 0 or where a part begins, and move it behind
   them.  The first `room` are written; return how many there are.  Together with what separates
   them they are the text. */
int64_t parts_find(const struct sketch_text *text, enum part_unit unit, int64_t *position,
                   struct part *found, int64_t room);

/* Write what is left of a text without the parts that have a flag, one for each of `count` parts,
   to `rest`, of the same width, which has room for the text.  A part goes with what
   separates it from the next one, and the text ends as it did before.  Return the number of
   characters; -1 if the text has another number of parts. */
int64_t parts_rest(const struct sketch_text *text, enum part_unit unit, const uint8_t *is_dropped,
                   int64_t count, void *rest);

/* Take up to `room` parts of `count` texts, from `place` on, and move it behind them.  Write each
   part as a text, with the number of the text that it is from, and add up the parts of each text in
   `counts`.  Return how many parts there are; fewer than `room` only at the end. */
int64_t parts_take(const struct sketch_text *texts, int64_t count, enum part_unit unit,
                   struct part_place *place, struct sketch_text *parts, int64_t *owners,
                   int64_t *counts, int64_t room);

/* Write the key of each part, which follows from the hashes of its words in order.  The words of
   parts lie one after the other; part i has counts[i] of them. */
void parts_keys(const uint64_t *words, const int64_t *counts, int64_t parts, uint64_t *keys);

#endif
