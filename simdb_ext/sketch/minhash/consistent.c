#include "consistent.h"

#include "consistent_avx512.h"
#include "consistent_scalar.h"
#include "cpu.h"

#if CPU_X86
static consistent_function *const VARIANTS[] = {consistent_scalar, consistent_scalar,
                                                consistent_avx512};
#else
static consistent_function *const VARIANTS[] = {consistent_scalar};
#endif

consistent_function *consistent_sign = consistent_scalar;

void consistent_select(int variant) { consistent_sign = VARIANTS[variant]; }
