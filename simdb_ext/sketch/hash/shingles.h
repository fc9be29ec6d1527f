/* Hashes of shingles, which are windows of consecutive tokens. */

#ifndef SIMDB_SHINGLES_H
#define SIMDB_SHINGLES_H

#include <stdint.h>

/* Replace words[i] by the hash of words[i] .. words[i + shingle - 1], i = 0 .. count - 1, with
   shingle > 1: fmix64 of the xor of these words, each rotated left by 23 for every word after it.
    The last shingle - 1 words stay as they are.  SHINGLES_SLACK further words must be readable. */
typedef void sketch_shingles_function(uint64_t *words, int64_t count, int shingle);

#define SHINGLES_SLACK 8

#endif
