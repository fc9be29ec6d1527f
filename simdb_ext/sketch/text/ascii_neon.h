/* Classes and lower case of ASCII characters, and the positions of bits. */

#ifndef SIMDB_ASCII_NEON_H
#define SIMDB_ASCII_NEON_H

#include <stdint.h>

#include "cpu.h"
#include "places.h"

#if CPU_NEON

/* Return ones where `low` <= character <= `high`. */
static inline uint8x16_t between_neon(uint8x16_t characters, uint8_t low, uint8_t high)
{
    return vcleq_u8(vsubq_u8(characters, vdupq_n_u8(low)), vdupq_n_u8((uint8_t)(high - low)));
}

/* Copy 16 characters and return ones where they are word characters. */
static inline uint8x16_t words_of_neon(uint8x16_t characters, int lowercase, uint8_t *copy)
{
    const uint8x16_t offset = vdupq_n_u8('a' - 'A');
    uint8x16_t is_letter = between_neon(vorrq_u8(characters, offset), 'a', 'z');
    uint8x16_t is_word = vorrq_u8(
        is_letter, vorrq_u8(between_neon(characters, '0', '9'),
                            vceqq_u8(characters, vdupq_n_u8('_'))));

    if (lowercase)
        characters = vorrq_u8(characters, vandq_u8(is_letter, offset));
    vst1q_u8(copy, characters);
    return is_word;
}

/* Copy 16 `vectors` (at most 64) characters and return a mask of the word characters among them. */
static inline __attribute__((always_inline)) uint64_t
words_mask_neon(const uint8x16_t *characters, const int vectors, int lowercase, uint8_t *copy)
{
    const uint8x16_t bits = vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201u));
    uint8x16_t masks[4] = {vdupq_n_u8(0), vdupq_n_u8(0), vdupq_n_u8(0), vdupq_n_u8(0)};

    for (int i = 0; i < vectors; i++)
        masks[i] = vandq_u8(words_of_neon(characters[i], lowercase, copy + 16 * i), bits);
    masks[0] = vpaddq_u8(vpaddq_u8(masks[0], masks[1]), vpaddq_u8(masks[2], masks[3]));
    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(masks[0], masks[0])), 0);
}

/* Write the positions of the bits of `mask`, which has `width` bits, plus `base`; return their
   number.  Each byte of `mask` overwrites eight entries, so that there is no branch. */
static inline __attribute__((always_inline)) int64_t
positions_neon(uint64_t mask, const unsigned width, uint32_t base, uint32_t *out)
{
    uint64_t counts = vget_lane_u64(vreinterpret_u64_u8(vcnt_u8(vcreate_u8(mask))), 0);
    /* Byte k of the product is the sum of the first k + 1 counts, which is at most 64. */
    uint64_t ends = counts * 0x0101010101010101u, starts = ends << 8;

    for (unsigned shift = 0; shift < width; shift += 8) {
        uint16x8_t places = vmovl_u8(vcreate_u8(places_of_bits[mask >> shift & 0xFF]));
        uint32x4_t first = vdupq_n_u32(base + shift);
        uint32_t *place = out + (starts >> shift & 0xFF);
        vst1q_u32(place, vaddw_u16(first, vget_low_u16(places)));
        vst1q_u32(place + 4, vaddw_high_u16(first, places));
    }
    return (int64_t)(ends >> 56);
}

#endif

#endif
