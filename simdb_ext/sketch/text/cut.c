#include "cut.h"

#include "cpu.h"
#include "cut_avx2.h"
#include "cut_avx512.h"
#include "cut_scalar.h"

#if CPU_X86
static sketch_cut_function *const VARIANTS[] = {cut_scalar, cut_avx2, cut_avx512};
#else
static sketch_cut_function *const VARIANTS[] = {cut_scalar};
#endif

sketch_cut_function *sketch_cut = cut_scalar;

void sketch_cut_select(int variant) { sketch_cut = VARIANTS[variant]; }

int64_t sketch_cut_spaces(const struct sketch_text *text, int64_t start, int64_t stop,
                          int lowercase, const struct sketch_tokens *tokens, int64_t *open)
{
    struct cut cut = {.tokens = tokens, .opened = start};

    cut_some(&cut, text, start, stop, lowercase, ~(1u << CLASS_SPACE), 0);
    return cut_end(&cut, stop, open);
}
