/* `units`: 64 sums in eight registers; the bits of a byte of the hash mask eight lanes. */

#ifndef SIMDB_UNITS_AVX2_H
#define SIMDB_UNITS_AVX2_H

#include "cpu.h"
#include "units.h"

#if CPU_X86

CPU_AVX2 static void units_batch_avx2(const uint64_t *words, const uint32_t *units, int64_t count,
                                      uint64_t *sums)
{
    const __m256i bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    __m256i some[8];

    for (int j = 0; j < 8; j++)
        some[j] = _mm256_setzero_si256();
    for (int64_t i = 0; i < count; i++) {
        __m256i weight = _mm256_set1_epi32((int)units[i]);
        for (int j = 0; j < 8; j++) {
            __m256i byte = _mm256_set1_epi32((int)(words[i] >> 8 * j & 0xFF));
            __m256i mask = _mm256_cmpeq_epi32(_mm256_and_si256(byte, bits), bits);
            some[j] = _mm256_add_epi32(some[j], _mm256_and_si256(mask, weight));
        }
    }
    for (int j = 0; j < 8; j++) {
        uint32_t lanes[8];
        _mm256_storeu_si256((__m256i *)lanes, some[j]);
        for (int k = 0; k < 8; k++)
            sums[8 * j + k] += lanes[k];
    }
}

CPU_AVX2 static void units_avx2(const uint64_t *first, const uint64_t *second,
                                const uint32_t *units, int64_t count, uint64_t *sums)
{
    for (int64_t i = 0; i < count; i += UNITS_BATCH) {
        int64_t batch = count - i < UNITS_BATCH ? count - i : UNITS_BATCH;
        units_batch_avx2(first + i, units + i, batch, sums);
        units_batch_avx2(second + i, units + i, batch, sums + 64);
    }
}

#endif

#endif
