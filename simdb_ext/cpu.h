/* Which instruction sets this processor has, and how a single function is compiled for one.

   Code for AVX2 or AVX-512 is called only if cpu_best() allows it.  Every processor of 64-bit ARM
   has NEON.  Other processors have the scalar variant alone. */

#ifndef SIMDB_CPU_H
#define SIMDB_CPU_H

enum cpu_variant { CPU_SCALAR, CPU_WITH_AVX2, CPU_WITH_AVX512 };

/* What a source is compiled for; VECTORS is one of these in it (vector.h). */
#define VECTORS_SCALAR 0
#define VECTORS_NEON 1
#define VECTORS_AVX2 2
#define VECTORS_AVX512 3

/* Compile the functions between both for an instruction set. */
#define CPU_PRAGMA(content) _Pragma(#content)
#ifdef __clang__
#define CPU_TARGET_BEGIN(sets)                                                                    \
    CPU_PRAGMA(clang attribute push(__attribute__((target(sets))), apply_to = function))
#define CPU_TARGET_END CPU_PRAGMA(clang attribute pop)
#else
#define CPU_TARGET_BEGIN(sets) CPU_PRAGMA(GCC push_options) CPU_PRAGMA(GCC target(sets))
#define CPU_TARGET_END CPU_PRAGMA(GCC pop_options)
#endif

#if defined(__aarch64__) && defined(__ARM_NEON) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#include <arm_neon.h>
#define CPU_NEON 1
#else
#define CPU_NEON 0
#endif

#if defined(__x86_64__)

#include <immintrin.h>

#define CPU_X86 1

static inline int cpu_best(void)
{
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi") ||
        !__builtin_cpu_supports("bmi2") || !__builtin_cpu_supports("popcnt"))
        return CPU_SCALAR;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512cd") || !__builtin_cpu_supports("avx512dq") ||
        !__builtin_cpu_supports("avx512vl") || !__builtin_cpu_supports("avx512vbmi") ||
        !__builtin_cpu_supports("avx512vbmi2") || !__builtin_cpu_supports("avx512bitalg") ||
        !__builtin_cpu_supports("avx512vnni") || !__builtin_cpu_supports("avx512vpopcntdq"))
        return CPU_WITH_AVX2;
    return CPU_WITH_AVX512;
}

#else

#define CPU_X86 0

static inline int cpu_best(void) { return CPU_SCALAR; }

#endif

#endif
