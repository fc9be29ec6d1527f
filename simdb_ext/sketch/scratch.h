/* The settings of one call, and its working memory. */

#ifndef SIMDB_SCRATCH_H
#define SIMDB_SCRATCH_H

#include <stdint.h>

#include "hash/vocabulary.h"
#include "variants.h"
#include "weights/distinct.h"

#define SKETCH_SHINGLE_MAX 1024

/* Characters cut together; everything made of them stays in the first-level cache. */
#define SKETCH_WINDOW 4096

/* Hashes of tokens that are held: a window of them, and those needed for shingles with the next
   window. */
#define SKETCH_HELD (SKETCH_WINDOW + 1 + SKETCH_SHINGLE_MAX)

/* Features whose further words are made together. */
#define SKETCH_FURTHER 1024

/* More entries than any function that cuts text may overwrite. */
#define SKETCH_SLACK (WORDS_SLACK + CUT_SLACK + FOLD_SLACK)

/* SKETCH_SPACELESS differs from words in that each letter and mark of a script without spaces is
   one. */
enum sketch_unit { SKETCH_WORDS, SKETCH_CHARACTERS, SKETCH_WHITESPACE, SKETCH_SPACELESS };

/* The count of a feature that occurs n times: n (TF), 1 (BINARY) or 1 + ln n (LOG_TF).  COLLECT
   only collects the features.  MINHASH makes a signature of them.  SEQUENCE keeps each occurrence,
   in order. */
enum sketch_counting {
    SKETCH_TF,
    SKETCH_BINARY,
    SKETCH_LOG_TF,
    SKETCH_COLLECT,
    SKETCH_MINHASH,
    SKETCH_SEQUENCE
};

/* The first words of the hashes of all features of some texts.  The first `done` words belong to
   texts before the current one. */
struct sketch_sequence {
    uint64_t *words;
    int64_t room;
    int64_t count;
    int64_t done;
};

struct sketch_settings {
    int shingle;
    uint32_t seed;
    enum sketch_unit unit;
    int is_lowercase;
    struct clean_settings clean;
    int is_replaced; /* whether '?' replaces a lone surrogate; otherwise it is an error */
    enum sketch_counting counting;
    int is_marked; /* whether markup is omitted, and the hashes of words have marks */
    int dimensions; /* weights of a document: SKETCH_DIMENSIONS or SKETCH_DIMENSIONS_MAX */
    const struct sketch_vocabulary *vocabulary; /* or NULL */
    const struct sketch_idf *idf;               /* or NULL */
    /* For MINHASH, or to make signatures together with the weights of TF and BINARY; else NULL. */
    const struct minima_family *family;
};

/* Working memory of one call. */
struct sketch_scratch {
    uint8_t copy[4 * SKETCH_WINDOW + SKETCH_SLACK];
    uint32_t starts[SKETCH_WINDOW + SKETCH_SLACK];
    uint32_t stops[SKETCH_WINDOW + SKETCH_SLACK];
    uint64_t first[SKETCH_HELD + SHINGLES_SLACK];
    uint64_t second[SKETCH_HELD + SHINGLES_SLACK];
    uint32_t units[SKETCH_HELD];
    uint64_t letters[128][2]; /* hash of the token of each ASCII character */
    uint64_t third[SKETCH_FURTHER]; /* further words of some features, for more weights */
    uint64_t fourth[SKETCH_FURTHER];
    uint32_t ones[SKETCH_DIMENSIONS_MAX];
    uint64_t sums[SKETCH_DIMENSIONS_MAX]; /* used unless all weights are 1 */
    uint64_t total;
    int64_t held;
    int64_t features; /* occurrences of features */
    int64_t counted;  /* features in `ones` or `sums` */
    int is_incomplete; /* whether the document has an unknown token */
    int is_full;       /* whether the bag or the set was too small */
    struct sketch_bag bag; /* for SKETCH_LOG_TF and SKETCH_COLLECT */
    struct sketch_set set; /* for SKETCH_BINARY */
    struct minima minima;  /* with a family */
    uint32_t *signatures;  /* output for signatures that are made together with weights */
    struct sketch_sequence sequence; /* for SKETCH_SEQUENCE */
    struct sketch_unknown unknown;
};

#endif
