/* Cleaning: texts that look equal to a reader become equal.

   Invisible characters (Unicode's Default_Ignorable_Code_Point) are dropped, and a word that is
   hyphenated at a line end is joined.  Characters whose full case folding is not their lower case
   are folded: final sigma, sharp s, ligatures (Unicode, section 5.18; CaseFolding.txt, status F).
   Texts are in NFC first (UAX #15); its quick check finds texts that may not be.

   Strays are characters that PDF and Word insert into words: control characters, and U+FFF9 to
   U+FFFC. */

#ifndef SIMDB_CLEAN_H
#define SIMDB_CLEAN_H

#include "text.h"

/* The ways to clean.  SKETCH_TURKIC: I becomes the dotless i, as in Turkish and Azerbaijani.
   SKETCH_STRAYS: strays are dropped, too. */
enum sketch_cleaning {
    SKETCH_UNCLEANED = 0,
    SKETCH_CLEANED = 1,
    SKETCH_TURKIC = 2,
    SKETCH_STRAYS = 4
};

/* The steps that a text needs to become clean. */
enum { CLEAN_REWRITE = 1, CLEAN_COMPOSE = 2 };

/* The settings: bits of `enum sketch_cleaning`, and whether case is folded. */
struct clean_settings {
    int cleaning;
    int lowercase;
};

/* Fill the tables; call this once, after `unicode_unfold`. */
void clean_unfold(void);

/* A limit on the ratio of the bytes of a clean text to the bytes of the text. */
#define CLEAN_GROWTH 4

/* Write the clean text to `room` and make it `text`. */
void clean_write(struct sketch_text *text, struct clean_settings settings, void *room);

#endif
