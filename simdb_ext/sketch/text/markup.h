/* Markup: parts of a text that are not words: tags and comments of HTML, commands of LaTeX, targets
   of links in Markdown, entities.  Spaces replace them.  The comma in 12,500 is omitted.

   `<!-- -->`: up to 400 characters between.
   `<tag>`, `</tag>`: a letter and up to 299 characters other than < and >.
   `\begin{x}`, `\end{x}`: x of up to 40 characters.
   `\name`, `\name*`: letters.  If \n, \r or \t precedes a capital, only these two characters.
   `](target)`: up to 300 characters without white space, brackets and parentheses.
   `&name;`, `&#1;`, `&#x1;`: 2 to 8 letters, 1 to 7 digits, 1 to 6 hexadecimal digits. */

#ifndef SIMDB_MARKUP_H
#define SIMDB_MARKUP_H

#include "text.h"

/* Return whether a text has any markup. */
int markup_is_any(const struct sketch_text *text);

/* Write a text without its markup to `room`, which has room for the whole text; return the number
   of characters.  Unless it is NULL, set is_dropped[i] for each omitted character. */
int64_t markup_strip(const struct sketch_text *text, void *room, uint8_t *is_dropped);

#endif
