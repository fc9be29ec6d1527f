/* The definition of sketch_cut. */

#ifndef SIMDB_CUT_SCALAR_H
#define SIMDB_CUT_SCALAR_H

#include "text.h"
#include "unicode.h"

/* Every character is copied, and of each it is decided without a branch whether a token ends or
   begins there: in running text that cannot be foreseen. */
static int64_t cut_scalar(const struct sketch_text *text, int64_t start, int64_t stop,
                          int lowercase, const struct sketch_tokens *tokens, int64_t *open)
{
    uint32_t begun = 0, size = 0;
    int64_t count = 0, opened = start;
    int after_word = 0, after_token = 0;

    for (int64_t i = start; i < stop; i++) {
        uint32_t code = character_at(text, i);
        int is_word = unicode_class(code) == CLASS_WORD;
        int goes_on = after_word & is_word;

        tokens->starts[count] = begun;
        tokens->stops[count] = size;
        count += after_token & !goes_on;
        begun = goes_on ? begun : size;
        opened = goes_on ? opened : i;
        size += (uint32_t)unicode_encode(lowercase ? unicode_lower(code) : code,
                                         tokens->copy + size);
        after_word = is_word;
        after_token = is_word | (unicode_class(code) == CLASS_SINGLE);
    }
    tokens->starts[count] = begun;
    tokens->stops[count] = size;
    *open = after_word ? opened : stop;
    return count + after_token;
}

#endif
