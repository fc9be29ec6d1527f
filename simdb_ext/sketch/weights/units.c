#include "units.h"

#include "cpu.h"
#include "units_avx2.h"
#include "units_avx512.h"
#include "units_scalar.h"

#if CPU_X86
static sketch_units_function *const VARIANTS[] = {units_scalar, units_avx2, units_avx512};
#else
static sketch_units_function *const VARIANTS[] = {units_scalar};
#endif

sketch_units_function *sketch_units = units_scalar;

void sketch_units_select(int variant) { sketch_units = VARIANTS[variant]; }
