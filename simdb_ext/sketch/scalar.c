/* The definitions, and which variant is in use. */
#define VECTORS VECTORS_SCALAR
#include "operations.h"

extern const struct sketch_operations sketch_avx2, sketch_avx512, sketch_neon;

const struct sketch_operations *sketch_operations = &sketch_scalar;

const struct sketch_operations *sketch_variant(size_t index)
{
#if CPU_X86
    const struct sketch_operations *const all[] = {&sketch_scalar, &sketch_avx2, &sketch_avx512};
    return index <= (size_t)cpu_best() ? all[index] : NULL;
#elif CPU_NEON
    const struct sketch_operations *const all[] = {&sketch_scalar, &sketch_neon};
    return index < 2 ? all[index] : NULL;
#else
    return index == 0 ? &sketch_scalar : NULL;
#endif
}
