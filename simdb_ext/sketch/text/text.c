#include "text.h"

#include "unicode.h"

/* Characters between two looks at whether the search may end: enough to be vectorised. */
#define STRIDE 1024

int sketch_has_surrogate(const struct sketch_text *text)
{
    const uint16_t *narrow = text->characters;
    const uint32_t *wide = text->characters;
    int found = 0;

    for (int64_t i = 0, stop; text->width > 1 && i < text->length && !found; i = stop) {
        stop = text->length - i < STRIDE ? text->length : i + STRIDE;
        if (text->width == 2)
            for (int64_t j = i; j < stop; j++)
                found |= unicode_is_surrogate(narrow[j]);
        else
            for (int64_t j = i; j < stop; j++)
                found |= unicode_is_surrogate(wide[j]);
    }
    return found;
}

int sketch_is_ascii(const uint8_t *content, int64_t length)
{
    uint8_t bits = 0;

    for (int64_t i = 0, stop; i < length && bits < 0x80; i = stop) {
        stop = length - i < STRIDE ? length : i + STRIDE;
        for (int64_t j = i; j < stop; j++)
            bits |= content[j];
    }
    return bits < 0x80;
}
