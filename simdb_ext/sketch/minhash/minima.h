/* MinHash: the least value that each permutation gives to any feature of a document. */

#ifndef SIMDB_MINIMA_H
#define SIMDB_MINIMA_H

#include <stdint.h>

#define MINIMA_MOST 1024
#define MINIMA_STEP 8 /* the number of permutations is a multiple of this */

enum minima_kind {
    MINIMA_STRATIFIED,
    MINIMA_MULTIPLY_SHIFT,
    MINIMA_MERSENNE,
    MINIMA_ONE_PERMUTATION
};

struct minima_family {
    enum minima_kind kind;
    int count;     /* permutations: a multiple of MINIMA_STEP, at most MINIMA_MOST */
    int is_narrow; /* whether only the highest 32 bits of a mixed hash are used, as both halves */
    /* The lower 16 bits are 0 for MINIMA_STRATIFIED; values are 1 to 2^61 - 2 for
       MINIMA_MERSENNE. */
    const uint64_t *multipliers;
    const uint64_t *increments;  /* below 2^61 - 1 for MINIMA_MERSENNE */
};

/* The minima of one document, with all bits set until there is a feature.  For
   MINIMA_ONE_PERMUTATION also whether each bin has a feature. */
struct minima {
    uint32_t values[MINIMA_MOST];
    uint8_t filled[MINIMA_MOST];
};

/* Replace each hash by its feature: the mixed hash or, if `is_narrow`, its upper half in both
   halves. */
typedef void minima_mix_function(uint64_t *hashes, int64_t count, int is_narrow);

/* Lower values[i] to the least value that permutation i gives to any of the features. */
typedef void minima_function(const struct minima_family *family, const uint64_t *features,
                             int64_t count, uint32_t *values);

/* The functions that have a variant for each instruction set. */
struct minima_functions {
    minima_mix_function *mix;
    minima_function *stratified; /* for MINIMA_STRATIFIED */
    minima_function *shift;    /* for MINIMA_MULTIPLY_SHIFT */
    minima_function *mersenne; /* for MINIMA_MERSENNE */
};

void minima_begin(struct minima *minima, const struct minima_family *family);

/* Add the features with these hashes; the hashes are overwritten. */
void minima_add(const struct minima_functions *functions, struct minima *minima,
                const struct minima_family *family, uint64_t *hashes, int64_t count);

/* Write the finished signature of a document that had features. */
void minima_end(struct minima *minima, const struct minima_family *family, uint32_t *row);

/* Write a signature as it is stored, with `bits` bits (8, 2 or 1) for each minimum.  Minimum i
   begins at bit i * bits, the lowest bit of a byte first.  A stored minimum is the highest bits of
   the 32-bit minimum times an odd number of its permutation.

   `minima_pack` writes four bytes for each minimum instead, the least significant first. */
void minima_narrow(const uint32_t *minima, const struct minima_family *family, int bits,
                   uint8_t *packed);
void minima_pack(const uint32_t *minima, const struct minima_family *family, uint8_t *packed);

/* Write the signature of one document.  Feature i occurs counts[i] times, or once if `counts` is
   NULL.  Each occurrence is a feature of its own.  Return the number of occurrences. */
int64_t minima_of_features(const struct minima_functions *functions,
                           const struct minima_family *family, const uint64_t *hashes,
                           const uint32_t *counts, int64_t count, uint32_t *row);

/* Write to keys[i * bands + b] the hash of b and of the minima b * rows .. b * rows + rows - 1 of
   signature i.  Minima of `bits` bits (32, 8, 2 or 1) are packed as by the functions above.
   Signatures are `width` minima apart, which are whole bytes. */
void bands_keys(const void *minima, int bits, int64_t count, int width, int bands, int rows,
                uint64_t *keys);

#endif
