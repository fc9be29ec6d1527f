/* `cut` and `cut_spaceless`, 32 characters at a time if all are ASCII, else 8. */

#ifndef SIMDB_CUT_AVX2_H
#define SIMDB_CUT_AVX2_H

#include "ascii_avx2.h"
#include "cut_scalar.h"
#include "group_avx2.h"

#if CPU_X86

#define CUT_INLINE_AVX2 CPU_AVX2 __attribute__((always_inline)) static inline

/* Load 32 characters as bytes and return 1 if all are ASCII; else return 0. */
CPU_AVX2 static inline int load_ascii_avx2(const struct sketch_text *text, int64_t place,
                                           __m256i *characters)
{
    const uint8_t *content = (const uint8_t *)text->characters + place * text->width;
    __m256i low = _mm256_loadu_si256((const __m256i *)content);

    if (text->width == 1) {
        *characters = low;
        return _mm256_movemask_epi8(low) == 0;
    }
    __m256i second = _mm256_loadu_si256((const __m256i *)(content + 32));
    if (text->width == 2) {
        *characters = _mm256_permute4x64_epi64(_mm256_packus_epi16(low, second), 0xD8);
        return _mm256_testz_si256(_mm256_or_si256(low, second), _mm256_set1_epi16(-0x80));
    }
    __m256i third = _mm256_loadu_si256((const __m256i *)(content + 64));
    __m256i fourth = _mm256_loadu_si256((const __m256i *)(content + 96));
    __m256i all = _mm256_or_si256(_mm256_or_si256(low, second), _mm256_or_si256(third, fourth));
    low = _mm256_packus_epi16(_mm256_packus_epi32(low, second),
                              _mm256_packus_epi32(third, fourth));
    *characters = _mm256_permutevar8x32_epi32(low, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    return _mm256_testz_si256(all, _mm256_set1_epi32(-0x80));
}

CPU_AVX2 static inline void cut_ascii_avx2(struct cut *cut, __m256i characters, int64_t place,
                                           int lowercase)
{
    uint32_t words = words_mask_avx2(characters, lowercase, cut->tokens->copy + cut->size);
    uint32_t joined = words & (words << 1 | (uint32_t)cut->after_word);
    uint32_t starts = words & ~joined;
    uint32_t stops = (words << 1 | (uint32_t)cut->after_token) & ~joined;

    cut->started += positions_avx2(starts, cut->size, cut->tokens->starts + cut->started);
    cut->stopped += positions_avx2(stops, cut->size, cut->tokens->stops + cut->stopped);
    cut->opened = starts ? place + 31 - (int64_t)_lzcnt_u32(starts) : cut->opened;
    cut->after_word = cut->after_token = words >> 31;
    cut->size += 32;
}

/* Cut eight characters of any script.  Those of scripts without spaces are words by themselves if
   `alone`, a constant. */
CUT_INLINE_AVX2 void cut_eight(struct cut *cut, const struct sketch_text *text, int64_t place,
                               int lowercase, int alone)
{
    __m128i characters, properties;
    __m256i offsets;

    if (!group_load(text, place, &characters)) {
        cut_some(cut, text, place, place + 8, lowercase, CUT_WORDS(alone),
                 CUT_SINGLES(alone));
        return;
    }
    properties = group_properties(characters);
    if (lowercase && !group_lower(properties, &characters)) {
        cut_some(cut, text, place, place + 8, lowercase, CUT_WORDS(alone),
                 CUT_SINGLES(alone));
        return;
    }
    const short mask = alone ? CLASS_ALONE_MASK : CLASS_MASK;
    uint32_t words = group_class(properties, mask, CLASS_WORD);
    if (!alone)
        words |= group_class(properties, mask, CLASS_SPACELESS);
    uint32_t tokens = words | group_class(properties, mask, CLASS_SINGLE);
    uint32_t joined = words & (words << 1 | (uint32_t)cut->after_word);
    uint32_t starts = tokens & ~joined;
    uint32_t stops = (tokens << 1 | (uint32_t)cut->after_token) & ~joined & 0xFF;

    cut->size += group_encode(characters, cut->size, cut->tokens->copy + cut->size, &offsets);
    cut->started += group_positions(starts, offsets, cut->tokens->starts + cut->started);
    cut->stopped += group_positions(stops, offsets, cut->tokens->stops + cut->stopped);
    cut->opened = starts ? place + 31 - (int64_t)_lzcnt_u32(starts) : cut->opened;
    cut->after_word = (int)(words >> 7);
    cut->after_token = (int)(tokens >> 7);
}

CUT_INLINE_AVX2 int64_t cut_any_avx2(const struct sketch_text *text, int64_t start, int64_t stop,
                                     int lowercase, const struct sketch_tokens *tokens,
                                     int64_t *open, int alone)
{
    struct cut cut = {.tokens = tokens, .opened = start};

    for (int64_t i = start; i < stop;) {
        __m256i characters;

        if (stop - i >= 32 && load_ascii_avx2(text, i, &characters)) {
            cut_ascii_avx2(&cut, characters, i, lowercase);
            i += 32;
            continue;
        }
        int64_t next = stop - i < 32 ? stop : i + 32;
        for (; next - i >= 8; i += 8)
            cut_eight(&cut, text, i, lowercase, alone);
        if (i < next)
            cut_some(&cut, text, i, next, lowercase, CUT_WORDS(alone), CUT_SINGLES(alone));
        i = next;
    }
    return cut_end(&cut, stop, open);
}

CPU_AVX2 static int64_t cut_avx2(const struct sketch_text *text, int64_t start, int64_t stop,
                                 int lowercase, const struct sketch_tokens *tokens, int64_t *open)
{
    return cut_any_avx2(text, start, stop, lowercase, tokens, open, 0);
}

CPU_AVX2 static int64_t cut_spaceless_avx2(const struct sketch_text *text, int64_t start,
                                           int64_t stop, int lowercase,
                                           const struct sketch_tokens *tokens, int64_t *open)
{
    return cut_any_avx2(text, start, stop, lowercase, tokens, open, 1);
}

#endif

#endif
