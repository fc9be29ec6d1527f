#include "text.h"

/* Characters between two looks at whether the search may end: enough to be vectorised. */
#define STRIDE 1024

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
