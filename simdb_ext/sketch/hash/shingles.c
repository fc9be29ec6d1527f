#include "shingles.h"

#include "cpu.h"
#include "shingles_avx2.h"
#include "shingles_avx512.h"
#include "shingles_scalar.h"

#if CPU_X86
static sketch_shingles_function *const VARIANTS[] = {shingles_scalar, shingles_avx2,
                                                     shingles_avx512};
#else
static sketch_shingles_function *const VARIANTS[] = {shingles_scalar};
#endif

sketch_shingles_function *sketch_shingles = shingles_scalar;

void sketch_shingles_select(int variant) { sketch_shingles = VARIANTS[variant]; }
