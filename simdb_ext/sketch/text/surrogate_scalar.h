/* The definition of `surrogate`. */

#ifndef SIMDB_SURROGATE_SCALAR_H
#define SIMDB_SURROGATE_SCALAR_H

#include "text.h"
#include "unicode.h"

/* Characters between two looks at whether the search may end: enough to be vectorised. */
#define SURROGATE_STRIDE 1024

static int surrogate_scalar(const struct sketch_text *text)
{
    const uint16_t *narrow = text->characters;
    const uint32_t *wide = text->characters;
    int found = 0;

    for (int64_t i = 0, stop; text->width > 1 && i < text->length && !found; i = stop) {
        stop = text->length - i < SURROGATE_STRIDE ? text->length : i + SURROGATE_STRIDE;
        if (text->width == 2)
            for (int64_t j = i; j < stop; j++)
                found |= unicode_is_surrogate(narrow[j]);
        else
            for (int64_t j = i; j < stop; j++)
                found |= unicode_is_surrogate(wide[j]);
    }
    return found;
}

#endif
