/* Up to 128 permutations at a time; their multipliers, increments and minima stay in registers. */

#ifndef SIMDB_MINIMA_AVX512_H
#define SIMDB_MINIMA_AVX512_H

#include "hash/mix_avx512.h"
#include "minima_scalar.h"

#if CPU_X86

#define MINIMA_INLINE CPU_AVX512 __attribute__((always_inline)) static inline

CPU_AVX512 static void mix_features_avx512(uint64_t *hashes, int64_t count, int is_narrow)
{
    for (int64_t i = 0; i < count; i += 8) {
        __mmask8 some = (__mmask8)_bzhi_u32(0xFF, count - i < 8 ? (unsigned)(count - i) : 8);
        __m512i mixed = mix_final_avx512(_mm512_maskz_loadu_epi64(some, hashes + i));
        if (is_narrow)
            mixed = _mm512_shuffle_epi32(mixed, (_MM_PERM_ENUM)0xF5);
        _mm512_mask_storeu_epi64(hashes + i, some, mixed);
    }
}

/* Return the lower halves of 16 words, of the words in `some`. */
MINIMA_INLINE __m512i low_words_avx512(const uint64_t *words, __mmask16 some)
{
    __m512i first = _mm512_maskz_loadu_epi64((__mmask8)some, words);
    __m512i second = _mm512_maskz_loadu_epi64((__mmask8)(some >> 8), words + 8);
    return _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi64_epi32(first)),
                              _mm512_cvtepi64_epi32(second), 1);
}

/* Lower the minima of 16 `width` permutations from `first` on, of the last 16 only those in `some`;
   `width` is a constant.  Only the upper 16 bits of a multiplier, and so of a product, are not 0:
   products of 16 bits are enough. */
MINIMA_INLINE void stratified_some_avx512(const struct minima_family *family, int first,
                                          const int width, __mmask16 some,
                                          const uint64_t *features, int64_t count,
                                          uint32_t *values)
{
    __m512i multipliers[8], least[8];

    for (int j = 0; j < width; j++) {
        multipliers[j] = low_words_avx512(family->multipliers + first + 16 * j, some);
        least[j] = _mm512_maskz_loadu_epi32(some, values + first + 16 * j);
    }
    for (int64_t i = 0; i < count; i++) {
        __m512i step = _mm512_set1_epi32((int)(((uint32_t)features[i] | 1) << 16));
        __m512i start = _mm512_set1_epi32((int)(features[i] >> 32));
        for (int j = 0; j < width; j++) {
            __m512i value = _mm512_add_epi32(_mm512_mullo_epi16(multipliers[j], step), start);
            least[j] = _mm512_min_epu32(least[j], value);
        }
    }
    for (int j = 0; j < width; j++)
        _mm512_mask_storeu_epi32(values + first + 16 * j, some, least[j]);
}

CPU_AVX512 static void minima_stratified_avx512(const struct minima_family *family,
                                                const uint64_t *features, int64_t count,
                                                uint32_t *values)
{
    int first = 0;

    for (; first + 128 <= family->count; first += 128)
        stratified_some_avx512(family, first, 8, 0xFFFF, features, count, values);
    for (; first + 64 <= family->count; first += 64)
        stratified_some_avx512(family, first, 4, 0xFFFF, features, count, values);
    for (; first + 16 <= family->count; first += 16)
        stratified_some_avx512(family, first, 1, 0xFFFF, features, count, values);
    if (first < family->count)
        stratified_some_avx512(family, first, 1, 0xFF, features, count, values);
}

/* Lower the minima of 16 `width` permutations from `first` on, of the last 16 only those in `some`;
   `width` is a constant.  A feature fills every 64-bit lane: its lower half is in the even 32-bit
   lanes, its upper half in the odd ones. */
