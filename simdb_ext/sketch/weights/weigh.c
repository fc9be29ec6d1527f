#include "weigh.h"

#include "cpu.h"
#include "weigh_avx2.h"
#include "weigh_avx512.h"
#include "weigh_scalar.h"

#if CPU_X86
static sketch_weigh_function *const VARIANTS[] = {weigh_scalar, weigh_avx2, weigh_avx512};
#else
static sketch_weigh_function *const VARIANTS[] = {weigh_scalar};
#endif

sketch_weigh_function *sketch_weigh = weigh_scalar;

void sketch_weigh_select(int variant) { sketch_weigh = VARIANTS[variant]; }
