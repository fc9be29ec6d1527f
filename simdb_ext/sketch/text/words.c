#include "words.h"

#include "cpu.h"
#include "words_avx2.h"
#include "words_avx512.h"
#include "words_scalar.h"

#if CPU_X86
static sketch_words_function *const VARIANTS[] = {words_scalar, words_avx2, words_avx512};
#else
static sketch_words_function *const VARIANTS[] = {words_scalar};
#endif

sketch_words_function *sketch_words = words_scalar;

void sketch_words_select(int variant) { sketch_words = VARIANTS[variant]; }
