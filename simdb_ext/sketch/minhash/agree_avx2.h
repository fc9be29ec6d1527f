/* `agree`, 32 bytes at a time. */

#ifndef SIMDB_AGREE_AVX2_H
#define SIMDB_AGREE_AVX2_H

#include "agree_scalar.h"
#include "cpu.h"

#if CPU_X86

CPU_AVX2 static void agree_narrow_avx2(const void *left, int is_one, const void *right,
                                       int64_t count, int width, uint16_t *agreeing)
{
    for (int64_t i = 0; i < count; i++) {
        const uint8_t *first = (const uint8_t *)left + (is_one ? 0 : i * width);
        const uint8_t *second = (const uint8_t *)right + i * width;
        unsigned found = 0;
        int j = 0;
        for (; j + 32 <= width; j += 32) {
            __m256i equal = _mm256_cmpeq_epi8(_mm256_loadu_si256((const __m256i *)(first + j)),
                                              _mm256_loadu_si256((const __m256i *)(second + j)));
            found += (unsigned)_mm_popcnt_u32((uint32_t)_mm256_movemask_epi8(equal));
        }
        agreeing[i] = (uint16_t)(found + agree_narrow(first + j, second + j, width - j));
    }
}

CPU_AVX2 static void agree_wide_avx2(const void *left, int is_one, const void *right,
                                     int64_t count, int width, uint16_t *agreeing)
{
    for (int64_t i = 0; i < count; i++) {
        const uint32_t *first = (const uint32_t *)left + (is_one ? 0 : i * width);
        const uint32_t *second = (const uint32_t *)right + i * width;
        unsigned found = 0;
        int j = 0;
        for (; j + 8 <= width; j += 8) {
            __m256i equal = _mm256_cmpeq_epi32(_mm256_loadu_si256((const __m256i *)(first + j)),
                                               _mm256_loadu_si256((const __m256i *)(second + j)));
            int mask = _mm256_movemask_ps(_mm256_castsi256_ps(equal));
            found += (unsigned)_mm_popcnt_u32((uint32_t)mask);
        }
        agreeing[i] = (uint16_t)(found + agree_wide(first + j, second + j, width - j));
    }
}

#endif

#endif
