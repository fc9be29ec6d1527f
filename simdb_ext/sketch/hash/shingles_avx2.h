/* `shingles`, four at a time. */

#ifndef SIMDB_SHINGLES_AVX2_H
#define SIMDB_SHINGLES_AVX2_H

#include "mix_avx2.h"
#include "shingles.h"

#if CPU_X86

/* Return the hashes of four shingles from `words` on. */
CPU_AVX2 static inline __m256i four_shingles_avx2(const uint64_t *words, int shingle)
{
    __m256i hash = _mm256_loadu_si256((const __m256i *)words);

    for (int j = 1; j < shingle; j++)
        hash = _mm256_xor_si256(mix_rotate_avx2(hash, MIX_ROTATION),
                                _mm256_loadu_si256((const __m256i *)(words + j)));
    return mix_final_avx2(hash);
}

CPU_AVX2 static void shingles_avx2(uint64_t *words, int64_t count, int shingle)
{
    int64_t i = 0;

    for (; i + 4 <= count; i += 4)
        _mm256_storeu_si256((__m256i *)(words + i), four_shingles_avx2(words + i, shingle));
    if (i < count) {
        __m256i some = _mm256_cmpgt_epi64(_mm256_set1_epi64x(count - i),
                                          _mm256_setr_epi64x(0, 1, 2, 3));
        _mm256_maskstore_epi64((long long *)words + i, some,
                               four_shingles_avx2(words + i, shingle));
    }
}

#endif

#endif
