/* The definitions, and which variant is in use. */
#define VECTORS VECTORS_SCALAR
#include "operations.h"

extern const struct arrange_operations arrange_avx2, arrange_avx512;

const struct arrange_operations *arrange_operations = &arrange_scalar;

const struct arrange_operations *arrange_variant(size_t index)
{
#if CPU_X86
    const struct arrange_operations *const all[] = {&arrange_scalar, &arrange_avx2,
                                                    &arrange_avx512};
    return index <= (size_t)cpu_best() ? all[index] : NULL;
#else
    return index == 0 ? &arrange_scalar : NULL;
#endif
}
