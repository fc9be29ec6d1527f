/* All operations, each defined in a header, compiled for the instruction set that VECTORS names. */

#include "cpu.h"

#if CPU_HAS_VECTORS

#include "choose.h"
#include "differ.h"
#include "flip.h"
#include "kernel.h"
#include "key.h"
#include "level.h"
#include "measure.h"
#include "measure_tags.h"
#include "near.h"
#include "vector.h"
#include "weigh.h"

const struct search_kernel VECTOR_JOINED(search_kernel, VECTOR_NAME) = {
    VECTOR_TEXT(VECTOR_NAME), permute, restore, first_reached, measure, measure_crowd, weigh,
    weigh_pairs, differ_pairs, near_hashes, flip, flip_first, level_floats, level_wholes,
    level_packed, rotate, encode, add_shares, near_headers, sift, drop_flipped, measure_tags,
};

VECTOR_END

CPU_CHOICE(search_kernel, search_variant)

#endif
