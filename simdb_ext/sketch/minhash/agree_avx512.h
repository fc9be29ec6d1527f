/* `agree`, 64 bytes at a time; the last ones are masked. */

#ifndef SIMDB_AGREE_AVX512_H
#define SIMDB_AGREE_AVX512_H

#include <stdint.h>

#include "cpu.h"

#if CPU_X86

CPU_AVX512 static void agree_narrow_avx512(const void *left, int is_one, const void *right,
                                           int64_t count, int width, uint16_t *agreeing)
{
    for (int64_t i = 0; i < count; i++) {
        const uint8_t *first = (const uint8_t *)left + (is_one ? 0 : i * width);
        const uint8_t *second = (const uint8_t *)right + i * width;
        uint64_t found = 0;
        for (int j = 0; j < width; j += 64) {
            __mmask64 some = width - j < 64 ? _bzhi_u64(UINT64_MAX, (unsigned)(width - j))
                                            : UINT64_MAX;
            __mmask64 equal = _mm512_mask_cmpeq_epi8_mask(
                some, _mm512_maskz_loadu_epi8(some, first + j),
                _mm512_maskz_loadu_epi8(some, second + j));
            found += (uint64_t)_mm_popcnt_u64(equal);
        }
        agreeing[i] = (uint16_t)found;
    }
}

CPU_AVX512 static void agree_wide_avx512(const void *left, int is_one, const void *right,
                                         int64_t count, int width, uint16_t *agreeing)
{
    for (int64_t i = 0; i < count; i++) {
        const uint32_t *first = (const uint32_t *)left + (is_one ? 0 : i * width);
        const uint32_t *second = (const uint32_t *)right + i * width;
        unsigned found = 0;
        for (int j = 0; j < width; j += 16) {
            __mmask16 some = (__mmask16)_bzhi_u32(0xFFFF,
                                                  width - j < 16 ? (unsigned)(width - j) : 16);
            __mmask16 equal = _mm512_mask_cmpeq_epi32_mask(
                some, _mm512_maskz_loadu_epi32(some, first + j),
                _mm512_maskz_loadu_epi32(some, second + j));
            found += (unsigned)_mm_popcnt_u32(equal);
        }
        agreeing[i] = (uint16_t)found;
    }
}

#endif

#endif
