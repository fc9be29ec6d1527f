/* Classes and lower case of 64 ASCII characters. */

#ifndef SIMDB_ASCII_AVX512_H
#define SIMDB_ASCII_AVX512_H

#include "cpu.h"

#if CPU_X86

CPU_AVX512 static inline uint64_t ascii_between(__m512i characters, char low, char high)
{
    return _mm512_cmple_epu8_mask(_mm512_sub_epi8(characters, _mm512_set1_epi8(low)),
                                  _mm512_set1_epi8((char)(high - low)));
}

CPU_AVX512 static inline uint64_t ascii_words(__m512i characters)
{
    __m512i lower = _mm512_or_si512(characters, _mm512_set1_epi8('a' - 'A'));
    return ascii_between(lower, 'a', 'z') | ascii_between(characters, '0', '9') |
           _mm512_cmpeq_epi8_mask(characters, _mm512_set1_epi8('_'));
}

CPU_AVX512 static inline uint64_t ascii_spaces(__m512i characters)
{
    return ascii_between(characters, '\t', '\r') |
           _mm512_cmpeq_epi8_mask(characters, _mm512_set1_epi8(' '));
}

CPU_AVX512 static inline __m512i ascii_lower(__m512i characters)
{
    return _mm512_mask_add_epi8(characters, ascii_between(characters, 'A', 'Z'), characters,
                                _mm512_set1_epi8('a' - 'A'));
}

#endif

#endif
