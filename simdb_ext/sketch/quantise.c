#include "quantise.h"

#include "cpu.h"
#include "quantise_scalar.h"

#if CPU_X86

CPU_AVX2 static int64_t quantise_avx2(const void *weights, int is_float, int64_t count,
                                      int dimensions, uint64_t *fingerprints, uint8_t *vectors)
{
    return quantise_any(weights, is_float, count, dimensions, fingerprints, vectors);
}

CPU_AVX512 static int64_t quantise_avx512(const void *weights, int is_float, int64_t count,
                                          int dimensions, uint64_t *fingerprints,
                                          uint8_t *vectors)
{
    return quantise_any(weights, is_float, count, dimensions, fingerprints, vectors);
}

static sketch_quantise_function *const VARIANTS[] = {quantise_scalar, quantise_avx2,
                                                     quantise_avx512};
#else
static sketch_quantise_function *const VARIANTS[] = {quantise_scalar};
#endif

sketch_quantise_function *sketch_quantise = quantise_scalar;

void sketch_quantise_select(int variant) { sketch_quantise = VARIANTS[variant]; }
