/* Hashes of windows of consecutive tokens. */

#ifndef SIMDB_SHINGLES_H
#define SIMDB_SHINGLES_H

#include <stdint.h>

/* Replace words[i] by the hash of words[i] .. words[i + shingle - 1], i = 0 .. count - 1, where
   shingle > 1: fmix64 of the xor of the words, each rotated by 23 for every one after it.  The
   last shingle - 1 words stay as they are.  SHINGLES_SLACK more words are readable. */
typedef void sketch_shingles_function(uint64_t *words, int64_t count, int shingle);

#define SHINGLES_SLACK 8

#endif
