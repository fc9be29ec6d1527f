/* Classes and lower case of 32 ASCII characters, and the positions of bits. */

#ifndef SIMDB_ASCII_AVX2_H
#define SIMDB_ASCII_AVX2_H

#include <stdint.h>

#include "cpu.h"
#include "places.h"

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

/* Write the positions of the bits of `mask`, plus `base`; return their number.  Each byte of `mask`
   overwrites eight entries, so that there is no branch. */
CPU_AVX2 static inline int64_t positions_avx2(uint32_t mask, uint32_t base, uint32_t *out)
{
    int64_t count = 0;

    for (uint32_t shift = 0; shift < 32; shift += 8) {
        uint32_t bits = mask >> shift & 0xFF;
        __m128i places = _mm_loadl_epi64((const __m128i *)&places_of_bits[bits]);
        __m256i positions = _mm256_add_epi32(_mm256_cvtepu8_epi32(places),
                                             _mm256_set1_epi32((int)(base + shift)));
        _mm256_storeu_si256((__m256i *)(out + count), positions);
        count += __builtin_popcount(bits);
    }
    return count;
}

#endif

#endif
