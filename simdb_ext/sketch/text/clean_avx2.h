/* `clean`, compiled for AVX2. */

#ifndef SIMDB_CLEAN_AVX2_H
#define SIMDB_CLEAN_AVX2_H

#include "clean_scalar.h"
#include "cpu.h"

#if CPU_X86

CPU_AVX2 static int clean_avx2(const struct sketch_text *text, struct clean_settings settings)
{
    return clean_any(text, settings);
}

#endif

#endif
