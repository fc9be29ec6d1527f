/* `units`: all 64 sums of a word stay in four registers; the hash masks the additions. */

#ifndef SIMDB_UNITS_AVX512_H
#define SIMDB_UNITS_AVX512_H

#include "cpu.h"
#include "units.h"

#if CPU_X86

CPU_AVX512 static void units_batch_avx512(const uint64_t *words, const uint32_t *units,
                                          int64_t count, uint64_t *sums)
{
    __m512i some[4];

    for (int j = 0; j < 4; j++)
        some[j] = _mm512_setzero_si512();
    for (int64_t i = 0; i < count; i++) {
        __m512i weight = _mm512_set1_epi32((int)units[i]);
        for (int j = 0; j < 4; j++)
            some[j] = _mm512_mask_add_epi32(some[j], (__mmask16)(words[i] >> 16 * j), some[j],
                                            weight);
    }
    for (int j = 0; j < 4; j++) {
        __m512i low = _mm512_cvtepu32_epi64(_mm512_castsi512_si256(some[j]));
        __m512i high = _mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64(some[j], 1));
        uint64_t *out = sums + 16 * j;
        _mm512_storeu_si512(out, _mm512_add_epi64(_mm512_loadu_si512(out), low));
        _mm512_storeu_si512(out + 8, _mm512_add_epi64(_mm512_loadu_si512(out + 8), high));
    }
}

CPU_AVX512 static void units_avx512(const uint64_t *first, const uint64_t *second,
                                    const uint32_t *units, int64_t count, uint64_t *sums)
{
    for (int64_t i = 0; i < count; i += UNITS_BATCH) {
        int64_t batch = count - i < UNITS_BATCH ? count - i : UNITS_BATCH;
        units_batch_avx512(first + i, units + i, batch, sums);
        units_batch_avx512(second + i, units + i, batch, sums + 64);
    }
}

#endif

#endif
