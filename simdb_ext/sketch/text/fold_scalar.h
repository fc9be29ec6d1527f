/* The definition of `fold`. */

#ifndef SIMDB_FOLD_SCALAR_H
#define SIMDB_FOLD_SCALAR_H

#include "fold.h"
#include "unicode.h"

static int64_t fold_scalar(const uint8_t *text, int64_t length, int lowercase,
                           struct sketch_space *space, uint8_t *copy)
{
    int is_begun = space->is_begun, is_held = space->is_held;
    int64_t size = 0;

    for (int64_t i = 0; i < length; i++) {
        int is_space = unicode_class(text[i]) == CLASS_SPACE;
        copy[size] = ' ';
        size += is_held & !is_space;
        copy[size] = (uint8_t)(lowercase ? unicode_lower(text[i]) : text[i]);
        size += !is_space;
        is_begun |= !is_space;
        is_held = is_space & is_begun;
    }
    space->is_begun = is_begun;
    space->is_held = is_held;
    return size;
}

#endif
