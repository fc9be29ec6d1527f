/* `level_floats`, `level_wholes` and `level_packed`.  Eight weights at a time are added, in the
   same order as in level_scalar.h; packed vectors are read a register of bytes at a time. */
#ifndef SIMDB_SEARCH_LEVEL_H
#define SIMDB_SEARCH_LEVEL_H

#include "level_scalar.h"
#include "vector.h"

#if VECTORS == VECTORS_AVX2

enum { LEVEL_ROWS = 8 }; /* rows whose factors are computed at the same time */

/* Eight weights: the first four, and the last four. */
struct eight {
    __m256d low, high;
};

/* Return a mask of the first `count` of eight lanes; `count` is below 8. */
static inline __m256i lanes(size_t count)
{
    const __m256i numbers = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);

    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count), numbers);
}

/* Return the weights starting at `place`; lanes beyond the first `count` are 0. */
static inline struct eight floats(const void *weights, size_t place,
                                  size_t count)
{
    const float *start = (const float *)weights + place;
    __m256 found = count < 8 ? _mm256_maskload_ps(start, lanes(count))
                             : _mm256_loadu_ps(start);

    return (struct eight){_mm256_cvtps_pd(_mm256_castps256_ps128(found)),
                               _mm256_cvtps_pd(_mm256_extractf128_ps(found, 1))};
}

static inline struct eight wholes(const void *weights, size_t place,
                                  size_t count)
{
    const int32_t *start = (const int32_t *)weights + place;
    __m256i found = count < 8 ? _mm256_maskload_epi32(start, lanes(count))
                              : _mm256_loadu_si256((const __m256i *)start);

    return (struct eight){_mm256_cvtepi32_pd(_mm256_castsi256_si128(found)),
                               _mm256_cvtepi32_pd(_mm256_extracti128_si256(found, 1))};
}

static inline double sum(struct eight sums)
{
    __m256d halves = _mm256_add_pd(sums.low, sums.high);
    __m128d quarters = _mm_add_pd(_mm256_castpd256_pd128(halves),
                                  _mm256_extractf128_pd(halves, 1));

    return _mm_cvtsd_f64(_mm_add_sd(quarters, _mm_unpackhi_pd(quarters, quarters)));
}

/* Return the levels of four weights.  The minimum of NaN and a number is the number. */
static inline __m128i four_levels(__m256d weights, __m256d factors)
{
    __m256d sizes = _mm256_andnot_pd(_mm256_set1_pd(-0.0), weights);

    return _mm256_cvttpd_epi32(_mm256_min_pd(_mm256_mul_pd(sizes, factors),
                                             _mm256_set1_pd(LEVEL_MAX)));
}

/* Return the factor that converts the weights of a row to levels. */
static inline double factor(
    struct eight (*weights_at)(const void *, size_t, size_t), const void *row,
    size_t dimensions)
{
    struct eight sums = {_mm256_setzero_pd(), _mm256_setzero_pd()};

    for (size_t i = 0; i < dimensions; i += 8) {
        struct eight weights = weights_at(row, i, dimensions - i);
        sums.low = _mm256_add_pd(sums.low, _mm256_mul_pd(weights.low, weights.low));
        sums.high = _mm256_add_pd(sums.high, _mm256_mul_pd(weights.high, weights.high));
    }
    return level_factor(sum(sums), dimensions);
}

static inline void level_row(
    struct eight (*weights_at)(const void *, size_t, size_t), const void *row,
    double factor, uint8_t *levels)
{
    const __m256d factors = _mm256_set1_pd(factor);

    if (!(factor > 0)) {
        memset(levels, LEVEL_MAX, 64);
        return;
    }
    for (size_t i = 0; i < 64; i += 16) {
        struct eight one = weights_at(row, i, 8), other = weights_at(row, i + 8, 8);
        __m128i first = _mm_packs_epi32(four_levels(one.low, factors),
                                        four_levels(one.high, factors));
        __m128i second = _mm_packs_epi32(four_levels(other.low, factors),
                                         four_levels(other.high, factors));
        _mm_storeu_si128((__m128i *)(levels + i), _mm_packus_epi16(first, second));
    }
}

/* Write the levels of some rows of `size_bytes` each.  Each factor ends a long chain of additions,
   so the factors of several rows are computed at the same time. */
static inline void level_rows(
    struct eight (*weights_at)(const void *, size_t, size_t), const void *weights,
    size_t size_bytes, size_t count, size_t dimensions, uint8_t *levels)
{
    const uint8_t *row = weights;
    double factors[LEVEL_ROWS];

    for (size_t left = count, some; left > 0; left -= some) {
        some = left < LEVEL_ROWS ? left : LEVEL_ROWS;
        for (size_t i = 0; i < some; i++)
            factors[i] = factor(weights_at, row + i * size_bytes, dimensions);
        for (size_t i = 0; i < some; i++, row += size_bytes, levels += 64)
            level_row(weights_at, row, factors[i], levels);
    }
}

static void level_floats(const float *weights, size_t count, size_t dimensions,
                         uint8_t *levels)
{
    level_rows(floats, weights, dimensions * sizeof *weights, count, dimensions,
               levels);
}

static void level_wholes(const int32_t *weights, size_t count, size_t dimensions,
                         uint8_t *levels)
{
    level_rows(wholes, weights, dimensions * sizeof *weights, count, dimensions,
               levels);
}

#elif VECTORS == VECTORS_AVX512