MINIMA_INLINE void shift_some_avx512(const struct minima_family *family, int first,
                                     const int width, __mmask16 some, const uint64_t *features,
                                     int64_t count, uint32_t *values)
{
    __m512i multipliers[8], increments[8], least[8];

    for (int j = 0; j < width; j++) {
        int place = first + 16 * j;
        multipliers[j] = low_words_avx512(family->multipliers + place, some);
        increments[j] = low_words_avx512(family->increments + place, some);
        least[j] = _mm512_maskz_loadu_epi32(some, values + place);
    }
    for (int64_t i = 0; i < count; i++) {
        __m512i feature = _mm512_set1_epi64((int64_t)features[i]);
        for (int j = 0; j < width; j++) {
            __m512i value = _mm512_mullo_epi32(multipliers[j], feature);
            least[j] = _mm512_min_epu32(least[j], _mm512_add_epi32(value, increments[j]));
        }
    }
    for (int j = 0; j < width; j++)
        _mm512_mask_storeu_epi32(values + first + 16 * j, some, least[j]);
}

CPU_AVX512 static void minima_shift_avx512(const struct minima_family *family,
                                           const uint64_t *features, int64_t count,
                                           uint32_t *values)
{
    int first = 0;

    for (; first + 128 <= family->count; first += 128)
        shift_some_avx512(family, first, 8, 0xFFFF, features, count, values);
    for (; first + 64 <= family->count; first += 64)
        shift_some_avx512(family, first, 4, 0xFFFF, features, count, values);
    for (; first + 16 <= family->count; first += 16)
        shift_some_avx512(family, first, 1, 0xFFFF, features, count, values);
    if (first < family->count)
        shift_some_avx512(family, first, 1, 0xFF, features, count, values);
}

/* Return words of 61 bits with eight values as their highest bits and ones below: a word is less
   exactly if its value is. */
MINIMA_INLINE __m512i widened_avx512(const uint32_t *values)
{
    __m512i wide = _mm512_cvtepu32_epi64(_mm256_loadu_si256((const __m256i *)values));
    __m512i rest = _mm512_set1_epi64(((int64_t)1 << MERSENNE_LOST) - 1);
    return _mm512_or_si512(_mm512_slli_epi64(wide, MERSENNE_LOST), rest);
}

MINIMA_INLINE __m512i mersenne_fold_avx512(__m512i words)
{
    return _mm512_add_epi64(_mm512_and_si512(words, _mm512_set1_epi64((int64_t)MERSENNE)),
                            _mm512_srli_epi64(words, 61));
}

/* mersenne_value of eight words.  A subtraction that must not be done wraps to a large word, and
   the minimum discards it. */
MINIMA_INLINE __m512i mersenne_value_avx512(__m512i a, __m512i x, __m512i b)
{
    __m512i a_high = _mm512_srli_epi64(a, 32), x_high = _mm512_srli_epi64(x, 32);
    __m512i crossed = _mm512_add_epi64(_mm512_mul_epu32(a_high, x), _mm512_mul_epu32(a, x_high));
    __m512i upper = _mm512_slli_epi64(_mm512_mul_epu32(a_high, x_high), 3);
    __m512i middle = _mm512_slli_epi64(
        _mm512_and_si512(crossed, _mm512_set1_epi64(0x1FFFFFFF)), 32);
    __m512i sum = _mm512_add_epi64(mersenne_fold_avx512(_mm512_mul_epu32(a, x)), upper);

    sum = _mm512_add_epi64(_mm512_add_epi64(sum, middle), _mm512_srli_epi64(crossed, 29));
    sum = mersenne_fold_avx512(_mm512_add_epi64(mersenne_fold_avx512(sum), b));
    return _mm512_min_epu64(sum, _mm512_sub_epi64(sum, _mm512_set1_epi64((int64_t)MERSENNE)));
}

CPU_AVX512 static void minima_mersenne_avx512(const struct minima_family *family,
                                              const uint64_t *features, int64_t count,
                                              uint32_t *values)
{
    for (int j = 0; j < family->count; j += 8) {
        __m512i multipliers = _mm512_loadu_si512(family->multipliers + j);
        __m512i increments = _mm512_loadu_si512(family->increments + j);
        __m512i least = widened_avx512(values + j);

        for (int64_t i = 0; i < count; i++) {
            uint64_t feature = features[i] >> MERSENNE_CUT;
            __m512i word = mersenne_value_avx512(multipliers, _mm512_set1_epi64((int64_t)feature),
                                                 increments);
            least = _mm512_min_epu64(least, word);
        }
        least = _mm512_srli_epi64(least, MERSENNE_LOST);
        _mm256_storeu_si256((__m256i *)(values + j), _mm512_cvtepi64_epi32(least));
    }
}

#endif

#endif
