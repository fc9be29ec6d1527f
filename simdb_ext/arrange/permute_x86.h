/* The scalar `permute`, compiled for AVX2 and AVX-512. */

#ifndef SIMDB_PERMUTE_X86_H
#define SIMDB_PERMUTE_X86_H

#include "cpu.h"
#include "permute_scalar.h"

#if CPU_X86

CPU_AVX2 static void permute_avx2(const uint64_t *words, int64_t count,
                                  const struct arrange_rotations *rotations, uint64_t *out)
{
    permute_any(words, count, rotations, out);
}

CPU_AVX512 static void permute_avx512(const uint64_t *words, int64_t count,
                                      const struct arrange_rotations *rotations, uint64_t *out)
{
    permute_any(words, count, rotations, out);
}

#endif

#endif
