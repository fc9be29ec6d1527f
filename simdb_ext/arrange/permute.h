/* Permuting fingerprints into keys of a table, and back. */

#ifndef SIMDB_PERMUTE_H
#define SIMDB_PERMUTE_H

#include <stdint.h>

#define ARRANGE_WORD_BITS 64

/* A permutation of the bits of a word as a few rotations: the result is the OR of the word rotated
   left by turns[i] and masked with targets[i].  The bits of a block move together, so a table needs
   few rotations, and each rotation handles as many words at once as there are lanes.  The
   instruction of x86 that gathers bits handles one word and is slow on some processors. */
struct arrange_rotations {
    int count;
    int turns[ARRANGE_WORD_BITS];
    uint64_t targets[ARRANGE_WORD_BITS];
};

/* Return the permutation that moves the bits in `mask` to the front; both groups of bits keep their
   order. */
struct arrange_rotations arrange_leading(uint64_t mask);

/* Return the inverse of arrange_leading(mask). */
struct arrange_rotations arrange_trailing(uint64_t mask);

#endif
