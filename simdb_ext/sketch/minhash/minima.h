/* MinHash: of each of some permutations, the least value that it gives a feature of a document. */

#ifndef SIMDB_MINIMA_H
#define SIMDB_MINIMA_H

#include <stdint.h>

#define MINIMA_MOST 1024
#define MINIMA_STEP 8 /* of the number of permutations */

enum minima_kind { MINIMA_MULTIPLY_SHIFT, MINIMA_MERSENNE, MINIMA_ONE_PERMUTATION };

struct minima_family {
    enum minima_kind kind;
    int count;     /* of permutations, a multiple of MINIMA_STEP, at most MINIMA_MOST */
    int is_narrow; /* a feature is the highest 32 bits of its mixed hash, twice, else all 64 */
    const uint64_t *multipliers; /* for MINIMA_MERSENNE from 1 to 2^61 - 2 */
    const uint64_t *increments;  /* for MINIMA_MERSENNE below 2^61 - 1 */
};

/* The minima of one document, all bits set where there is none yet, and for MINIMA_ONE_PERMUTATION
   whether a bin has a feature. */
struct minima {
    uint32_t values[MINIMA_MOST];
    uint8_t filled[MINIMA_MOST];
};

/* Replace hashes by features: mixed, and both halves the upper one where `is_narrow`. */
typedef void minima_mix_function(uint64_t *hashes, int64_t count, int is_narrow);

/* values[i] = the least of values[i] and the value of each feature under permutation i. */
typedef void minima_function(const struct minima_family *family, const uint64_t *features,
                             int64_t count, uint32_t *values);

/* The functions that have variants. */
struct minima_functions {
    minima_mix_function *mix;
    minima_function *shift;    /* for MINIMA_MULTIPLY_SHIFT */
    minima_function *mersenne; /* for MINIMA_MERSENNE */
};

void minima_begin(struct minima *minima, const struct minima_family *family);

/* Take the features with these hashes, which are overwritten. */
void minima_add(const struct minima_functions *functions, struct minima *minima,
                const struct minima_family *family, uint64_t *hashes, int64_t count);

/* The finished signature, of a document that had features. */
void minima_end(struct minima *minima, const struct minima_family *family, uint32_t *row);

/* The signature of one document; feature i occurs counts[i] times, once where counts is NULL, and
   each occurrence is a feature of its own.  Returns how many there are. */
int64_t minima_of_features(const struct minima_functions *functions,
                           const struct minima_family *family, const uint64_t *hashes,
                           const uint32_t *counts, int64_t count, uint32_t *row);

#endif
