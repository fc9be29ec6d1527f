/* Markup: what stands in a text and is no word of it: the tags and comments of HTML, the commands
   of LaTeX, the targets of Markdown's links, entities.  In its place come spaces.  The comma in a
   number like 12,500 is left out.

   <!-- -->          up to 400 characters between
   <tag>, </tag>     a letter and up to 299 other characters but < and >
   \begin{x}, \end{x}    x up to 40 characters
   \name, \name*     letters; \n, \r and \t alone before a capital
   ](target)         up to 300 characters without white space, brackets and parentheses
   &name; &#1; &#x1; 2 to 8 letters, 1 to 7 digits, 1 to 6 hexadecimal digits */

#ifndef SIMDB_MARKUP_H
#define SIMDB_MARKUP_H

#include "text.h"

/* Return whether a text has any markup. */
int markup_is_any(const struct sketch_text *text);

/* Write a text without its markup to `room`, which has room for the whole text, and return its
   number of characters.  Set is_dropped[i] for each character that is left out, unless it is
   NULL. */
int64_t markup_strip(const struct sketch_text *text, void *room, uint8_t *is_dropped);

#endif
