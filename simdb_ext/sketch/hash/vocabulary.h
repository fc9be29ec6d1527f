/* What becomes of tokens: some are left out, some give way to others. */

#ifndef SIMDB_VOCABULARY_H
#define SIMDB_VOCABULARY_H

#include <stdint.h>

#define VOCABULARY_TOKEN_MAX 255 /* bytes; a longer token is kept as it is */

/* Hash of what stands in the place of a token; both words 0: nothing. */
struct sketch_meaning {
    uint64_t first;
    uint64_t second;
};

/* A hash table by the first words of the tokens' hashes, 0 where there is none; of the mask + 1
   places, a power of two, at least three in four are empty. */
struct sketch_vocabulary {
    uint64_t *keys;
    struct sketch_meaning *meanings;
    uint64_t mask;
    int is_complete; /* what is there goes, what is not is kept; else that is unknown */
};

/* Tokens that were not known, one after the other, each behind its length. */
struct sketch_unknown {
    uint8_t content[1 << 16];
    int64_t size;
};

/* The place of a token by the first word of its hash, or the empty one where it belongs. */
uint64_t sketch_vocabulary_place(const struct sketch_vocabulary *vocabulary, uint64_t first);

/* Write down an unknown token; where there is no room for it, it will come again. */
void sketch_unknown_add(struct sketch_unknown *unknown, const uint8_t *content, int64_t length);

#endif