static inline __m512d floats(const void *weights, size_t place, __mmask8 lanes)
{
    return _mm512_cvtps_pd(_mm256_maskz_loadu_ps(lanes, (const float *)weights + place));
}

static inline __m512d wholes(const void *weights, size_t place, __mmask8 lanes)
{
    return _mm512_cvtepi32_pd(
        _mm256_maskz_loadu_epi32(lanes, (const int32_t *)weights + place));
}

static inline double sum(__m512d sums)
{
    __m256d halves = _mm256_add_pd(_mm512_castpd512_pd256(sums), _mm512_extractf64x4_pd(sums, 1));
    __m128d quarters = _mm_add_pd(_mm256_castpd256_pd128(halves),
                                  _mm256_extractf128_pd(halves, 1));

    return _mm_cvtsd_f64(_mm_add_sd(quarters, _mm_unpackhi_pd(quarters, quarters)));
}

static inline void level_row(
    __m512d (*weights_at)(const void *, size_t, __mmask8), const void *row, size_t dimensions,
    uint8_t *levels)
{
    __m512d first[8], sums = _mm512_setzero_pd(), factors;
    double factor;

    for (int k = 0; k < 8; k++) {
        first[k] = weights_at(row, 8 * (size_t)k, 255);
        sums = _mm512_add_pd(sums, _mm512_mul_pd(first[k], first[k]));
    }
    for (size_t i = 64; i < dimensions; i += 8) {
        __mmask8 lanes = (__mmask8)(dimensions - i < 8 ? (1u << (dimensions - i)) - 1 : 255);
        __m512d weights = weights_at(row, i, lanes);
        sums = _mm512_add_pd(sums, _mm512_mul_pd(weights, weights));
    }
    factor = level_factor(sum(sums), dimensions);
    if (!(factor > 0)) {
        memset(levels, LEVEL_MAX, 64);
        return;
    }
    factors = _mm512_set1_pd(factor);
    for (int k = 0; k < 8; k += 2) {
        __m256i low = _mm512_cvttpd_epi32(_mm512_mul_pd(first[k], factors));
        __m256i high = _mm512_cvttpd_epi32(_mm512_mul_pd(first[k + 1], factors));
        __m512i found = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
        /* NaN and values that are too large have become -2**31, which saturates to 255 as an
           unsigned number. */
        _mm_storeu_si128((__m128i *)(levels + 8 * k),
                         _mm512_cvtusepi32_epi8(_mm512_abs_epi32(found)));
    }
}

static void level_floats(const float *weights, size_t count, size_t dimensions,
                         uint8_t *levels)
{
    for (size_t row = 0; row < count; row++)
        level_row(floats, weights + row * dimensions, dimensions,
                  levels + row * 64);
}

static void level_wholes(const int32_t *weights, size_t count,
                         size_t dimensions, uint8_t *levels)
{
    for (size_t row = 0; row < count; row++)
        level_row(wholes, weights + row * dimensions, dimensions,
                  levels + row * 64);
}

#else

#define level_floats level_floats_scalar
#define level_wholes level_wholes_scalar
#define level_packed level_packed_scalar

#endif

#if VECTORS_X86

/* Return the sum of the squares of all weights of a packed vector. */
static inline uint64_t packed_squares(const uint8_t *vector, size_t width)
{
    const __m256i squares = _mm256_broadcastsi128_si256(_mm_setr_epi8(
        (char)225, (char)169, 121, 81, 49, 25, 9, 1, 1, 9, 25, 49, 81, 121, (char)169, (char)225));
    const __m256i half = _mm256_set1_epi8(15), zero = _mm256_setzero_si256();
    __m256i sums = zero;
    uint64_t parts[4], rest = 0;
    size_t i = 0;

    for (; i + 32 <= width; i += 32) {
        __m256i bytes = _mm256_loadu_si256((const __m256i *)(vector + i));
        __m256i high = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), half);
        __m256i low = _mm256_and_si256(bytes, half);
        sums = _mm256_add_epi64(sums, _mm256_sad_epu8(_mm256_shuffle_epi8(squares, low), zero));
        sums = _mm256_add_epi64(sums, _mm256_sad_epu8(_mm256_shuffle_epi8(squares, high), zero));
    }
    for (; i < width; i++) {
        int low = 2 * (vector[i] & 15) - 15, high = 2 * (vector[i] >> 4) - 15;
        rest += (uint64_t)(low * low + high * high);
    }
    _mm256_storeu_si256((__m256i *)parts, sums);
    return rest + parts[0] + parts[1] + parts[2] + parts[3];
}

/* Look up the levels of 64 lower halves. */
static inline void level_64(const uint8_t *vector, const uint8_t *table, uint8_t *levels)
{
    __m256i by_half = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)table));

    for (size_t i = 0; i < 64; i += 32) {
        __m256i bytes = _mm256_loadu_si256((const __m256i *)(vector + i));
        __m256i halves = _mm256_and_si256(bytes, _mm256_set1_epi8(15));
        _mm256_storeu_si256((__m256i *)(levels + i), _mm256_shuffle_epi8(by_half, halves));
    }
}

static void level_packed(const uint8_t *vectors, size_t count, size_t width,
                         uint8_t *levels)
{
    for (size_t row = 0; row < count; row++) {
        const uint8_t *vector = vectors + row * width;
        uint8_t table[16];
        level_halves(packed_squares(vector, width), 2 * width, table);
        if (width < 64)
            level_by_table(vector, width, table, levels + row * 64);
        else
            level_64(vector, table, levels + row * 64);
    }
}

#endif

#endif
