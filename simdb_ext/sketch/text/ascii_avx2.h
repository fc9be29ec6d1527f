/* Classes and lower case of 32 ASCII characters, and the positions of bits. */

#ifndef SIMDB_ASCII_AVX2_H
#define SIMDB_ASCII_AVX2_H

#include <stdint.h>

#include "cpu.h"

#if CPU_X86

/* Return ones where `low` <= character <= `high`; ASCII bytes are never negative. */
CPU_AVX2 static inline __m256i between_avx2(__m256i characters, char low, char high)
{
    return _mm256_and_si256(
        _mm256_cmpgt_epi8(characters, _mm256_set1_epi8((char)(low - 1))),
        _mm256_cmpgt_epi8(_mm256_set1_epi8((char)(high + 1)), characters));
}

/* Copy 32 characters and return a mask of the word characters among them. */
CPU_AVX2 static inline uint32_t words_mask_avx2(__m256i characters, int lowercase, uint8_t *copy)
{
    const __m256i offset = _mm256_set1_epi8('a' - 'A');
    __m256i upper = between_avx2(characters, 'A', 'Z');
    __m256i is_word = _mm256_or_si256(
        between_avx2(_mm256_or_si256(characters, offset), 'a', 'z'),
        _mm256_or_si256(between_avx2(characters, '0', '9'),
                        _mm256_cmpeq_epi8(characters, _mm256_set1_epi8('_'))));

    if (lowercase)
        characters = _mm256_add_epi8(characters, _mm256_and_si256(upper, offset));
    _mm256_storeu_si256((__m256i *)copy, characters);
    return (uint32_t)_mm256_movemask_epi8(is_word);
}

/* Write the positions of the bits of `mask`, plus `base`; return their number.  Four are written at
   a time, more than there are, so that loops are short and predictable. */
CPU_AVX2 static inline int64_t positions_avx2(uint64_t mask, uint32_t base, uint32_t *out)
{
    int64_t count = __builtin_popcountll(mask);

    for (int64_t i = 0; i < count; i += 4)
        for (int64_t j = i; j < i + 4; j++) {
            out[j] = base + (uint32_t)_tzcnt_u64(mask);
            mask = _blsr_u64(mask);
        }
    return count;
}

#endif

#endif
