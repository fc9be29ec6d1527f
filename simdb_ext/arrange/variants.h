/* The operations that have a variant for each instruction set, and which variant is in use.

   Variants differ in speed only; the scalar variant is the definition. */

#ifndef SIMDB_VARIANTS_H
#define SIMDB_VARIANTS_H

#include <stddef.h>
#include <stdint.h>

#define ARRANGE_WORD_BITS 64

/* A permutation of the bits of a word as a few rotations: the result is the OR of the word rotated
   left by turns[i] and masked with targets[i].  The bits of a block move together, so a table needs
   few rotations, and one instruction rotates a word in every lane.  The instruction of x86 that
   gathers bits handles one word, and is slow on some processors. */
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

/* A way to cut hashes of many bits into parts: part p is a word whose highest bits are the next
   sizes[p] bits of `order`.  Bit 0 is the highest of the first byte. */
struct arrange_deal {
    int64_t width; /* bytes of a hash */
    int64_t parts;
    const uint16_t *order; /* 8 * width numbers of bits, each below 8 * width */
    const uint8_t *sizes;  /* at most ARRANGE_WORD_BITS each; their sum is 8 * width */
};

enum { ARRANGE_DEAL_WORDS = 4 }; /* parts that are made together */

/* Return the bytes of scratch memory that `deal` needs for hashes of this width. */
static inline size_t arrange_deal_scratch(int64_t width)
{
    return (size_t)width * 2 * 16 * ARRANGE_DEAL_WORDS * sizeof(uint64_t);
}

#define ENTRY_SUM_LOW 0x9E3779B1u
#define ENTRY_SUM_HIGH 0x85EBCA77u

struct arrange_operations {
    const char *name; /* of the variant */

    /* Write words[i] permuted to out[i], i = 0 .. count - 1; `out` may be `words`. */
    void (*permute)(const uint64_t *words, int64_t count,
                    const struct arrange_rotations *rotations, uint64_t *out);

    /* Copy, in order, the entries whose ordinal has its bit clear in `dead`, that is, which are not
       deleted.  Ordinal o is bit o & 7 of byte o >> 3.  Return the number of copied entries; or -1,
       with arbitrary output, if an ordinal is beyond the `dead_size` bytes.

       The output has room for `count` entries and may be the input itself. */
    int64_t (*keep)(const uint64_t *keys, const uint32_t *ordinals, int64_t count,
                    const uint8_t *dead, int64_t dead_size, uint64_t *keys_out,
                    uint32_t *ordinals_out);

    /* Return the position of the first key that is smaller than the key before it, or -1 if the
       keys ascend. */
    int64_t (*descent)(const uint64_t *keys, int64_t count);

    /* Return the checksum of the entries of a table: the sum of all entries in any order.  An entry
       counts as key + (low + a * ordinal) * (high + b * ordinal).  Here low and high are the halves
       of its key, a is ENTRY_SUM_LOW and b is ENTRY_SUM_HIGH.  The two factors are taken modulo
       2^32, everything else modulo 2^64.  The sum of two tables is the sum of their sums. */
    uint64_t (*entry_sum)(const uint64_t *keys, const uint32_t *ordinals, int64_t count);

    /* Write part p of hash i to out[p * count + i]; low bits that a part does not fill are 0. */
    void (*deal)(const uint8_t *hashes, int64_t count, const struct arrange_deal *how,
                 void *scratch, uint64_t *out);
};

/* The variant in use: the scalar one, until the Python module selects the fastest at import. */
extern const struct arrange_operations *arrange_operations;

/* Return variant number `index` among the variants that this processor can run, in ascending order
   of speed; NULL beyond the last. */
const struct arrange_operations *arrange_variant(size_t index);

#endif
