#include "counts.h"

#include "counts_avx2.h"
#include "counts_avx512.h"
#include "counts_scalar.h"
#include "cpu.h"

#if CPU_X86
static sketch_counts_function *const VARIANTS[] = {counts_scalar, counts_avx2, counts_avx512};
#else
static sketch_counts_function *const VARIANTS[] = {counts_scalar};
#endif

sketch_counts_function *sketch_counts = counts_scalar;

void sketch_counts_select(int variant) { sketch_counts = VARIANTS[variant]; }
