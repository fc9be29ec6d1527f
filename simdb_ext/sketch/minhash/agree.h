/* `agree_narrow` and `agree_wide` compare a vector of minima at a time, `agree_one_bit` and
   `agree_two_bits` a word of minima. */

#ifndef SIMDB_AGREE_H
#define SIMDB_AGREE_H

#include "few_bits.h"
#include "vector.h"

VECTOR_INLINE int agree_at(const uint8_t *left, const uint8_t *right, const size_t size)
{
    uint32_t one, other;

    if (size == 1)
        return *left == *right;
    memcpy(&one, left, sizeof one);
    memcpy(&other, right, sizeof other);
    return one == other;
}

/* Return the number of equal minima.  Each has `size` bytes, a compile-time constant; rows need no
   alignment. */
VECTOR_INLINE unsigned agree_row(const uint8_t *left, const uint8_t *right, size_t bytes,
                                 const size_t size)
{
    unsigned agreeing = 0;
    size_t place = 0;

#if VECTORS
/* Unrolled, because the speed of so short a loop depends on its address. */
#pragma GCC unroll 4
    for (; place + VECTOR_BYTES <= bytes; place += VECTOR_BYTES) {
        vector one = vector_load(left + place), other = vector_load(right + place);
        agreeing += size == 1 ? vector_count_equal_8(one, other)
                              : vector_count_equal_32(one, other);
    }
#endif
#if VECTORS == VECTORS_AVX512
    if (place < bytes) {
        vector one = vector_load_some(left + place, bytes - place);
        vector other = vector_load_some(right + place, bytes - place);
        agreeing += size == 1 ? vector_count_equal_8(one, other)
                              : vector_count_equal_32(one, other);
        return agreeing - (unsigned)((VECTOR_BYTES - (bytes - place)) / size); /* equal zeros */
    }
#endif
    for (; place < bytes; place += size)
        agreeing += (unsigned)agree_at(left + place, right + place, size);
    return agreeing;
}

VECTOR_INLINE void agree_rows(const uint8_t *left, int is_one, const uint8_t *right, int64_t count,
                              int width, const size_t size, uint16_t *agreeing)
{
    const size_t bytes = (size_t)width * size;

    for (int64_t i = 0; i < count; i++, right += bytes, left += is_one ? 0 : bytes)
        agreeing[i] = (uint16_t)agree_row(left, right, bytes, size);
}

static void agree_narrow(const void *left, int is_one, const void *right, int64_t count, int width,
                         uint16_t *agreeing)
{
    agree_rows(left, is_one, right, count, width, 1, agreeing);
}

static void agree_wide(const void *left, int is_one, const void *right, int64_t count, int width,
                       uint16_t *agreeing)
{
    agree_rows(left, is_one, right, count, width, 4, agreeing);
}

VECTOR_INLINE void agree_few(const uint8_t *left, int is_one, const uint8_t *right, int64_t count,
                             int width, const int bits, uint16_t *agreeing)
{
    const size_t bytes = (size_t)(width * bits / 8);

    for (int64_t i = 0; i < count; i++, right += bytes, left += is_one ? 0 : bytes)
        agreeing[i] = (uint16_t)few_bits_equal(left, right, bytes, bits);
}

static void agree_one_bit(const void *left, int is_one, const void *right, int64_t count,
                          int width, uint16_t *agreeing)
{
    agree_few(left, is_one, right, count, width, 1, agreeing);
}

static void agree_two_bits(const void *left, int is_one, const void *right, int64_t count,
                           int width, uint16_t *agreeing)
{
    agree_few(left, is_one, right, count, width, 2, agreeing);
}

#endif
