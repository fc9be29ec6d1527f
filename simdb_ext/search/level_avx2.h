/* Levels of eight weights at a time, added in the same order as in level_scalar.h; packed vectors
   32 bytes at a time. */
#ifndef SIMDB_SEARCH_LEVEL_AVX2_H
#define SIMDB_SEARCH_LEVEL_AVX2_H

#include "cpu.h"
#include "level_scalar.h"

enum { LEVEL_ROWS_AVX2 = 8 }; /* rows whose factors are computed at the same time */

/* Eight weights, the first four and the others. */
struct eight_avx2 {
    __m256d low, high;
};

/* Return a mask of the first `count`, below 8, of eight lanes. */
CPU_AVX2 static inline __m256i lanes_avx2(size_t count)
{
    const __m256i numbers = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);

    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count), numbers);
}

/* Return the weights from `place` on; lanes beyond the first `count` are 0. */
CPU_AVX2 static inline struct eight_avx2 floats_avx2(const void *weights, size_t place,
                                                     size_t count)
{
    const float *start = (const float *)weights + place;
    __m256 found = count < 8 ? _mm256_maskload_ps(start, lanes_avx2(count))
                             : _mm256_loadu_ps(start);

    return (struct eight_avx2){_mm256_cvtps_pd(_mm256_castps256_ps128(found)),
                               _mm256_cvtps_pd(_mm256_extractf128_ps(found, 1))};
}

CPU_AVX2 static inline struct eight_avx2 wholes_avx2(const void *weights, size_t place,
                                                     size_t count)
{
    const int32_t *start = (const int32_t *)weights + place;
    __m256i found = count < 8 ? _mm256_maskload_epi32(start, lanes_avx2(count))
                              : _mm256_loadu_si256((const __m256i *)start);

    return (struct eight_avx2){_mm256_cvtepi32_pd(_mm256_castsi256_si128(found)),
                               _mm256_cvtepi32_pd(_mm256_extracti128_si256(found, 1))};
}

CPU_AVX2 static inline double sum_avx2(struct eight_avx2 sums)
{
    __m256d halves = _mm256_add_pd(sums.low, sums.high);
    __m128d quarters = _mm_add_pd(_mm256_castpd256_pd128(halves),
                                  _mm256_extractf128_pd(halves, 1));

    return _mm_cvtsd_f64(_mm_add_sd(quarters, _mm_unpackhi_pd(quarters, quarters)));
}

/* Return the levels of four weights.  The minimum of NaN and a number is the number. */
CPU_AVX2 static inline __m128i four_levels_avx2(__m256d weights, __m256d factors)
{
    __m256d sizes = _mm256_andnot_pd(_mm256_set1_pd(-0.0), weights);

    return _mm256_cvttpd_epi32(_mm256_min_pd(_mm256_mul_pd(sizes, factors),
                                             _mm256_set1_pd(LEVEL_MAX)));
}

/* Return the factor from the weights of a row to levels. */
CPU_AVX2 static inline double factor_avx2(
    struct eight_avx2 (*weights_at)(const void *, size_t, size_t), const void *row,
    size_t dimensions)
{
    struct eight_avx2 sums = {_mm256_setzero_pd(), _mm256_setzero_pd()};

    for (size_t i = 0; i < dimensions; i += 8) {
        struct eight_avx2 weights = weights_at(row, i, dimensions - i);
        sums.low = _mm256_add_pd(sums.low, _mm256_mul_pd(weights.low, weights.low));
        sums.high = _mm256_add_pd(sums.high, _mm256_mul_pd(weights.high, weights.high));
    }
    return level_factor(sum_avx2(sums), dimensions);
}

CPU_AVX2 static inline void level_row_avx2(
    struct eight_avx2 (*weights_at)(const void *, size_t, size_t), const void *row,
    double factor, uint8_t *levels)
{
    const __m256d factors = _mm256_set1_pd(factor);

    if (!(factor > 0)) {
        memset(levels, LEVEL_MAX, 64);
        return;
    }
    for (size_t i = 0; i < 64; i += 16) {
        struct eight_avx2 one = weights_at(row, i, 8), other = weights_at(row, i + 8, 8);
        __m128i first = _mm_packs_epi32(four_levels_avx2(one.low, factors),
                                        four_levels_avx2(one.high, factors));
        __m128i second = _mm_packs_epi32(four_levels_avx2(other.low, factors),
                                         four_levels_avx2(other.high, factors));
        _mm_storeu_si128((__m128i *)(levels + i), _mm_packus_epi16(first, second));
    }
}

/* Write the levels of some rows of `size_bytes` each.  The factors of several rows, each at the end
   of a long chain of additions, are computed at the same time. */
CPU_AVX2 static inline void level_rows_avx2(
    struct eight_avx2 (*weights_at)(const void *, size_t, size_t), const void *weights,
    size_t size_bytes, size_t count, size_t dimensions, uint8_t *levels)
{
    const uint8_t *row = weights;
    double factors[LEVEL_ROWS_AVX2];

    for (size_t left = count, some; left > 0; left -= some) {
        some = left < LEVEL_ROWS_AVX2 ? left : LEVEL_ROWS_AVX2;
        for (size_t i = 0; i < some; i++)
            factors[i] = factor_avx2(weights_at, row + i * size_bytes, dimensions);
        for (size_t i = 0; i < some; i++, row += size_bytes, levels += 64)
            level_row_avx2(weights_at, row, factors[i], levels);
    }
}

CPU_AVX2 static void level_floats_avx2(const float *weights, size_t count, size_t dimensions,
                                       uint8_t *levels)
{
    level_rows_avx2(floats_avx2, weights, dimensions * sizeof *weights, count, dimensions,
                    levels);
}

CPU_AVX2 static void level_wholes_avx2(const int32_t *weights, size_t count, size_t dimensions,
                                       uint8_t *levels)
{
    level_rows_avx2(wholes_avx2, weights, dimensions * sizeof *weights, count, dimensions,
                    levels);
}

/* Return the sum of the squares of all weights of a packed vector. */
CPU_AVX2 static inline uint64_t packed_squares_avx2(const uint8_t *vector, size_t width)
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

CPU_AVX2 static void level_packed_avx2(const uint8_t *vectors, size_t count, size_t width,
                                       uint8_t *levels)
{
    for (size_t row = 0; row < count; row++) {
        const uint8_t *vector = vectors + row * width;
        uint8_t table[16];
        level_halves(packed_squares_avx2(vector, width), 2 * width, table);
        if (width < 64) {
            level_by_table(vector, width, table, levels + row * 64);
            continue;
        }
        for (size_t i = 0; i < 64; i += 32) {
            __m256i bytes = _mm256_loadu_si256((const __m256i *)(vector + i));
            __m256i by_half = _mm256_broadcastsi128_si256(_mm_loadu_si128((__m128i *)table));
            __m256i found = _mm256_shuffle_epi8(
                by_half, _mm256_and_si256(bytes, _mm256_set1_epi8(15)));
            _mm256_storeu_si256((__m256i *)(levels + row * 64 + i), found);
        }
    }
}

#endif
