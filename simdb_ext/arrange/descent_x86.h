/* The scalar `descent`, compiled for AVX2 and AVX-512. */

#ifndef SIMDB_DESCENT_X86_H
#define SIMDB_DESCENT_X86_H

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

#endif

#endif
