#include "variants.h"

#include "cpu.h"
#include "hash/further_avx2.h"
#include "hash/further_avx512.h"
#include "hash/further_scalar.h"
#include "hash/murmur_avx2.h"
#include "hash/murmur_avx512.h"
#include "hash/murmur_scalar.h"
#include "hash/shingles_avx2.h"
#include "hash/shingles_avx512.h"
#include "hash/shingles_scalar.h"
#include "minhash/agree_avx2.h"
#include "minhash/agree_avx512.h"
#include "minhash/agree_neon.h"
#include "minhash/agree_scalar.h"
#include "minhash/consistent_avx512.h"
#include "minhash/consistent_scalar.h"
#include "minhash/minima_avx2.h"
#include "minhash/minima_avx512.h"
#include "minhash/minima_neon.h"
#include "minhash/minima_scalar.h"
#include "text/clean_avx2.h"
#include "text/clean_scalar.h"
#include "text/cut_avx2.h"
#include "text/cut_avx512.h"
#include "text/cut_neon.h"
#include "text/cut_scalar.h"
#include "text/fold_avx512.h"
#include "text/fold_scalar.h"
#include "text/surrogate_avx2.h"
#include "text/surrogate_scalar.h"
#include "text/words_avx2.h"
#include "text/words_avx512.h"
#include "text/words_neon.h"
#include "text/words_scalar.h"
#include "weights/counts_avx2.h"
#include "weights/counts_avx512.h"
#include "weights/counts_neon.h"
#include "weights/counts_scalar.h"
#include "weights/idf_avx512.h"
#include "weights/idf_scalar.h"
#include "weights/quantise_avx2.h"
#include "weights/quantise_avx512.h"
#include "weights/quantise_scalar.h"
#include "weights/units_avx2.h"
#include "weights/units_avx512.h"
#include "weights/units_neon.h"
#include "weights/units_scalar.h"
#include "weights/weigh_avx2.h"
#include "weights/weigh_avx512.h"
#include "weights/weigh_scalar.h"

static const struct sketch_operations scalar = {
    .name = "scalar",
    .surrogate = surrogate_scalar,
    .clean = clean_scalar,
    .words = words_scalar,
    .cut = cut_scalar,
    .cut_spaceless = cut_spaceless_scalar,
    .cut_spaces = cut_spaces_scalar,
    .fold = fold_scalar,
    .hash = hash_scalar,
    .shingles = shingles_scalar,
    .further = further_scalar,
    .counts = counts_scalar,
    .units = units_scalar,
    .idf = idf_scalar,
    .weigh = weigh_scalar,
    .quantise = quantise_scalar,
    .minima = {mix_features_scalar, minima_stratified_scalar, minima_shift_scalar,
               minima_mersenne_scalar},
    .consistent = consistent_scalar,
    .agree = {agree_narrow_scalar, agree_wide_scalar},
};

#if CPU_X86

/* An operation without code for an instruction set has its scalar function there. */
static const struct sketch_operations avx2 = {
    .name = "avx2",
    .surrogate = surrogate_avx2,
    .clean = clean_avx2,
    .words = words_avx2,
    .cut = cut_avx2,
    .cut_spaceless = cut_spaceless_avx2,
    .cut_spaces = cut_spaces_scalar,
    .fold = fold_scalar,
    .hash = hash_avx2,
    .shingles = shingles_avx2,
    .further = further_avx2,
    .counts = counts_avx2,
    .units = units_avx2,
    .idf = idf_scalar,
    .weigh = weigh_avx2,
    .quantise = quantise_avx2,
    .minima = {mix_features_avx2, minima_stratified_avx2, minima_shift_avx2,
               minima_mersenne_scalar},
    .consistent = consistent_scalar,
    .agree = {agree_narrow_avx2, agree_wide_avx2},
};

static const struct sketch_operations avx512 = {
    .name = "avx512",
    .surrogate = surrogate_avx2,
    .clean = clean_avx2,
    .words = words_avx512,
    .cut = cut_avx512,
    .cut_spaceless = cut_spaceless_avx512,
    .cut_spaces = cut_spaces_scalar,
    .fold = fold_avx512,
    .hash = hash_avx512,
    .shingles = shingles_avx512,
    .further = further_avx512,
    .counts = counts_avx512,
    .units = units_avx512,
    .idf = idf_avx512,
    .weigh = weigh_avx512,
    .quantise = quantise_avx512,
    .minima = {mix_features_avx512, minima_stratified_avx512, minima_shift_avx512,
               minima_mersenne_avx512},
    .consistent = consistent_avx512,
    .agree = {agree_narrow_avx512, agree_wide_avx512},
};

const struct sketch_operations *sketch_variant(size_t index)
{
    const struct sketch_operations *const all[] = {&scalar, &avx2, &avx512};

    return index <= (size_t)cpu_best() ? all[index] : NULL;
}

#elif CPU_NEON

/* Hashes are products of 64 bits, which NEON does not have. */
static const struct sketch_operations neon = {
    .name = "neon",
    .surrogate = surrogate_scalar,
    .clean = clean_scalar,
    .words = words_neon,
    .cut = cut_neon,
    .cut_spaceless = cut_spaceless_neon,
    .cut_spaces = cut_spaces_scalar,
    .fold = fold_scalar,
    .hash = hash_scalar,
    .shingles = shingles_scalar,
    .further = further_scalar,
    .counts = counts_neon,
    .units = units_neon,
    .idf = idf_scalar,
    .weigh = weigh_scalar,
    .quantise = quantise_scalar,
    .minima = {mix_features_scalar, minima_stratified_neon, minima_shift_neon,
               minima_mersenne_scalar},
    .consistent = consistent_scalar,
    .agree = {agree_narrow_neon, agree_wide_neon},
};

const struct sketch_operations *sketch_variant(size_t index)
{
    const struct sketch_operations *const all[] = {&scalar, &neon};

    return index < 2 ? all[index] : NULL;
}

#else

const struct sketch_operations *sketch_variant(size_t index)
{
    return index == 0 ? &scalar : NULL;
}

#endif

const struct sketch_operations *sketch_operations = &scalar;
