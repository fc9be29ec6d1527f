#include "descent.h"

#include "cpu.h"
#include "descent_scalar.h"

#if CPU_X86

CPU_AVX2 static int64_t descent_avx2(const uint64_t *keys, int64_t count)
{
    return descent_any(keys, count);
}

CPU_AVX512 static int64_t descent_avx512(const uint64_t *keys, int64_t count)
{
    return descent_any(keys, count);
}

static arrange_descent_function *const VARIANTS[] = {descent_scalar, descent_avx2,
                                                     descent_avx512};
#else
static arrange_descent_function *const VARIANTS[] = {descent_scalar};
#endif

arrange_descent_function *arrange_descent = descent_scalar;

void arrange_descent_select(int variant) { arrange_descent = VARIANTS[variant]; }
