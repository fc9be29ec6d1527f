/* All operations, each defined in a header, compiled for the instruction set that VECTORS names. */

#include "cpu.h"

#if CPU_HAS_VECTORS

#include "variants.h"

#include "hash/hashes.h"
#include "minhash/agree.h"
#include "minhash/consistent.h"
#include "minhash/lower.h"
#include "text/ascii.h"
#include "text/cut.h"
#include "text/needs.h"
#include "vector.h"
#include "weights/idf.h"
#include "weights/quantise.h"
#include "weights/sums.h"

const struct sketch_operations VECTOR_JOINED(sketch_operations, VECTOR_NAME) = {
    .name = VECTOR_TEXT(VECTOR_NAME),
    .surrogate = surrogate,
    .clean = clean,
    .words = words,
    .cut = cut,
    .cut_spaceless = cut_spaceless,
    .cut_spaces = cut_spaces,
    .fold = fold,
    .hash = hash,
    .shingles = shingles,
    .further = further,
    .counts = counts,
    .units = units,
    .idf = idf,
    .weigh = weigh,
    .quantise = quantise,
    .minima = {mix_features, minima_stratified, minima_shift, minima_mersenne},
    .consistent = consistent,
    .agree_narrow = agree_narrow,
    .agree_wide = agree_wide,
    .agree_one_bit = agree_one_bit,
    .agree_two_bits = agree_two_bits,
};

VECTOR_END

CPU_CHOICE(sketch_operations, sketch_variant)

#endif
