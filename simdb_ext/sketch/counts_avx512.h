/* Bytes count to 255, then they are added to the 32-bit counters; a hash is itself the mask of
   the bytes to count up. */

#ifndef SIMDB_COUNTS_AVX512_H
#define SIMDB_COUNTS_AVX512_H

#include "cpu.h"

#if CPU_X86

CPU_AVX512 static inline void add_bytes_avx512(__m512i bytes, uint32_t *ones)
{
    uint8_t counts[64];

    _mm512_storeu_si512(counts, bytes);
    for (int j = 0; j < 64; j += 16) {
        __m512i some = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(counts + j)));
        _mm512_storeu_si512(ones + j, _mm512_add_epi32(_mm512_loadu_si512(ones + j), some));
    }
}

CPU_AVX512 static void counts_avx512(const uint64_t *first, const uint64_t *second, int64_t count,
                                     uint32_t *ones)
{
    const __m512i minus_one = _mm512_set1_epi8(-1);

    while (count > 0) {
        int64_t some = count < 255 ? count : 255;
        __m512i low = _mm512_setzero_si512(), high = low;

        for (int64_t i = 0; i < some; i++) {
            low = _mm512_mask_sub_epi8(low, first[i], low, minus_one);
            high = _mm512_mask_sub_epi8(high, second[i], high, minus_one);
        }
        add_bytes_avx512(low, ones);
        add_bytes_avx512(high, ones + 64);
        first += some;
        second += some;
        count -= some;
    }
}

#endif

#endif
