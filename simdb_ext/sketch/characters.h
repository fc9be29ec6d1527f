/* Cutting text of any script, character by character, into tokens of UTF-8. */

#ifndef SIMDB_CHARACTERS_H
#define SIMDB_CHARACTERS_H

#include <stdint.h>

/* A Python str: code points of 1, 2 or 4 bytes each. */
struct sketch_text {
    const void *characters;
    int64_t length;
    int width;
    int is_ascii;
};

static inline uint32_t character_at(const struct sketch_text *text, int64_t position)
{
    if (text->width == 1)
        return ((const uint8_t *)text->characters)[position];
    if (text->width == 2)
        return ((const uint16_t *)text->characters)[position];
    return ((const uint32_t *)text->characters)[position];
}

/* Where to put tokens: token i is copy[starts[i]] .. copy[stops[i]].  For n characters there is
   room for n + 1 tokens and 4 n + 8 bytes. */
struct sketch_tokens {
    uint8_t *copy;
    uint32_t *starts;
    uint32_t *stops;
};

/* White space between two characters is held back until the second comes. */
struct sketch_space {
    int is_begun; /* there was a character that is not white space */
    int is_held;  /* white space came after it */
};

/* The words of characters [start, stop).  A word that touches `stop` counts: where it begins is
   written to `open`, or `stop` where there is none.  Returns the number of tokens. */
int64_t sketch_cut_words(const struct sketch_text *text, int64_t start, int64_t stop,
                         int lowercase, struct sketch_tokens *tokens, int64_t *open);

/* Each of the characters [start, stop), white space folded; returns the number of tokens. */
int64_t sketch_cut_characters(const struct sketch_text *text, int64_t start, int64_t stop,
                              int lowercase, struct sketch_space *space,
                              struct sketch_tokens *tokens);

/* The same for ASCII text, where each token is one byte of `copy`. */
int64_t sketch_fold(const uint8_t *text, int64_t length, int lowercase, struct sketch_space *space,
                    uint8_t *copy);

/* Whether there is a lone surrogate, which UTF-8 cannot spell. */
int sketch_has_surrogate(const struct sketch_text *text);

int sketch_is_ascii(const uint8_t *content, int64_t length);

#endif
