#include "cut.h"

#include "cpu.h"
#include "cut_avx2.h"
#include "cut_avx512.h"
#include "cut_scalar.h"

#if CPU_X86
static sketch_cut_function *const VARIANTS[] = {cut_scalar, cut_avx2, cut_avx512};
#else
static sketch_cut_function *const VARIANTS[] = {cut_scalar};
#endif

sketch_cut_function *sketch_cut = cut_scalar;

void sketch_cut_select(int variant) { sketch_cut = VARIANTS[variant]; }
