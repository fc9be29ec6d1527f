/* The definitions, and which variant is in use. */
#define VECTORS VECTORS_SCALAR
#include "operations.h"

extern const struct search_kernel search_avx2, search_avx512, search_neon;

const struct search_kernel *search_kernel = &search_scalar;

const struct search_kernel *search_variant(size_t index)
{
#if CPU_X86
    const struct search_kernel *const all[] = {&search_scalar, &search_avx2, &search_avx512};
    return index <= (size_t)cpu_best() ? all[index] : NULL;
#elif CPU_NEON
    const struct search_kernel *const all[] = {&search_scalar, &search_neon};
    return index < 2 ? all[index] : NULL;
#else
    return index == 0 ? &search_scalar : NULL;
#endif
}
