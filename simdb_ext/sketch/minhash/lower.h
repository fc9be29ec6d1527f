/* The functions of the families of permutations.  Up to eight vectors of minima, with their
   multipliers and increments, stay in registers. */

#ifndef SIMDB_LOWER_H
#define SIMDB_LOWER_H

#include "hash/hashes.h"
#include "minima.h"

#define MERSENNE (((uint64_t)1 << 61) - 1)
#define MERSENNE_CUT 3    /* bits that are dropped from a feature of 64 bits, which leaves 61 */
#define MERSENNE_LOST 29  /* bits that are dropped from a value of 61 bits, which leaves 32 */

static void mix_features(uint64_t *hashes, int64_t count, int is_narrow)
{
    int64_t i = 0;

#if VECTORS_X86
    for (; i + VECTOR_WORDS <= count; i += VECTOR_WORDS) {
        vector mixed = mix_finals(vector_load(hashes + i));
        vector_store(hashes + i, is_narrow ? vector_upper_twice(mixed) : mixed);
    }
#endif
    for (; i < count; i++) {
        uint64_t mixed = mix_final(hashes[i]);
        hashes[i] = is_narrow ? mixed >> 32 << 32 | mixed >> 32 : mixed;
    }
}

#if VECTORS

/* Lower the minima of VECTOR_INTS * `width` permutations, starting at `first`; `width` and
   `is_stratified` are constants.  In a stratified family, only the upper 16 bits of a multiplier,
   and so of a product, are not 0.  In other families, a feature fills every lane of 64 bits: its
   lower half is in the even lanes of 32 bits, its upper half in the odd ones. */
VECTOR_INLINE void lower_some(const struct minima_family *family, const int is_stratified,
                              int first, const int width, const uint64_t *features, int64_t count,
                              uint32_t *values)
{
    vector factors[8], added[8], least[8];

    for (int j = 0; j < width; j++) {
        int place = first + j * VECTOR_INTS;
        factors[j] = vector_lower_halves(family->multipliers + place);
        if (!is_stratified)
            added[j] = vector_lower_halves(family->increments + place);
        least[j] = vector_load(values + place);
    }
    for (int64_t i = 0; i < count; i++) {
        const uint32_t step = (uint32_t)features[i] | 1;
        vector start = vector_all_32((uint32_t)(features[i] >> 32));
        vector feature = vector_all_64(features[i]);
        for (int j = 0; j < width; j++) {
            vector value = is_stratified
                ? vector_add_32(vector_times_upper(factors[j], step), start)
                : vector_add_32(vector_times_32(factors[j], feature), added[j]);
            least[j] = vector_min_32(least[j], value);
        }
    }
    for (int j = 0; j < width; j++)
        vector_store(values + first + j * VECTOR_INTS, least[j]);
}

/* Lower the minima of whole vectors of permutations; return the number of these permutations.  A
   partial vector at the end is lowered together with minima before it, which lowering again does
   not change. */
VECTOR_INLINE int lower_most(const struct minima_family *family, const int is_stratified,
                             const uint64_t *features, int64_t count, uint32_t *values)
{
    int first = 0;

    for (; first + 8 * VECTOR_INTS <= family->count; first += 8 * VECTOR_INTS)
        lower_some(family, is_stratified, first, 8, features, count, values);
    for (; first + 4 * VECTOR_INTS <= family->count; first += 4 * VECTOR_INTS)
        lower_some(family, is_stratified, first, 4, features, count, values);
    for (; first + VECTOR_INTS <= family->count; first += VECTOR_INTS)
        lower_some(family, is_stratified, first, 1, features, count, values);
    if (first == 0 || first == family->count)
        return first;
    lower_some(family, is_stratified, family->count - VECTOR_INTS, 1, features, count, values);
    return family->count;
}

#else

#define lower_most(family, is_stratified, features, count, values) 0

#endif

/* The values of one feature differ by multiples of one step, so they are spread evenly over all
   values.  So each feature is small in equally many permutations. */
static void minima_stratified(const struct minima_family *family, const uint64_t *features,
                              int64_t count, uint32_t *values)
{
    const int first = lower_most(family, 1, features, count, values);

    for (int64_t i = 0; first < family->count && i < count; i++) {
        uint32_t step = (uint32_t)features[i] | 1, start = (uint32_t)(features[i] >> 32);
        for (int j = first; j < family->count; j++) {
            uint32_t value = (uint32_t)family->multipliers[j] * step + start;
            values[j] = value < values[j] ? value : values[j];
        }
    }
}

/* Even permutations take the lower half of a feature, odd ones the upper half.  So two features
   that share one half still differ. */
