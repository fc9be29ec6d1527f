/* `hash`, four tokens at a time if all are shorter than 16 bytes. */

#ifndef SIMDB_MURMUR_AVX2_H
#define SIMDB_MURMUR_AVX2_H

#include "mix_avx2.h"
#include "murmur_scalar.h"

#if CPU_X86

/* Load the first 16 bytes of four tokens, as two words of each. */
CPU_AVX2 static inline void load_tokens_avx2(const uint8_t *text, const uint32_t *starts,
                                             __m256i *low, __m256i *high)
{
    __m128i tokens[4];

    for (int i = 0; i < 4; i++)
        tokens[i] = _mm_loadu_si128((const __m128i *)(text + starts[i]));
    __m256i even = _mm256_inserti128_si256(_mm256_castsi128_si256(tokens[0]), tokens[2], 1);
    __m256i odd = _mm256_inserti128_si256(_mm256_castsi128_si256(tokens[1]), tokens[3], 1);
    *low = _mm256_unpacklo_epi64(even, odd);
    *high = _mm256_unpackhi_epi64(even, odd);
}

/* Return all ones in the lowest `lengths` bytes, 0 to 8, of each word. */
CPU_AVX2 static inline __m256i bytes_mask_avx2(__m128i lengths)
{
    __m256i unused = _mm256_sub_epi64(_mm256_set1_epi64x(64),
                                      _mm256_slli_epi64(_mm256_cvtepu32_epi64(lengths), 3));
    return _mm256_srlv_epi64(_mm256_set1_epi64x(-1), unused);
}

CPU_AVX2 static void hash_avx2(const uint8_t *text, const uint32_t *starts, const uint32_t *stops,
                               int64_t count, uint32_t seed, uint64_t *first, uint64_t *second)
{
    const __m128i eight = _mm_set1_epi32(8);
    int64_t i = 0;

    for (; i + 4 <= count; i += 4) {
        __m128i lengths = _mm_sub_epi32(_mm_loadu_si128((const __m128i *)(stops + i)),
                                        _mm_loadu_si128((const __m128i *)(starts + i)));
        if (!_mm_test_all_zeros(lengths, _mm_set1_epi32(~15))) {
            hash_scalar(text, starts + i, stops + i, 4, seed, first + i, second + i);
            continue;
        }
        __m256i low, high, salt = _mm256_xor_si256(_mm256_set1_epi64x(seed),
                                                   _mm256_cvtepu32_epi64(lengths));
        load_tokens_avx2(text, starts + i, &low, &high);
        low = _mm256_and_si256(low, bytes_mask_avx2(_mm_min_epi32(lengths, eight)));
        high = _mm256_and_si256(
            high, bytes_mask_avx2(_mm_sub_epi32(_mm_max_epi32(lengths, eight), eight)));
        low = mix_rotate_avx2(mix_product_avx2(low, MIX_FIRST), 31);
        high = mix_rotate_avx2(mix_product_avx2(high, MIX_SECOND), 33);
        low = _mm256_xor_si256(mix_product_avx2(low, MIX_SECOND), salt);
        high = _mm256_xor_si256(mix_product_avx2(high, MIX_FIRST), salt);
        low = _mm256_add_epi64(low, high);
        high = _mm256_add_epi64(high, low);
        low = mix_final_avx2(low);
        high = mix_final_avx2(high);
        low = _mm256_add_epi64(low, high);
        _mm256_storeu_si256((__m256i *)(first + i), low);
        _mm256_storeu_si256((__m256i *)(second + i), _mm256_add_epi64(high, low));
    }
    hash_scalar(text, starts + i, stops + i, count - i, seed, first + i, second + i);
}

#endif

#endif
