#include "fold.h"

#include "unicode.h"

#define REPLACEMENT '?' /* what Python writes for a lone surrogate */

static int64_t put(const struct sketch_tokens *tokens, int64_t count, uint32_t *size,
                   uint32_t code)
{
    tokens->starts[count] = *size;
    *size += (uint32_t)unicode_encode(code, tokens->copy + *size);
    tokens->stops[count] = *size;
    return count + 1;
}

int64_t sketch_fold_any(const struct sketch_text *text, int64_t start, int64_t stop, int lowercase,
                        struct sketch_space *space, const struct sketch_tokens *tokens)
{
    uint32_t size = 0;
    int64_t count = 0;

    for (int64_t i = start; i < stop; i++) {
        uint32_t code = character_at(text, i);
        if (unicode_class(code) == CLASS_SPACE) {
            space->is_held = space->is_begun;
            continue;
        }
        if (space->is_held)
            count = put(tokens, count, &size, ' ');
        if (unicode_is_surrogate(code))
            code = REPLACEMENT;
        count = put(tokens, count, &size, lowercase ? unicode_lower(code) : code);
        space->is_held = 0;
        space->is_begun = 1;
    }
    return count;
}
