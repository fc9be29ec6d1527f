/* The definition of `agree`. */

#ifndef SIMDB_AGREE_SCALAR_H
#define SIMDB_AGREE_SCALAR_H

#include <stdint.h>
#include <string.h>

static inline unsigned agree_narrow(const uint8_t *left, const uint8_t *right, int width)
{
    unsigned agreeing = 0;

    for (int j = 0; j < width; j++)
        agreeing += left[j] == right[j];
    return agreeing;
}

static void agree_narrow_scalar(const void *left, int is_one, const void *right, int64_t count,
                                int width, uint16_t *agreeing)
{
    const uint8_t *first = left, *second = right;

    for (int64_t i = 0; i < count; i++)
        agreeing[i] = (uint16_t)agree_narrow(first + (is_one ? 0 : i * width), second + i * width,
                                             width);
}

/* The minima may lie at any address. */
static inline unsigned agree_wide(const void *left, const void *right, int width)
{
    const uint8_t *first = left, *second = right;
    unsigned agreeing = 0;
    uint32_t one, other;

    for (int j = 0; j < width; j++) {
        memcpy(&one, first + 4 * (size_t)j, sizeof one);
        memcpy(&other, second + 4 * (size_t)j, sizeof other);
        agreeing += one == other;
    }
    return agreeing;
}

static void agree_wide_scalar(const void *left, int is_one, const void *right, int64_t count,
                              int width, uint16_t *agreeing)
{
    const uint8_t *first = left, *second = right;
    int64_t row = 4 * (int64_t)width;

    for (int64_t i = 0; i < count; i++)
        agreeing[i] = (uint16_t)agree_wide(first + (is_one ? 0 : i * row), second + i * row, width);
}

#endif
