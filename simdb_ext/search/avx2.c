#include "cpu.h"

#if CPU_X86
#define VECTORS VECTORS_AVX2
#include "operations.h"
#endif
