/* A Python str in memory, and the outputs for its tokens. */

#ifndef SIMDB_TEXT_H
#define SIMDB_TEXT_H

#include <stdint.h>

/* Code points of 1, 2 or 4 bytes each. */
struct sketch_text {
    const void *characters;
    int64_t length;
    int width;
    int is_ascii;
    int is_clean; /* whether it has been cleaned; otherwise it is tested before it is cut */
};

static inline uint32_t character_at(const struct sketch_text *text, int64_t position)
{
    if (text->width == 1)
        return ((const uint8_t *)text->characters)[position];
    if (text->width == 2)
        return ((const uint16_t *)text->characters)[position];
    return ((const uint32_t *)text->characters)[position];
}

/* Write a character, which fits the width, at a place of an array of characters. */
static inline void put_character(void *room, int width, int64_t place, uint32_t code)
{
    if (width == 1)
        ((uint8_t *)room)[place] = (uint8_t)code;
    else if (width == 2)
        ((uint16_t *)room)[place] = (uint16_t)code;
    else
        ((uint32_t *)room)[place] = code;
}

/* Outputs for tokens: token i is copy[starts[i]] .. copy[stops[i]]. */
struct sketch_tokens {
    uint8_t *copy;
    uint32_t *starts;
    uint32_t *stops;
};

/* The state of white space if characters are tokens.  White space becomes one space and is dropped
   at both ends, so it is held back until the next character comes. */
struct sketch_space {
    int is_begun; /* a character other than white space has come */
    int is_held;  /* white space has come after it */
};

int sketch_is_ascii(const uint8_t *content, int64_t length);

#endif
