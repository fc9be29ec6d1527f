#include "agree.h"

#include "agree_avx2.h"
#include "agree_avx512.h"
#include "agree_scalar.h"
#include "cpu.h"

#if CPU_X86
static const struct agree_functions VARIANTS[] = {
    {agree_narrow_scalar, agree_wide_scalar},
    {agree_narrow_avx2, agree_wide_avx2},
    {agree_narrow_avx512, agree_wide_avx512},
};
#else
static const struct agree_functions VARIANTS[] = {{agree_narrow_scalar, agree_wide_scalar}};
#endif

struct agree_functions agree_counts = {agree_narrow_scalar, agree_wide_scalar};

void agree_select(int variant) { agree_counts = VARIANTS[variant]; }
