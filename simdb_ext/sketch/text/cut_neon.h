/* Cutting 32 characters at a time if all are ASCII. */

#ifndef SIMDB_CUT_NEON_H
#define SIMDB_CUT_NEON_H

#include "ascii.h"


enum { CUT = 32 }; /* characters */

/* Load characters as bytes and return 1 if all are ASCII; else return 0. */
static inline int load_ascii(const struct sketch_text *text, int64_t place,
                             uint8x16_t *characters)
{
    const uint8_t *content = (const uint8_t *)text->characters + place * text->width;

    if (text->width == 1) {
        characters[0] = vld1q_u8(content);
        characters[1] = vld1q_u8(content + 16);
        return vmaxvq_u8(vorrq_u8(characters[0], characters[1])) < 0x80;
    }
    if (text->width == 2) {
        uint16x8_t all = vdupq_n_u16(0);
        for (int i = 0; i < 2; i++) {
            uint16x8_t low = vreinterpretq_u16_u8(vld1q_u8(content + 32 * i));
            uint16x8_t high = vreinterpretq_u16_u8(vld1q_u8(content + 32 * i + 16));
            all = vorrq_u16(all, vorrq_u16(low, high));
            characters[i] = vmovn_high_u16(vmovn_u16(low), high);
        }
        return vmaxvq_u16(all) < 0x80;
    }
    uint32x4_t all = vdupq_n_u32(0);
    for (int i = 0; i < 2; i++) {
        uint16x8_t halves[2];
        for (int j = 0; j < 2; j++) {
            const uint8_t *from = content + 64 * i + 32 * j;
            uint32x4_t low = vreinterpretq_u32_u8(vld1q_u8(from));
            uint32x4_t high = vreinterpretq_u32_u8(vld1q_u8(from + 16));
            all = vorrq_u32(all, vorrq_u32(low, high));
            halves[j] = vmovn_high_u32(vmovn_u32(low), high);
        }
        characters[i] = vmovn_high_u16(vmovn_u16(halves[0]), halves[1]);
    }
    return vmaxvq_u32(all) < 0x80;
}

static inline void cut_ascii(struct cut *cut, const uint8x16_t *characters, int64_t place,
                             int lowercase)
{
    uint32_t words = (uint32_t)words_mask(characters, 2, lowercase,
                                          cut->tokens->copy + cut->size);
    uint32_t joined = words & (words << 1 | (uint32_t)cut->after_word);
    uint32_t starts = words & ~joined;
    uint32_t stops = (words << 1 | (uint32_t)cut->after_token) & ~joined;

    cut->started += positions(starts, CUT, cut->size,
                              cut->tokens->starts + cut->started);
    cut->stopped += positions(stops, CUT, cut->size,
                              cut->tokens->stops + cut->stopped);
    cut->opened = starts ? place + 31 - __builtin_clz(starts) : cut->opened;
    cut->after_word = cut->after_token = words >> 31;
    cut->size += CUT;
}

VECTOR_INLINE int64_t cut_any(const struct sketch_text *text, int64_t start, int64_t stop,
                              int lowercase, const struct sketch_tokens *tokens, int64_t *open,
                              const int alone)
{
    struct cut cut = {.tokens = tokens, .opened = start};

    for (int64_t i = start, next; i < stop; i = next) {
        uint8x16_t characters[2];

        next = stop - i < CUT ? stop : i + CUT;
        if (next - i == CUT && load_ascii(text, i, characters))
            cut_ascii(&cut, characters, i, lowercase);
        else
            cut_some(&cut, text, i, next, lowercase, CUT_WORDS(alone), CUT_SINGLES(alone));
    }
    return cut_end(&cut, stop, open);
}

#endif
