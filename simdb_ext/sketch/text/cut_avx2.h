/* `cut`, 32 characters at a time if all are ASCII. */

#ifndef SIMDB_CUT_AVX2_H
#define SIMDB_CUT_AVX2_H

#include "ascii_avx2.h"
#include "cut_scalar.h"

#if CPU_X86

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
    if (text->width == 4)
        return 0;
    __m256i high = _mm256_loadu_si256((const __m256i *)(content + 32));
    if (!_mm256_testz_si256(_mm256_or_si256(low, high), _mm256_set1_epi16(-0x80)))
        return 0;
    *characters = _mm256_permute4x64_epi64(_mm256_packus_epi16(low, high), 0xD8);
    return 1;
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

CPU_AVX2 static int64_t cut_avx2(const struct sketch_text *text, int64_t start, int64_t stop,
                                 int lowercase, const struct sketch_tokens *tokens, int64_t *open)
{
    struct cut cut = {.tokens = tokens, .opened = start};

    for (int64_t i = start, next; i < stop; i = next) {
        __m256i characters;

        next = stop - i < 32 ? stop : i + 32;
        if (stop - i >= 32 && load_ascii_avx2(text, i, &characters))
            cut_ascii_avx2(&cut, characters, i, lowercase);
        else
            cut_some(&cut, text, i, next, lowercase, CUT_WORDS, CUT_SINGLES);
    }
    return cut_end(&cut, stop, open);
}

#endif

#endif