static void minima_shift(const struct minima_family *family, const uint64_t *features,
                         int64_t count, uint32_t *values)
{
    const int first = lower_most(family, 0, features, count, values);

    for (int64_t i = 0; first < family->count && i < count; i++)
        for (int j = first; j < family->count; j++) {
            uint32_t half = (uint32_t)(features[i] >> 32 * (j % 2));
            uint32_t value = (uint32_t)family->multipliers[j] * half +
                             (uint32_t)family->increments[j];
            values[j] = value < values[j] ? value : values[j];
        }
}

/* Return a word congruent to `word`, at most 2^61 + 6. */
static inline uint64_t mersenne_fold(uint64_t word) { return (word & MERSENNE) + (word >> 61); }

/* Return (a x + b) mod 2^61 - 1 for a, b and x of 61 bits, with 32-bit products. */
static inline uint64_t mersenne_value(uint64_t a, uint64_t x, uint64_t b)
{
    uint64_t a_low = a & 0xFFFFFFFF, a_high = a >> 32, x_low = x & 0xFFFFFFFF, x_high = x >> 32;
    uint64_t crossed = a_high * x_low + a_low * x_high;
    uint64_t sum = mersenne_fold(a_low * x_low) + (a_high * x_high << 3) +
                   ((crossed & 0x1FFFFFFF) << 32) + (crossed >> 29);

    sum = mersenne_fold(mersenne_fold(sum) + b);
    return sum >= MERSENNE ? sum - MERSENNE : sum;
}

#if VECTORS == VECTORS_AVX512

/* Return words of 61 bits with eight values as their highest bits and ones below.  Words then
   compare with them as values do. */
VECTOR_INLINE __m512i widened(const uint32_t *values)
{
    __m512i wide = _mm512_cvtepu32_epi64(_mm256_loadu_si256((const __m256i *)values));
    __m512i rest = _mm512_set1_epi64(((int64_t)1 << MERSENNE_LOST) - 1);
    return _mm512_or_si512(_mm512_slli_epi64(wide, MERSENNE_LOST), rest);
}

VECTOR_INLINE __m512i mersenne_folds(__m512i words)
{
    return _mm512_add_epi64(_mm512_and_si512(words, _mm512_set1_epi64((int64_t)MERSENNE)),
                            _mm512_srli_epi64(words, 61));
}

/* Return mersenne_value of eight words.  A subtraction that must not be done wraps to a large word,
   which the minimum discards. */
VECTOR_INLINE __m512i mersenne_values(__m512i a, __m512i x, __m512i b)
{
    __m512i a_high = _mm512_srli_epi64(a, 32), x_high = _mm512_srli_epi64(x, 32);
    __m512i crossed = _mm512_add_epi64(_mm512_mul_epu32(a_high, x), _mm512_mul_epu32(a, x_high));
    __m512i upper = _mm512_slli_epi64(_mm512_mul_epu32(a_high, x_high), 3);
    __m512i middle = _mm512_slli_epi64(
        _mm512_and_si512(crossed, _mm512_set1_epi64(0x1FFFFFFF)), 32);
    __m512i sum = _mm512_add_epi64(mersenne_folds(_mm512_mul_epu32(a, x)), upper);

    sum = _mm512_add_epi64(_mm512_add_epi64(sum, middle), _mm512_srli_epi64(crossed, 29));
    sum = mersenne_folds(_mm512_add_epi64(mersenne_folds(sum), b));
    return _mm512_min_epu64(sum, _mm512_sub_epi64(sum, _mm512_set1_epi64((int64_t)MERSENNE)));
}

static void minima_mersenne(const struct minima_family *family,
                            const uint64_t *features, int64_t count,
                            uint32_t *values)
{
    for (int j = 0; j < family->count; j += 8) {
        __m512i multipliers = _mm512_loadu_si512(family->multipliers + j);
        __m512i increments = _mm512_loadu_si512(family->increments + j);
        __m512i least = widened(values + j);

        for (int64_t i = 0; i < count; i++) {
            uint64_t feature = features[i] >> MERSENNE_CUT;
            __m512i word = mersenne_values(multipliers, _mm512_set1_epi64((int64_t)feature),
                                          increments);
            least = _mm512_min_epu64(least, word);
        }
        least = _mm512_srli_epi64(least, MERSENNE_LOST);
        _mm256_storeu_si256((__m256i *)(values + j), _mm512_cvtepi64_epi32(least));
    }
}

#else

static void minima_mersenne(const struct minima_family *family, const uint64_t *features,
                            int64_t count, uint32_t *values)
{
    for (int64_t i = 0; i < count; i++) {
        uint64_t feature = features[i] >> MERSENNE_CUT;
        for (int j = 0; j < family->count; j++) {
            uint64_t word = mersenne_value(family->multipliers[j], feature,
                                           family->increments[j]);
            uint32_t value = (uint32_t)(word >> MERSENNE_LOST);
            values[j] = value < values[j] ? value : values[j];
        }
    }
}

#endif

#endif
