/* The operations that have a variant for each instruction set, and which variant is in use.

   Variants differ in speed only: every variant gives the same results, to the bit.  The scalar
   variant is the definition. */

#ifndef SIMDB_VARIANTS_H
#define SIMDB_VARIANTS_H

#include <stddef.h>
#include <stdint.h>

#include "minhash/minima.h"
#include "text/clean.h"
#include "text/text.h"
#include "weights/weights.h"

/* Entries after the needed ones, in the outputs and in the words of `shingles`. */
#define WORDS_SLACK 64
#define CUT_SLACK 64
#define FOLD_SLACK 65
#define SHINGLES_SLACK 8

/* Cut the characters [start, stop) into words, and write the words in UTF-8, in lower case if
   `lowercase`.  Return their number.  If the last word touches `stop`, it counts, and `open`
   becomes the character where it begins; else `open` becomes `stop`.  For n characters, `tokens`
   has room for n + CUT_SLACK tokens and 4 n + CUT_SLACK bytes; unneeded room is overwritten. */
typedef int64_t sketch_cut_function(const struct sketch_text *text, int64_t start, int64_t stop,
                                    int lowercase, const struct sketch_tokens *tokens,
                                    int64_t *open);

/* Write to agreeing[i] the number of `width` places in which row i of `right` equals row i of
   `left`, or the only row of `left` if `is_one`. */
typedef void agree_function(const void *left, int is_one, const void *right, int64_t count,
                            int width, uint16_t *agreeing);

struct sketch_operations {
    const char *name; /* of the variant */

    /* Return 1 if a text has a lone surrogate, which UTF-8 cannot encode, else 0. */
    int (*surrogate)(const struct sketch_text *text);

    /* Return the steps that a text needs before it is clean, 0 for none. */
    int (*clean)(const struct sketch_text *text, struct clean_settings settings);

    /* Copy the ASCII characters text[0 .. length) to `copy`, in lower case if `lowercase`.  Write
       the start and stop of each word, a longest sequence of letters, digits and underscores, and
       return the number of words.  Each output has room for WORDS_SLACK unneeded entries, which are
       overwritten. */
    int64_t (*words)(const uint8_t *text, int64_t length, int lowercase, uint8_t *copy,
                     uint32_t *starts, uint32_t *stops);

    /* A CJK character is a word by itself.  With `cut_spaceless`, so is each letter and mark of any
       script without spaces.  With `cut_spaces`, words are separated by white space alone. */
    sketch_cut_function *cut;
    sketch_cut_function *cut_spaceless;
    sketch_cut_function *cut_spaces;

    /* Append ASCII characters to `copy`, in lower case if `lowercase`; return their number.  White
       space becomes one space and is dropped at both ends.  `copy` has room for `length` +
       FOLD_SLACK. */
    int64_t (*fold)(const uint8_t *text, int64_t length, int lowercase,
                    struct sketch_space *space, uint8_t *copy);

    /* Hash text[starts[i]] .. text[stops[i]] into first[i] and second[i], i = 0 .. count - 1, with
       MurmurHash3_x64_128.  The 16 bytes after the last stop must be readable, but have no
       effect. */
    void (*hash)(const uint8_t *text, const uint32_t *starts, const uint32_t *stops, int64_t count,
                 uint32_t seed, uint64_t *first, uint64_t *second);

    /* Replace words[i] by the hash of words[i] .. words[i + shingle - 1], i = 0 .. count - 1, with
       shingle > 1.  The hash is fmix64 of the xor of these words, each rotated left by 23 for every
       word after it.  The last shingle - 1 words do not change.  SHINGLES_SLACK further words must
       be readable. */
    void (*shingles)(uint64_t *words, int64_t count, int shingle);

    /* Write the third and fourth word of `count` features, for more than 128 weights: third[i] is
       fmix64(first[i] ^ MIX_THIRD_WORD), and fourth[i] is fmix64(first[i] ^ MIX_FOURTH_WORD). */
    void (*further)(const uint64_t *first, int64_t count, uint64_t *third, uint64_t *fourth);

    /* Add 1 to ones[j] for every i with bit j of first[i] set, and to ones[64 + j] for every i with
       bit j of second[i] set. */
    void (*counts)(const uint64_t *first, const uint64_t *second, int64_t count, uint32_t *ones);

    /* Add weights[i] to sums[j] for every i with bit j of first[i] set, and to sums[64 + j] for
       every i with bit j of second[i] set. */
    void (*units)(const uint64_t *first, const uint64_t *second, const uint32_t *weights,
                  int64_t count, uint64_t *sums);

    /* Write the weight of each hash. */
    void (*idf)(const struct sketch_idf *idf, const uint64_t *hashes, int64_t count,
                uint32_t *weights);

    /* Write to projected[64 k + j], k = 0 .. words - 1, the sum over i of weights[i] (1 if NULL).
       A weight is negated if bit j of word k of hashes[i] is clear.  Word 0 is the hash itself;
       word k > 0 is fmix64(hash ^ k * 0x9E3779B97F4A7C15).  Sums are formed in double precision
       from 0 in the order of i, then rounded. */
    void (*weigh)(const uint64_t *hashes, const float *weights, int64_t count, int words,
                  float *projected);

    /* Convert weights to fingerprints and packed volatility vectors.  Bit j of a fingerprint is set
       if weight j >= 0.  Byte i of a vector holds dimension i in its low half and dimension i +
       dimensions / 2 in its high half.  A half is min(15, max(0, floor(w scale) + 8)).  The scale
       is 1 / (0.335 sqrt(s / dimensions)), or 0 if s = 0; s is the sum of squares, added in order.

       Weights are int32, or float if `is_float`, [count][dimensions]; dimensions is 64, 128 or 256.
       Return the first row whose s is not finite, or -1; that row and later ones are not
       written. */
    int64_t (*quantise)(const void *weights, int is_float, int64_t count, int dimensions,
                        uint64_t *fingerprints, uint8_t *vectors);

    struct minima_functions minima;

    /* Write the signature of one document of weighted features with distinct hashes.  row[j] names
       the sample that is drawn under keys[j], j = 0 .. permutations - 1.  All bits are set if no
       weight is above 0.  Return the number of features with a weight above 0. */
    int64_t (*consistent)(const uint64_t *keys, int permutations, const uint64_t *hashes,
                          const float *weights, int64_t count, uint32_t *row);

    agree_function *agree_narrow; /* minima of 1 byte */
    agree_function *agree_wide;   /* minima of 4 bytes, at any address */
    agree_function *agree_one_bit;  /* packed minima of 1 bit and of 2 bits; rows of whole bytes */
    agree_function *agree_two_bits;
};

/* The variant in use: the scalar one, until the Python module selects the fastest at import. */
extern const struct sketch_operations *sketch_operations;

/* Return variant number `index` among the variants that this processor can run, in ascending order
   of speed; NULL beyond the last. */
const struct sketch_operations *sketch_variant(size_t index);

#endif
