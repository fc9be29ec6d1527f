/* What `clean.c` knows of characters, for the ways to look through a text. */

#ifndef SIMDB_CLEAN_INSIDE_H
#define SIMDB_CLEAN_INSIDE_H

#include "clean.h"
#include "unicode.h"

/* For each code point: its canonical combining class, and what else is to know. */
extern uint16_t clean_entries[CODE_POINTS];

#define CLEAN_CLASS 0xFF
#define CLEAN_UNSEEN 0x100
#define CLEAN_FOLDS 0x200
#define CLEAN_COMPOSING 0x400 /* NFC may change it, alone or with the character before it */
#define CLEAN_LOWER 0x800     /* the lower case of another character */

/* If a word is cut by the hyphen at `at`, return where it goes on; else return 0. */
int64_t clean_joined(const struct sketch_text *text, int64_t at);

/* Return what the characters [start, stop) need; they are looked at one by one. */
int clean_needs(const struct sketch_text *text, int64_t start, int64_t stop,
                struct clean_settings settings);

#endif
