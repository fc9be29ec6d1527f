/* Fingerprints to the keys of a table and back. */

#ifndef SIMDB_PERMUTE_H
#define SIMDB_PERMUTE_H

#include <stdint.h>

#define ARRANGE_WORD_BITS 64

/* A permutation of the bits of a word: the words rotated to the left by turns[i], of which only
   the bits in targets[i] count, laid over each other.  Bits that lie together travel together, so
   that the few blocks of a table need a few rotations, of as many words at once as there are
   lanes; the bit-gathering instruction of x86 takes one word and is slow on some processors. */
struct arrange_rotations {
    int count;
    int turns[ARRANGE_WORD_BITS];
    uint64_t targets[ARRANGE_WORD_BITS];
};

/* Moves the bits in `mask` to the front, each group in its old order. */
struct arrange_rotations arrange_leading(uint64_t mask);

/* The opposite of arrange_leading(mask). */
struct arrange_rotations arrange_trailing(uint64_t mask);

/* out[i] = words[i] permuted, i = 0 .. count - 1; `out` may be `words`. */
typedef void arrange_permute_function(const uint64_t *words, int64_t count,
                                      const struct arrange_rotations *rotations, uint64_t *out);

#endif
