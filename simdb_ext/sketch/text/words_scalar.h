/* The definition of `words`. */

#ifndef SIMDB_WORDS_SCALAR_H
#define SIMDB_WORDS_SCALAR_H

#include <stdint.h>

#include "unicode.h"

static int64_t words_scalar(const uint8_t *text, int64_t length, int lowercase, uint8_t *copy,
                            uint32_t *starts, uint32_t *stops)
{
    int64_t count = 0;
    int is_inside = 0;

    for (int64_t i = 0; i < length; i++) {
        int is_word = unicode_class(text[i]) == CLASS_WORD;
        copy[i] = (uint8_t)(lowercase ? unicode_lower(text[i]) : text[i]);
        /* Both are always written, so that there is no branch to mispredict. */
        starts[count] = is_inside ? starts[count] : (uint32_t)i;
        stops[count] = (uint32_t)i;
        count += is_inside & !is_word;
        is_inside = is_word;
    }
    stops[count] = (uint32_t)length;
    return count + is_inside;
}

#endif
