/* The instruction sets of this processor, and pragmas that compile single functions for one of
   them.

   Code for AVX2 or AVX-512 is called only if cpu_best() allows it.  Every 64-bit ARM processor has
   NEON.  Other processors have the scalar variant alone. */

#ifndef SIMDB_CPU_H
#define SIMDB_CPU_H

/* Instruction sets for which a source is compiled: the build sets VECTORS to one (vector.h). */
#define VECTORS_SCALAR 0
#define VECTORS_NEON 1
#define VECTORS_AVX2 2
#define VECTORS_AVX512 3

/* Compile the functions between BEGIN and END for an instruction set. */
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
#else
#define CPU_X86 0
#endif

/* True if this kind of processor has the instruction set for which the source is compiled. */
#define CPU_HAS_VECTORS                                                                           \
    (VECTORS == VECTORS_SCALAR || (VECTORS == VECTORS_NEON ? CPU_NEON : CPU_X86))

#if VECTORS == VECTORS_SCALAR

#if CPU_X86

#define CPU_DECLARE(name) extern const struct name name##_avx2, name##_avx512;
#define CPU_FASTER(name) &name##_avx2, &name##_avx512

/* Return the number of the fastest variant that this processor can run; the scalar one is 0. */
static inline int cpu_best(void)
{
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi") ||
        !__builtin_cpu_supports("bmi2") || !__builtin_cpu_supports("popcnt"))
        return 0;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512cd") || !__builtin_cpu_supports("avx512dq") ||
        !__builtin_cpu_supports("avx512vl") || !__builtin_cpu_supports("avx512vbmi") ||
        !__builtin_cpu_supports("avx512vbmi2") || !__builtin_cpu_supports("avx512bitalg") ||
        !__builtin_cpu_supports("avx512vnni") || !__builtin_cpu_supports("avx512vpopcntdq"))
        return 1;
    return 2;
}

#elif CPU_NEON

#define CPU_DECLARE(name) extern const struct name name##_neon;
#define CPU_FASTER(name) &name##_neon

static inline int cpu_best(void) { return 1; }

#else

#define CPU_DECLARE(name)
#define CPU_FASTER(name) NULL

static inline int cpu_best(void) { return 0; }

#endif

/* Define `name`, the table of operations in use, and `variant`, which returns a table that this
   processor can run, by its number; NULL beyond the last. */
#define CPU_CHOICE(name, variant)                                                                 \
    CPU_DECLARE(name)                                                                             \
    const struct name *name = &name##_scalar;                                                     \
    const struct name *variant(size_t index)                                                      \
    {                                                                                             \
        const struct name *const all[] = {&name##_scalar, CPU_FASTER(name)};                      \
        return index <= (size_t)cpu_best() ? all[index] : NULL;                                   \
    }

#else
#define CPU_CHOICE(name, variant)
#endif

#endif
