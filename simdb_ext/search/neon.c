#include "cpu.h"

#if CPU_NEON
#define VECTORS VECTORS_NEON
#include "operations.h"
#endif
