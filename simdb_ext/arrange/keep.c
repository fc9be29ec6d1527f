#include "keep.h"

#include "cpu.h"
#include "keep_scalar.h"

#include "keep_avx512.h"

#if CPU_X86
static arrange_keep_function *const VARIANTS[] = {keep_scalar, keep_scalar, keep_avx512};
#else
static arrange_keep_function *const VARIANTS[] = {keep_scalar};
#endif

arrange_keep_function *arrange_keep = keep_scalar;

void arrange_keep_select(int variant) { arrange_keep = VARIANTS[variant]; }
