/* `shingles`, four at a time. */

#ifndef SIMDB_SHINGLES_AVX2_H
#define SIMDB_SHINGLES_AVX2_H

#include "mix_avx2.h"
#include "shingles_scalar.h"

#if CPU_X86

CPU_AVX2 static void shingles_avx2(uint64_t *words, int64_t count, int shingle)
{
    int64_t i = 0;

    for (; i + 4 <= count; i += 4) {
        __m256i hash = _mm256_loadu_si256((const __m256i *)(words + i));
        for (int j = 1; j < shingle; j++)
            hash = _mm256_xor_si256(mix_rotate_avx2(hash, MIX_ROTATION),
                                    _mm256_loadu_si256((const __m256i *)(words + i + j)));
        _mm256_storeu_si256((__m256i *)(words + i), mix_final_avx2(hash));
    }
    shingles_scalar(words + i, count - i, shingle);
}

#endif

#endif
