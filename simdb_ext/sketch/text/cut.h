/* `cut`, `cut_spaceless` and `cut_spaces`: text of any script. */

#ifndef SIMDB_CUT_H
#define SIMDB_CUT_H

#include "ascii.h"
#include "text.h"
#include "unicode.h"
#include "vector.h"

/* The classes of characters that words consist of, and the classes of characters that are words by
   themselves.  With `alone`, a letter of a script without spaces is a word by itself. */
#define CUT_WORDS(alone) (1u << CLASS_WORD | !(alone) * (1u << CLASS_SPACELESS))
#define CUT_SINGLES(alone) (1u << CLASS_SINGLE | !!(alone) * (1u << CLASS_SPACELESS))

/* The state of a text that is being cut. */
struct cut {
    const struct sketch_tokens *tokens;
    int64_t opened; /* the character where the last token begins */
    int64_t started;
    int64_t stopped;
    uint32_t size;
    int after_word;
    int after_token;
};

/* Cut some characters.  Neighbours of the classes in the mask `words` make a token together; a
   character of a class in `singles` makes a token alone.  Token borders cannot be predicted in
   running text.  So every character is copied, and borders are computed without a branch. */
static inline void cut_some(struct cut *cut, const struct sketch_text *text, int64_t start,
                            int64_t stop, int lowercase, unsigned words, unsigned singles)
{
    struct cut now = *cut;

    for (int64_t i = start; i < stop; i++) {
        uint32_t code = character_at(text, i);
        int is_word = words >> unicode_class(code) & 1;
        int is_token = (words | singles) >> unicode_class(code) & 1;
        int is_parted = !(now.after_word & is_word);

        now.tokens->stops[now.stopped] = now.size;
        now.stopped += now.after_token & is_parted;
        now.tokens->starts[now.started] = now.size;
        now.started += is_token & is_parted;
        now.opened = is_parted ? i : now.opened;
        now.size += (uint32_t)unicode_encode(lowercase ? unicode_lower(code) : code,
                                             now.tokens->copy + now.size);
        now.after_word = is_word;
        now.after_token = is_token;
    }
    *cut = now;
}

static inline int64_t cut_end(const struct cut *cut, int64_t stop, int64_t *open)
{
    if (cut->stopped < cut->started)
        cut->tokens->stops[cut->stopped] = cut->size;
    *open = cut->after_word ? cut->opened : stop;
    return cut->started;
}

#if VECTORS == VECTORS_AVX2
#include "cut_avx2.h"
#elif VECTORS == VECTORS_AVX512
#include "cut_avx512.h"
#elif VECTORS == VECTORS_NEON

/* Load 32 characters as bytes; return 1 if all are ASCII, else 0. */
static inline int load_ascii(const struct sketch_text *text, int64_t place, vector *characters)
{
    const uint8_t *content = (const uint8_t *)text->characters + place * text->width;

    if (text->width == 1) {
        characters[0] = vector_load(content);
        characters[1] = vector_load(content + 16);
        return vmaxvq_u8(VECTOR_8(vorrq_u64(characters[0], characters[1]))) < 0x80;
    }
    if (text->width == 2) {
        uint16x8_t all = vdupq_n_u16(0);
        for (int i = 0; i < 2; i++) {
            uint16x8_t low = vreinterpretq_u16_u8(vld1q_u8(content + 32 * i));
            uint16x8_t high = vreinterpretq_u16_u8(vld1q_u8(content + 32 * i + 16));
            all = vorrq_u16(all, vorrq_u16(low, high));
            characters[i] = VECTOR_OF_8(vmovn_high_u16(vmovn_u16(low), high));
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
        characters[i] = VECTOR_OF_8(vmovn_high_u16(vmovn_u16(halves[0]), halves[1]));
    }
    return vmaxvq_u32(all) < 0x80;
}

#endif

#if !VECTORS_X86

/* Cut characters of any script; with `alone`, a constant, characters of scripts without spaces are
   words by themselves. */
VECTOR_INLINE void cut_rest(struct cut *cut, const struct sketch_text *text, int64_t start,
                            int64_t stop, int lowercase, const int alone)
{
    cut_some(cut, text, start, stop, lowercase, CUT_WORDS(alone), CUT_SINGLES(alone));
}

#endif

#if VECTORS

enum { CUT = VECTOR_BYTES < 32 ? 32 : VECTOR_BYTES }; /* characters */

static inline void cut_ascii(struct cut *cut, const vector *characters, int64_t place,
                             int lowercase)
{
    const uint64_t all = ~(uint64_t)0 >> (64 - CUT);
    uint64_t words = words_mask(characters, CUT, lowercase, cut->tokens->copy + cut->size);
    uint64_t joined = words & (words << 1 | (uint64_t)cut->after_word);
    uint64_t starts = words & ~joined;
    uint64_t stops = (words << 1 | (uint64_t)cut->after_token) & ~joined & all;

    cut->started += positions(starts, CUT, cut->size, cut->tokens->starts + cut->started);
    cut->stopped += positions(stops, CUT, cut->size, cut->tokens->stops + cut->stopped);
    cut->opened = starts ? place + 63 - __builtin_clzll(starts) : cut->opened;
    cut->after_word = cut->after_token = (int)(words >> (CUT - 1));
    cut->size += CUT;
}

VECTOR_INLINE int64_t cut_any(const struct sketch_text *text, int64_t start, int64_t stop,
                              int lowercase, const struct sketch_tokens *tokens, int64_t *open,
                              const int alone)
{
    struct cut cut = {.tokens = tokens, .opened = start};

    for (int64_t i = start, next; i < stop; i = next) {
        vector characters[CUT / VECTOR_BYTES];

        next = stop - i < CUT ? stop : i + CUT;
        if (next - i == CUT && load_ascii(text, i, characters))
            cut_ascii(&cut, characters, i, lowercase);
        else
            cut_rest(&cut, text, i, next, lowercase, alone);
    }
    return cut_end(&cut, stop, open);
}

#else

VECTOR_INLINE int64_t cut_any(const struct sketch_text *text, int64_t start, int64_t stop,
                              int lowercase, const struct sketch_tokens *tokens, int64_t *open,
                              const int alone)
{
    struct cut cut = {.tokens = tokens, .opened = start};

    cut_rest(&cut, text, start, stop, lowercase, alone);
    return cut_end(&cut, stop, open);
}

#endif

static int64_t cut(const struct sketch_text *text, int64_t start, int64_t stop, int lowercase,
                   const struct sketch_tokens *tokens, int64_t *open)
{
    return cut_any(text, start, stop, lowercase, tokens, open, 0);
}

static int64_t cut_spaceless(const struct sketch_text *text, int64_t start, int64_t stop,
                             int lowercase, const struct sketch_tokens *tokens, int64_t *open)
{
    return cut_any(text, start, stop, lowercase, tokens, open, 1);
}

static int64_t cut_spaces(const struct sketch_text *text, int64_t start, int64_t stop,
                          int lowercase, const struct sketch_tokens *tokens, int64_t *open)
{
    struct cut cut = {.tokens = tokens, .opened = start};

    cut_some(&cut, text, start, stop, lowercase, ~(1u << CLASS_SPACE), 0);
    return cut_end(&cut, stop, open);
}

#endif
