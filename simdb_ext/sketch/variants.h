/* The operations that have a variant for each instruction set, and which variant is in use.

   Variants differ in speed only: every variant gives the same results, to the bit.  The header
   of each operation says what it does; its scalar variant is the definition. */

#ifndef SIMDB_VARIANTS_H
#define SIMDB_VARIANTS_H

#include <stddef.h>

#include "hash/further.h"
#include "hash/murmur.h"
#include "hash/shingles.h"
#include "minhash/agree.h"
#include "minhash/consistent.h"
#include "minhash/minima.h"
#include "text/clean.h"
#include "text/cut.h"
#include "text/fold.h"
#include "text/surrogate.h"
#include "text/words.h"
#include "weights/counts.h"
#include "weights/idf.h"
#include "weights/quantise.h"
#include "weights/units.h"
#include "weights/weigh.h"

struct sketch_operations {
    const char *name; /* of the variant */

    sketch_surrogate_function *surrogate;
    sketch_clean_function *clean;
    sketch_words_function *words;
    sketch_cut_function *cut;
    sketch_cut_function *cut_spaceless;
    sketch_cut_function *cut_spaces;
    sketch_fold_function *fold;

    sketch_hash_function *hash;
    sketch_shingles_function *shingles;
    sketch_further_function *further;

    sketch_counts_function *counts;
    sketch_units_function *units;
    sketch_idf_function *idf;
    sketch_weigh_function *weigh;
    sketch_quantise_function *quantise;

    struct minima_functions minima;
    consistent_function *consistent;
    struct agree_functions agree;
};

/* The variant in use: the scalar one, until the Python module selects the fastest at import. */
extern const struct sketch_operations *sketch_operations;

/* Return variant number `index` of those that this processor can run, the slowest first; NULL
   beyond the last. */
const struct sketch_operations *sketch_variant(size_t index);

#endif
