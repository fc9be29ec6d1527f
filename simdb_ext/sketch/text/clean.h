/* Cleaning: texts that look equal to a reader become equal.

   Characters that are not seen (Unicode's Default_Ignorable_Code_Point) are dropped, a word that a
   hyphen cuts at the end of a line is joined, and case is folded fully where that is more than
   lower case: final sigma, sharp s, ligatures (Unicode, section 5.18; CaseFolding.txt, status F).
   The text is in NFC then (UAX #15); texts that may not be are found here, by the quick check.
   Strays are what PDF and Word leave inside words: control characters, and U+FFF9 to U+FFFC. */

#ifndef SIMDB_CLEAN_H
#define SIMDB_CLEAN_H

#include "text.h"

/* How a text is cleaned.  SKETCH_TURKIC: the capital of the dotless i is I, as in Turkish and
   Azerbaijani.  SKETCH_STRAYS: strays are dropped, too. */
enum sketch_cleaning {
    SKETCH_UNCLEANED = 0,
    SKETCH_CLEANED = 1,
    SKETCH_TURKIC = 2,
    SKETCH_STRAYS = 4
};

/* What a text needs before it is clean. */
enum { CLEAN_REWRITE = 1, CLEAN_COMPOSE = 2 };

/* How to clean, bits of `enum sketch_cleaning`; case is folded only if `lowercase`. */
struct clean_settings {
    int cleaning;
    int lowercase;
};

/* Fill the tables; call this once, after `unicode_unfold`. */
void clean_unfold(void);

/* The bytes of the clean text are at most this many times those of the text. */
#define CLEAN_GROWTH 4

/* Write the clean text to `room` and make it `text`. */
void clean_write(struct sketch_text *text, struct clean_settings settings, void *room);

#endif
