/* `quantise`: the squares of eight rows side by side, then one row at a time. */

#ifndef SIMDB_QUANTISE_AVX512_H
#define SIMDB_QUANTISE_AVX512_H

#include "cpu.h"
#include "quantise_scalar.h"

#if CPU_X86

CPU_AVX512 QUANTISE_INLINE __m512d doubles_of(__m256i words, int is_float)
{
    return is_float ? _mm512_cvtps_pd(_mm256_castsi256_ps(words)) : _mm512_cvtepi32_pd(words);
}

/* Transpose words of eight rows into columns: lane i of columns[j] is lane j of rows[i]. */
CPU_AVX512 QUANTISE_INLINE void transpose_eight(const __m256i *rows, __m256i *columns)
{
    __m256i pairs[8], quads[8];

    for (int i = 0; i < 8; i += 2) {
        pairs[i] = _mm256_unpacklo_epi32(rows[i], rows[i + 1]);
        pairs[i + 1] = _mm256_unpackhi_epi32(rows[i], rows[i + 1]);
    }
    for (int i = 0; i < 8; i += 4)
        for (int k = 0; k < 2; k++) {
            quads[i + 2 * k] = _mm256_unpacklo_epi64(pairs[i + k], pairs[i + k + 2]);
            quads[i + 2 * k + 1] = _mm256_unpackhi_epi64(pairs[i + k], pairs[i + k + 2]);
        }
    for (int k = 0; k < 4; k++) {
        columns[k] = _mm256_permute2x128_si256(quads[k], quads[k + 4], 0x20);
        columns[k + 4] = _mm256_permute2x128_si256(quads[k], quads[k + 4], 0x31);
    }
}

/* Return the sums of squares of eight rows from `place` on, each added up in order. */
CPU_AVX512 QUANTISE_INLINE __m512d square_eight(const void *weights, int is_float, int64_t place,
                                                int dimensions)
{
    const char *start = (const char *)weights + 4 * place;
    __m512d sums = _mm512_setzero_pd();

    for (int j = 0; j < dimensions; j += 8) {
        __m256i rows[8], columns[8];
        for (int i = 0; i < 8; i++)
            rows[i] = _mm256_loadu_si256((const __m256i *)(start + 4 * (i * dimensions + j)));
        transpose_eight(rows, columns);
        for (int k = 0; k < 8; k++) {
            __m512d column = doubles_of(columns[k], is_float);
            sums = _mm512_add_pd(sums, _mm512_mul_pd(column, column));
        }
    }
    return sums;
}

/* Return the quantised values, -8 to 7, of 64 weights from `place` on. */
CPU_AVX512 QUANTISE_INLINE __m512i quantise_64(const void *weights, int is_float, int64_t place,
                                               __m512d scale)
{
    const char *start = (const char *)weights + 4 * place;
    __m128i found[4];

    for (int k = 0; k < 4; k++) {
        __m256i words[2];
        for (int i = 0; i < 2; i++) {
            __m256i some = _mm256_loadu_si256((const __m256i *)(start + 64 * k + 32 * i));
            __m512d values = _mm512_mul_pd(doubles_of(some, is_float), scale);
            /* No value is larger than sqrt(dimensions) / QUANTISE_STEP, so all fit. */
            words[i] = _mm512_cvt_roundpd_epi32(values, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
        }
        found[k] = _mm512_cvtsepi32_epi8(
            _mm512_inserti64x4(_mm512_castsi256_si512(words[0]), words[1], 1));
    }
    __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(found[0]), found[1], 1);
    __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(found[2]), found[3], 1);
    __m512i all = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
    return _mm512_max_epi8(_mm512_min_epi8(all, _mm512_set1_epi8(7)), _mm512_set1_epi8(-8));
}

/* Quantise one row of 64, 128 or 256 weights; the first half of the dimensions fills the low half
   bytes. */
CPU_AVX512 QUANTISE_INLINE void quantise_row(const void *weights, int is_float, int64_t place,
                                             int dimensions, double scale, uint64_t *fingerprint,
                                             uint8_t *vector)
{
    const __m512i middle = _mm512_set1_epi8(8);
    __m512i values = quantise_64(weights, is_float, place, _mm512_set1_pd(scale));

    *fingerprint = ~(uint64_t)_mm512_movepi8_mask(values);
    values = _mm512_add_epi8(values, middle);
    if (dimensions == 64) {
        __m256i high = _mm512_extracti64x4_epi64(values, 1);
        _mm256_storeu_si256(
            (__m256i *)vector,
            _mm256_or_si256(_mm512_castsi512_si256(values), _mm256_slli_epi16(high, 4)));
        return;
    }
    for (int i = 0; i < dimensions / 2; i += 64) {
        if (i > 0)
            values = _mm512_add_epi8(
                quantise_64(weights, is_float, place + i, _mm512_set1_pd(scale)), middle);
        __m512i high = quantise_64(weights, is_float, place + dimensions / 2 + i,
                                   _mm512_set1_pd(scale));
        high = _mm512_slli_epi16(_mm512_add_epi8(high, middle), 4);
        _mm512_storeu_si512(vector + i, _mm512_or_si512(values, high));
    }
}

CPU_AVX512 QUANTISE_INLINE int64_t quantise_rows_avx512(const void *weights, int is_float,
                                                        int64_t count, int dimensions,
                                                        uint64_t *fingerprints, uint8_t *vectors)
{
    for (int64_t i = 0; i < count; i += QUANTISE_ROWS) {
        int rows = count - i < QUANTISE_ROWS ? (int)(count - i) : QUANTISE_ROWS;
        double sums[QUANTISE_ROWS];

        if (rows == QUANTISE_ROWS)
            _mm512_storeu_pd(sums, square_eight(weights, is_float, i * dimensions, dimensions));
        else
            square_rows(weights, is_float, i * dimensions, rows, dimensions, sums);
        for (int row = 0; row < rows; row++) {
            if (!isfinite(sums[row]))
                return i + row;
            quantise_row(weights, is_float, (i + row) * dimensions, dimensions,
                         quantise_scale(sums[row], dimensions), fingerprints + i + row,
                         vectors + (i + row) * (dimensions / 2));
        }
    }
    return -1;
}

/* Each combination is compiled separately, with constants for the arguments. */
CPU_AVX512 static int64_t quantise_avx512(const void *weights, int is_float, int64_t count,
                                          int dimensions, uint64_t *fingerprints,
                                          uint8_t *vectors)
{
    if (is_float && dimensions == 64)
        return quantise_rows_avx512(weights, 1, count, 64, fingerprints, vectors);
    if (is_float && dimensions == 128)
        return quantise_rows_avx512(weights, 1, count, 128, fingerprints, vectors);
    if (is_float)
        return quantise_rows_avx512(weights, 1, count, 256, fingerprints, vectors);
    if (dimensions == 64)
        return quantise_rows_avx512(weights, 0, count, 64, fingerprints, vectors);
    if (dimensions == 128)
        return quantise_rows_avx512(weights, 0, count, 128, fingerprints, vectors);
    return quantise_rows_avx512(weights, 0, count, 256, fingerprints, vectors);
}

#endif

#endif
