#include "idf.h"

#include "cpu.h"
#include "idf_avx512.h"
#include "idf_scalar.h"

#if CPU_X86
static sketch_idf_function *const VARIANTS[] = {idf_scalar, idf_scalar, idf_avx512};
#else
static sketch_idf_function *const VARIANTS[] = {idf_scalar};
#endif

sketch_idf_function *sketch_idf_weights = idf_scalar;

void sketch_idf_select(int variant) { sketch_idf_weights = VARIANTS[variant]; }
