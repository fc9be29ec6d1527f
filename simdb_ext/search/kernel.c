#include "kernel.h"

#include "cpu.h"
#include "flip_scalar.h"
#include "key_scalar.h"
#include "level_scalar.h"
#include "measure_scalar.h"
#include "polytope_scalar.h"
#include "weigh_scalar.h"

#if CPU_X86
#include "flip_avx2.h"
#include "flip_avx512.h"
#include "key_bmi2.h"
#include "level_avx2.h"
#include "level_avx512.h"
#include "measure_avx2.h"
#include "measure_avx512.h"
#include "polytope_avx2.h"
#include "polytope_avx512.h"
#include "weigh_avx2.h"
#include "weigh_avx512.h"
#endif

#if CPU_NEON
#include "measure_neon.h"
#include "sift_neon.h"
#include "weigh_neon.h"
#endif

static const struct search_kernel scalar = {
    "scalar", permute_scalar, restore_scalar, first_reached_scalar, measure_scalar,
    measure_scalar, weigh_scalar, weigh_pairs_scalar, flip_scalar, level_floats_scalar,
    level_wholes_scalar, level_packed_scalar, rotate_scalar, encode_scalar, near_headers_scalar,
    sift_scalar,
};

#if CPU_X86

static const struct search_kernel avx2 = {
    "avx2", permute_bmi2, restore_bmi2, first_reached_bmi2, measure_avx2, measure_avx2,
    weigh_avx2, weigh_pairs_avx2, flip_avx2, level_floats_avx2, level_wholes_avx2,
    level_packed_avx2, rotate_avx2, encode_avx2, near_headers_avx2, sift_avx2,
};

static const struct search_kernel avx512 = {
    "avx512", permute_bmi2, restore_bmi2, first_reached_bmi2, measure_avx512,
    measure_crowd_avx512, weigh_avx512, weigh_pairs_avx2, flip_avx512, level_floats_avx512,
    level_wholes_avx512, level_packed_avx512, rotate_avx512, encode_avx512, near_headers_avx512,
    sift_avx512,
};

static const struct search_kernel avx512_vnni = {
    "avx512vnni", permute_bmi2, restore_bmi2, first_reached_bmi2, measure_avx512,
    measure_crowd_avx512, weigh_avx512_vnni, weigh_pairs_vnni, flip_avx512, level_floats_avx512,
    level_wholes_avx512, level_packed_avx512, rotate_avx512, encode_avx512, near_headers_avx512,
    sift_avx512,
};

const struct search_kernel *search_variant(size_t index)
{
    const struct search_kernel *const all[] = {&scalar, &avx2, &avx512, &avx512_vnni};
    size_t count = 1 + (size_t)cpu_best();

    if (count == 3 && __builtin_cpu_supports("avx512vnni"))
        count = 4;
    return index < count ? all[index] : NULL;
}

#elif CPU_NEON

static const struct search_kernel neon = {
    "neon", permute_scalar, restore_scalar, first_reached_scalar, measure_neon, measure_neon,
    weigh_neon, weigh_pairs_neon, flip_scalar, level_floats_scalar, level_wholes_scalar,
    level_packed_scalar, rotate_scalar, encode_scalar, near_headers_scalar, sift_neon,
};

const struct search_kernel *search_variant(size_t index)
{
    const struct search_kernel *const all[] = {&scalar, &neon};

    return index < 2 ? all[index] : NULL;
}

#else

const struct search_kernel *search_variant(size_t index)
{
    return index == 0 ? &scalar : NULL;
}

#endif

const struct search_kernel *search_kernel = &scalar;
