/* `surrogate`, 32 bytes at a time; the last 32 bytes may overlap those before. */

#ifndef SIMDB_SURROGATE_AVX2_H
#define SIMDB_SURROGATE_AVX2_H

#include "cpu.h"
#include "surrogate_scalar.h"

#if CPU_X86

/* Return ones where one of 16 characters of a text, or of 8 wide ones, is a surrogate. */
CPU_AVX2 static inline __m256i surrogates_avx2(const uint8_t *content, int is_wide)
{
    __m256i characters = _mm256_loadu_si256((const __m256i *)content);

    if (is_wide)
        return _mm256_cmpeq_epi32(_mm256_srli_epi32(characters, 11), _mm256_set1_epi32(0x1B));
    return _mm256_cmpeq_epi16(_mm256_srli_epi16(characters, 11), _mm256_set1_epi16(0x1B));
}

CPU_AVX2 static inline int surrogate_any_avx2(const uint8_t *content, int64_t size, int is_wide)
{
    __m256i found = surrogates_avx2(content + size - 32, is_wide), other = found;
    int64_t i = 0;

    for (; i + 64 <= size; i += 64) {
        found = _mm256_or_si256(found, surrogates_avx2(content + i, is_wide));
        other = _mm256_or_si256(other, surrogates_avx2(content + i + 32, is_wide));
    }
    if (i + 32 <= size)
        found = _mm256_or_si256(found, surrogates_avx2(content + i, is_wide));
    found = _mm256_or_si256(found, other);
    return !_mm256_testz_si256(found, found);
}

CPU_AVX2 static int surrogate_avx2(const struct sketch_text *text)
{
    int64_t size = text->length * text->width;

    if (text->width == 1)
        return 0;
    if (size < 32)
        return surrogate_scalar(text);
    if (text->width == 2)
        return surrogate_any_avx2(text->characters, size, 0);
    return surrogate_any_avx2(text->characters, size, 1);
}

#endif

#endif
