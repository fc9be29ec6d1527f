/* `agree`, 16 bytes at a time. */

#ifndef SIMDB_AGREE_NEON_H
#define SIMDB_AGREE_NEON_H

#include "agree_scalar.h"
#include "cpu.h"

#if CPU_NEON

#define AGREE_MOST_NEON 255 /* vectors whose ones are counted in bytes */

static inline unsigned agree_row_narrow_neon(const uint8_t *left, const uint8_t *right, int width)
{
    unsigned agreeing = 0;
    int j = 0;

    while (j + 16 <= width) {
        uint8x16_t equal = vdupq_n_u8(0);
        for (int k = 0; k < AGREE_MOST_NEON && j + 16 <= width; k++, j += 16)
            equal = vsubq_u8(equal, vceqq_u8(vld1q_u8(left + j), vld1q_u8(right + j)));
        agreeing += vaddlvq_u8(equal);
    }
    return agreeing + agree_narrow(left + j, right + j, width - j);
}

static void agree_narrow_neon(const void *left, int is_one, const void *right, int64_t count,
                              int width, uint16_t *agreeing)
{
    const uint8_t *first = left, *second = right;

    for (int64_t i = 0; i < count; i++)
        agreeing[i] = (uint16_t)agree_row_narrow_neon(first + (is_one ? 0 : i * width),
                                                      second + i * width, width);
}

/* The minima may lie at any address. */
static inline unsigned agree_row_wide_neon(const uint8_t *left, const uint8_t *right, int width)
{
    uint32x4_t equal = vdupq_n_u32(0);
    int j = 0;

    for (; j + 4 <= width; j += 4, left += 16, right += 16)
        equal = vsubq_u32(equal, vceqq_u32(vreinterpretq_u32_u8(vld1q_u8(left)),
                                           vreinterpretq_u32_u8(vld1q_u8(right))));
    return vaddvq_u32(equal) + agree_wide(left, right, width - j);
}

static void agree_wide_neon(const void *left, int is_one, const void *right, int64_t count,
                            int width, uint16_t *agreeing)
{
    const uint8_t *first = left, *second = right;
    int64_t row = 4 * (int64_t)width;

    for (int64_t i = 0; i < count; i++)
        agreeing[i] = (uint16_t)agree_row_wide_neon(first + (is_one ? 0 : i * row),
                                                    second + i * row, width);
}

#endif

#endif
