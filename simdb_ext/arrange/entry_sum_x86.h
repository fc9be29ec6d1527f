/* The scalar `entry_sum`, compiled for AVX2 and AVX-512. */

#ifndef SIMDB_ENTRY_SUM_X86_H
#define SIMDB_ENTRY_SUM_X86_H

#include "cpu.h"
#include "entry_sum_scalar.h"

#if CPU_X86

CPU_AVX2 static uint64_t entry_sum_avx2(const uint64_t *keys, const uint32_t *ordinals,
                                        int64_t count)
{
    return entry_sum_any(keys, ordinals, count);
}

CPU_AVX512 static uint64_t entry_sum_avx512(const uint64_t *keys, const uint32_t *ordinals,
                                            int64_t count)
{
    return entry_sum_any(keys, ordinals, count);
}

#endif

#endif
