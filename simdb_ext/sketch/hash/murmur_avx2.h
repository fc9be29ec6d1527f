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

/* Hash four tokens.  Of tokens of 16 bytes and more the results are wrong; return a mask of these
   tokens. */
CPU_AVX2 static inline int hash_four_avx2(const uint8_t *text, const uint32_t *starts,
                                          const uint32_t *stops, uint32_t seed, uint64_t *first,
                                          uint64_t *second)
{
    const __m256i ones = _mm256_set1_epi64x(-1);
    __m128i lengths = _mm_sub_epi32(_mm_loadu_si128((const __m128i *)stops),
                                    _mm_loadu_si128((const __m128i *)starts));
    __m256i sizes = _mm256_cvtepu32_epi64(lengths), bits = _mm256_slli_epi64(sizes, 3);
    __m256i salt = _mm256_xor_si256(_mm256_set1_epi64x(seed), sizes), low, high;

    /* A shift by 64 or more, or by a negative number, gives 0. */
    load_tokens_avx2(text, starts, &low, &high);
    low = _mm256_andnot_si256(_mm256_sllv_epi64(ones, bits), low);
    bits = _mm256_sub_epi64(_mm256_set1_epi64x(128), bits);
    high = _mm256_and_si256(_mm256_srlv_epi64(ones, bits), high);
    low = mix_rotate_avx2(mix_product_avx2(low, MIX_FIRST), 31);
    high = mix_rotate_avx2(mix_product_avx2(high, MIX_SECOND), 33);
    low = _mm256_xor_si256(mix_product_avx2(low, MIX_SECOND), salt);
    high = _mm256_xor_si256(mix_product_avx2(high, MIX_FIRST), salt);
    low = _mm256_add_epi64(low, high);
    high = _mm256_add_epi64(high, low);
    low = mix_final_avx2(low);
    high = mix_final_avx2(high);
    low = _mm256_add_epi64(low, high);
    _mm256_storeu_si256((__m256i *)first, low);
    _mm256_storeu_si256((__m256i *)second, _mm256_add_epi64(high, low));
    return _mm_movemask_ps(_mm_castsi128_ps(_mm_cmpgt_epi32(lengths, _mm_set1_epi32(15))));
}

/* Hash the tokens whose bits are set in `longer`; apart, so that the usual loop keeps its
   registers. */
static __attribute__((noinline)) void hash_longer(const uint8_t *text, const uint32_t *starts,
                                                  const uint32_t *stops, int longer,
                                                  uint32_t seed, uint64_t *first,
                                                  uint64_t *second)
{
    for (int i = 0; i < 4; i++)
        if (longer >> i & 1)
            hash_scalar(text, starts + i, stops + i, 1, seed, first + i, second + i);
}

CPU_AVX2 static void hash_avx2(const uint8_t *text, const uint32_t *starts, const uint32_t *stops,
                               int64_t count, uint32_t seed, uint64_t *first, uint64_t *second)
{
    if (count < 4) {
        hash_scalar(text, starts, stops, count, seed, first, second);
        return;
    }
    for (int64_t i = 0; i < count; i += 4) {
        /* The last four tokens may have been hashed in part before. */
        int64_t at = count - i < 4 ? count - 4 : i;
        int longer = hash_four_avx2(text, starts + at, stops + at, seed, first + at, second + at);

        if (longer != 0)
            hash_longer(text, starts + at, stops + at, longer, seed, first + at, second + at);
    }
}

#endif

#endif
