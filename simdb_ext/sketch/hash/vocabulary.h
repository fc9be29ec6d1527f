/* The vocabulary: tokens that are omitted or replaced by other tokens. */

#ifndef SIMDB_VOCABULARY_H
#define SIMDB_VOCABULARY_H

#include <stdint.h>
#include <string.h>

#define VOCABULARY_TOKEN_MAX 255 /* bytes; a longer token is never replaced */

/* The hash of the replacement of a token; if both words are 0, the token is omitted. */
struct sketch_meaning {
    uint64_t first;
    uint64_t second;
};

/* A hash table whose keys are the first words of the hashes of tokens, 0 in an empty place.  There
   are mask + 1 places, a power of two, of which at least three quarters are empty. */
struct sketch_vocabulary {
    uint64_t *keys;
    struct sketch_meaning *meanings;
    uint64_t mask;
    int is_complete; /* whether a token outside the table is kept; otherwise it is unknown */
};

/* Unknown tokens back to back, each after one byte with its length. */
struct sketch_unknown {
    uint8_t content[1 << 16];
    int64_t size;
};

/* Return the place of a token, given the first word of its hash, or the empty place for it. */
static inline uint64_t sketch_vocabulary_place(const struct sketch_vocabulary *vocabulary,
                                               uint64_t first)
{
    uint64_t place = first & vocabulary->mask;

    while (vocabulary->keys[place] != 0 && vocabulary->keys[place] != first)
        place = (place + 1) & vocabulary->mask;
    return place;
}

/* Record an unknown token.  Without room it is dropped, and recorded when the text is read
   again. */
static inline void sketch_unknown_add(struct sketch_unknown *unknown, const uint8_t *content,
                                      int64_t length)
{
    if (unknown->size + 1 + length > (int64_t)sizeof unknown->content)
        return;
    unknown->content[unknown->size++] = (uint8_t)length;
    memcpy(unknown->content + unknown->size, content, (size_t)length);
    unknown->size += length;
}

#endif
