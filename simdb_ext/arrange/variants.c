#include "variants.h"

#include "cpu.h"
#include "descent_scalar.h"
#include "descent_x86.h"
#include "entry_sum_scalar.h"
#include "entry_sum_x86.h"
#include "keep_avx512.h"
#include "keep_scalar.h"
#include "permute_scalar.h"
#include "permute_x86.h"

static const struct arrange_operations scalar = {
    "scalar", permute_scalar, keep_scalar, descent_scalar, entry_sum_scalar,
};

#if CPU_X86

static const struct arrange_operations avx2 = {
    "avx2", permute_avx2, keep_scalar, descent_avx2, entry_sum_avx2,
};

static const struct arrange_operations avx512 = {
    "avx512", permute_avx512, keep_avx512, descent_avx512, entry_sum_avx512,
};

const struct arrange_operations *arrange_variant(size_t index)
{
    const struct arrange_operations *const all[] = {&scalar, &avx2, &avx512};

    return index <= (size_t)cpu_best() ? all[index] : NULL;
}

#else

const struct arrange_operations *arrange_variant(size_t index)
{
    return index == 0 ? &scalar : NULL;
}

#endif

const struct arrange_operations *arrange_operations = &scalar;
