/* `quantise`: whole weights are squared as 16-bit words, 16 at a time; then 16 weights become 16
   bytes. */

#ifndef SIMDB_QUANTISE_AVX2_H
#define SIMDB_QUANTISE_AVX2_H

#include "cpu.h"
#include "quantise_scalar.h"

#if CPU_X86

/* With weights below this, 32 bits hold the sum of the squares of 32 of 256 weights. */
#define QUANTISE_SMALL 8192

/* Return the sum of squares of whole weights; of small ones every order gives the same sum. */
CPU_AVX2 QUANTISE_INLINE double square_whole_avx2(const int32_t *weights, int dimensions)
{
    __m256i sums = _mm256_setzero_si256(), largest = _mm256_setzero_si256();
    uint32_t lanes[8];
    uint64_t whole = 0;
    double sum = 0;

    for (int j = 0; j < dimensions; j += 16) {
        __m256i words = _mm256_packs_epi32(
            _mm256_loadu_si256((const __m256i *)(weights + j)),
            _mm256_loadu_si256((const __m256i *)(weights + j + 8)));
        largest = _mm256_max_epu16(largest, _mm256_abs_epi16(words));
        sums = _mm256_add_epi32(sums, _mm256_madd_epi16(words, words));
    }
    if (_mm256_testz_si256(largest, _mm256_set1_epi16((short)-QUANTISE_SMALL))) {
        _mm256_storeu_si256((__m256i *)lanes, sums);
        for (int i = 0; i < 8; i++)
            whole += lanes[i];
        return (double)whole;
    }
    for (int j = 0; j < dimensions; j++)
        sum += (double)weights[j] * weights[j];
    return sum;
}

/* Return the floors of four weights times `scale`.  No floor is larger than sqrt(dimensions) /
   QUANTISE_STEP, so all fit. */
CPU_AVX2 QUANTISE_INLINE __m128i floor_four(const void *weights, int is_float, int64_t place,
                                            __m256d scale)
{
    __m128i four = _mm_loadu_si128((const __m128i *)((const char *)weights + 4 * place));
    __m256d values = is_float ? _mm256_cvtps_pd(_mm_castsi128_ps(four))
                              : _mm256_cvtepi32_pd(four);

    return _mm256_cvttpd_epi32(_mm256_floor_pd(_mm256_mul_pd(values, scale)));
}

/* Return the quantised values, -8 to 7, of 32 weights from `place` on. */
CPU_AVX2 QUANTISE_INLINE __m256i quantise_32(const void *weights, int is_float, int64_t place,
                                             __m256d scale)
{
    __m128i halves[2];

    for (int i = 0; i < 2; i++, place += 16) {
        __m128i low = _mm_packs_epi32(floor_four(weights, is_float, place, scale),
                                      floor_four(weights, is_float, place + 4, scale));
        __m128i high = _mm_packs_epi32(floor_four(weights, is_float, place + 8, scale),
                                       floor_four(weights, is_float, place + 12, scale));
        halves[i] = _mm_packs_epi16(low, high);
    }
    __m256i all = _mm256_inserti128_si256(_mm256_castsi128_si256(halves[0]), halves[1], 1);
    return _mm256_max_epi8(_mm256_min_epi8(all, _mm256_set1_epi8(7)), _mm256_set1_epi8(-8));
}

/* Quantise one row; the first half of the dimensions fills the low half bytes. */
CPU_AVX2 QUANTISE_INLINE void quantise_row_avx2(const void *weights, int is_float, int64_t place,
                                                int dimensions, double scale,
                                                uint64_t *fingerprint, uint8_t *vector)
{
    const __m256i middle = _mm256_set1_epi8(8);
    const int width = dimensions / 2;
    __m256i values[8];

    for (int i = 0; i < dimensions / 32; i++)
        values[i] = quantise_32(weights, is_float, place + 32 * i, _mm256_set1_pd(scale));
    *fingerprint = ~((uint64_t)(uint32_t)_mm256_movemask_epi8(values[1]) << 32 |
                     (uint32_t)_mm256_movemask_epi8(values[0]));
    for (int i = 0; i < width / 32; i++) {
        __m256i low = _mm256_add_epi8(values[i], middle);
        __m256i high = _mm256_add_epi8(values[i + width / 32], middle);
        _mm256_storeu_si256((__m256i *)(vector + 32 * i),
                            _mm256_or_si256(low, _mm256_slli_epi16(high, 4)));
    }
}

CPU_AVX2 QUANTISE_INLINE int64_t quantise_rows_avx2(const void *weights, int is_float,
                                                    int64_t count, int dimensions,
                                                    uint64_t *fingerprints, uint8_t *vectors)
{
    for (int64_t i = 0; i < count; i += QUANTISE_ROWS) {
        int rows = count - i < QUANTISE_ROWS ? (int)(count - i) : QUANTISE_ROWS;
        int64_t place = i * dimensions;
        double sums[QUANTISE_ROWS];

        if (is_float && rows == QUANTISE_ROWS)
            square_rows(weights, 1, place, QUANTISE_ROWS, dimensions, sums);
        else if (is_float)
            square_rows(weights, 1, place, rows, dimensions, sums);
        for (int row = 0; row < rows; row++, place += dimensions) {
            double sum = is_float ? sums[row]
                                  : square_whole_avx2((const int32_t *)weights + place, dimensions);
            if (!isfinite(sum))
                return i + row;
            quantise_row_avx2(weights, is_float, place, dimensions,
                              quantise_scale(sum, dimensions), fingerprints + i + row,
                              vectors + (i + row) * (dimensions / 2));
        }
    }
    return -1;
}

/* Each combination is compiled separately, with constants for the arguments. */
CPU_AVX2 static int64_t quantise_avx2(const void *weights, int is_float, int64_t count,
                                      int dimensions, uint64_t *fingerprints, uint8_t *vectors)
{
    if (is_float && dimensions == 64)
        return quantise_rows_avx2(weights, 1, count, 64, fingerprints, vectors);
    if (is_float && dimensions == 128)
        return quantise_rows_avx2(weights, 1, count, 128, fingerprints, vectors);
    if (is_float)
        return quantise_rows_avx2(weights, 1, count, 256, fingerprints, vectors);
    if (dimensions == 64)
        return quantise_rows_avx2(weights, 0, count, 64, fingerprints, vectors);
    if (dimensions == 128)
        return quantise_rows_avx2(weights, 0, count, 128, fingerprints, vectors);
    return quantise_rows_avx2(weights, 0, count, 256, fingerprints, vectors);
}

#endif

#endif
