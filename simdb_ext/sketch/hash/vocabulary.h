/* The vocabulary: which tokens are left out, and which are replaced by others. */

#ifndef SIMDB_VOCABULARY_H
#define SIMDB_VOCABULARY_H

#include <stdint.h>
#include <string.h>

#define VOCABULARY_TOKEN_MAX 255 /* bytes; a longer token is never replaced */

/* The hash of what replaces a token; if both words are 0, the token is left out. */
struct sketch_meaning {
    uint64_t first;
    uint64_t second;
};

/* A hash table whose keys are the first words of the hashes of tokens, 0 in an empty place.  Of the
   mask + 1 places, a power of two, at least three in four are empty. */
struct sketch_vocabulary {
    uint64_t *keys;
    struct sketch_meaning *meanings;
    uint64_t mask;
    int is_complete; /* a token that is not in the table is kept; else it is unknown */
};

/* Unknown tokens, one after the other, each behind one byte with its length. */
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

/* Record an unknown token; without room it is dropped and will come again. */
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
