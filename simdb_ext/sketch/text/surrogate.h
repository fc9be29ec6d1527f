/* `surrogate`: with AVX2, 32 bytes at a time; the last 32 bytes may overlap those before. */

#ifndef SIMDB_SURROGATE_H
#define SIMDB_SURROGATE_H

#include "text.h"
#include "unicode.h"
#include "vector.h"

/* Characters between two looks at whether the search may end: enough to be vectorised. */
#define SURROGATE_STRIDE 1024

#if VECTORS_X86

/* Return ones where one of 16 characters of a text, or of 8 wide ones, is a surrogate. */
VECTOR_INLINE __m256i surrogates(const uint8_t *content, int is_wide)
{
    __m256i characters = _mm256_loadu_si256((const __m256i *)content);

    if (is_wide)
        return _mm256_cmpeq_epi32(_mm256_srli_epi32(characters, 11), _mm256_set1_epi32(0x1B));
    return _mm256_cmpeq_epi16(_mm256_srli_epi16(characters, 11), _mm256_set1_epi16(0x1B));
}

VECTOR_INLINE int surrogate_any(const uint8_t *content, int64_t size, const int is_wide)
{
    __m256i found = surrogates(content + size - 32, is_wide), other = found;
    int64_t i = 0;

    for (; i + 64 <= size; i += 64) {
        found = _mm256_or_si256(found, surrogates(content + i, is_wide));
        other = _mm256_or_si256(other, surrogates(content + i + 32, is_wide));
    }
    if (i + 32 <= size)
        found = _mm256_or_si256(found, surrogates(content + i, is_wide));
    found = _mm256_or_si256(found, other);
    return !_mm256_testz_si256(found, found);
}

#endif

static int surrogate(const struct sketch_text *text)
{
    const uint16_t *narrow = text->characters;
    const uint32_t *wide = text->characters;
    int found = 0;

#if VECTORS_X86
    if (text->width == 2 && text->length >= 16)
        return surrogate_any(text->characters, 2 * text->length, 0);
    if (text->width == 4 && text->length >= 8)
        return surrogate_any(text->characters, 4 * text->length, 1);
#endif
    for (int64_t i = 0, stop; text->width > 1 && i < text->length && !found; i = stop) {
        stop = text->length - i < SURROGATE_STRIDE ? text->length : i + SURROGATE_STRIDE;
        if (text->width == 2)
            for (int64_t j = i; j < stop; j++)
                found |= unicode_is_surrogate(narrow[j]);
        else
            for (int64_t j = i; j < stop; j++)
                found |= unicode_is_surrogate(wide[j]);
    }
    return found;
}

#endif
