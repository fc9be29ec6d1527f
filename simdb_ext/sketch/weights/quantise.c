#include "quantise.h"

#include "cpu.h"
#include "quantise_avx2.h"
#include "quantise_avx512.h"
#include "quantise_scalar.h"

#if CPU_X86
static sketch_quantise_function *const VARIANTS[] = {quantise_scalar, quantise_avx2,
                                                     quantise_avx512};
#else
static sketch_quantise_function *const VARIANTS[] = {quantise_scalar};
#endif

sketch_quantise_function *sketch_quantise = quantise_scalar;

void sketch_quantise_select(int variant) { sketch_quantise = VARIANTS[variant]; }
