/* The definition of agree_counts. */

#ifndef SIMDB_AGREE_SCALAR_H
#define SIMDB_AGREE_SCALAR_H

#include <stdint.h>

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

static inline unsigned agree_wide(const uint32_t *left, const uint32_t *right, int width)
{
    unsigned agreeing = 0;

    for (int j = 0; j < width; j++)
        agreeing += left[j] == right[j];
    return agreeing;
}

static void agree_wide_scalar(const void *left, int is_one, const void *right, int64_t count,
                              int width, uint16_t *agreeing)
{
    const uint32_t *first = left, *second = right;

    for (int64_t i = 0; i < count; i++)
        agreeing[i] = (uint16_t)agree_wide(first + (is_one ? 0 : i * width), second + i * width,
                                           width);
}

#endif
