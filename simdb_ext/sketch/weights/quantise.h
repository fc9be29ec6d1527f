/* `quantise`: from weights to fingerprints and packed volatility vectors.

   The sums of several rows are formed side by side, because each must be formed in order.  With
   AVX2, whole weights are squared as 16-bit words, whose sum does not depend on the order. */

#ifndef SIMDB_QUANTISE_H
#define SIMDB_QUANTISE_H

#include <math.h>

#include "mix.h"
#include "vector.h"

/* The quantisation step in standard deviations: the best for 16 levels of a normal distribution
   (Max 1960). */
#define QUANTISE_STEP 0.335

/* Rows whose sums are computed together. */
#define QUANTISE_ROWS 8

VECTOR_INLINE double weight_at(const void *weights, int is_float, int64_t place)
{
    return is_float ? ((const float *)weights)[place] : ((const int32_t *)weights)[place];
}

VECTOR_INLINE void square_rows(const void *weights, int is_float, int64_t place, int rows,
                               int dimensions, double *sums)
{
    for (int row = 0; row < QUANTISE_ROWS; row++)
        sums[row] = 0;
    for (int j = 0; j < dimensions; j++)
        for (int row = 0; row < rows; row++) {
            double weight = weight_at(weights, is_float, place + row * dimensions + j);
            sums[row] += weight * weight;
        }
}

/* Return the factor from weights to steps; 0 if all weights are 0. */
VECTOR_INLINE double quantise_scale(double squares, int dimensions)
{
    return squares > 0 ? 1 / (QUANTISE_STEP * sqrt(squares / dimensions)) : 0;
}

#if VECTORS_X86

/* With weights below this, 32 bits hold the sum of the squares of 32 of 256 weights. */
#define QUANTISE_SMALL 8192

/* Return the sum of squares of whole weights; for small weights, any order gives the same sum. */
VECTOR_INLINE double square_whole(const int32_t *weights, int dimensions)
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

#endif

#if VECTORS == VECTORS_AVX2

/* Return the floors of four weights times `scale`.  They fit, because none exceeds sqrt(dimensions)
   / QUANTISE_STEP. */
VECTOR_INLINE __m128i floor_four(const void *weights, int is_float, int64_t place,
                                     __m256d scale)
{
    __m128i four = _mm_loadu_si128((const __m128i *)((const char *)weights + 4 * place));
    __m256d values = is_float ? _mm256_cvtps_pd(_mm_castsi128_ps(four))
                              : _mm256_cvtepi32_pd(four);

    return _mm256_cvttpd_epi32(_mm256_floor_pd(_mm256_mul_pd(values, scale)));
}

/* Return the quantised values, -8 to 7, of 32 weights starting at `place`. */
VECTOR_INLINE __m256i quantise_32(const void *weights, int is_float, int64_t place,
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
VECTOR_INLINE void quantise_row(const void *weights, int is_float, int64_t place,
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

#define square_floats square_rows

#elif VECTORS == VECTORS_AVX512

VECTOR_INLINE __m512d doubles_of(__m256i words, int is_float)
{
    return is_float ? _mm512_cvtps_pd(_mm256_castsi256_ps(words)) : _mm512_cvtepi32_pd(words);
}

/* Transpose words of eight rows into columns: lane i of columns[j] is lane j of rows[i]. */
VECTOR_INLINE void transpose_eight(const __m256i *rows, __m256i *columns)
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

/* Return the sums of squares of eight rows starting at `place`, each added up in order. */
VECTOR_INLINE __m512d square_eight(const void *weights, int64_t place, int dimensions)
{
    const char *start = (const char *)weights + 4 * place;
    __m512d sums = _mm512_setzero_pd();

    for (int j = 0; j < dimensions; j += 8) {
        __m256i rows[8], columns[8];
        for (int i = 0; i < 8; i++)
            rows[i] = _mm256_loadu_si256((const __m256i *)(start + 4 * (i * dimensions + j)));
        transpose_eight(rows, columns);
        for (int k = 0; k < 8; k++) {
            __m512d column = doubles_of(columns[k], 1);
            sums = _mm512_add_pd(sums, _mm512_mul_pd(column, column));
        }
    }
    return sums;
}

/* Return the quantised values, -8 to 7, of 64 weights starting at `place`. */
VECTOR_INLINE __m512i quantise_64(const void *weights, int is_float, int64_t place,
                                      __m512d scale)
{
    const char *start = (const char *)weights + 4 * place;
    __m128i found[4];

    for (int k = 0; k < 4; k++) {
        __m256i words[2];
        for (int i = 0; i < 2; i++) {
            __m256i some = _mm256_loadu_si256((const __m256i *)(start + 64 * k + 32 * i));
            __m512d values = _mm512_mul_pd(doubles_of(some, is_float), scale);
            /* They fit, because none exceeds sqrt(dimensions) / QUANTISE_STEP. */
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
VECTOR_INLINE void quantise_row(const void *weights, int is_float, int64_t place,
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

VECTOR_INLINE void square_floats(const void *weights, int is_float, int64_t place, int rows,
                                 int dimensions, double *sums)
{
    if (rows == QUANTISE_ROWS)
        _mm512_storeu_pd(sums, square_eight(weights, place, dimensions));
    else
        square_rows(weights, is_float, place, rows, dimensions, sums);
}

#else

/* Write the quantised values, 0 to 15, of the weights starting at `place`.  Values are clamped
   before the floor, so that they fit an int. */
VECTOR_INLINE void quantise_halves(const void *weights, int is_float, int64_t place,
                                   int dimensions, double scale, uint8_t *halves)
{
    for (int j = 0; j < dimensions; j++) {
        double value = weight_at(weights, is_float, place + j) * scale;
        value = value < -8 ? -8 : value;
        value = value > 7 ? 7 : value;
        int whole = (int)value;
        halves[j] = (uint8_t)(whole - (value < whole) + 8);
    }
}

/* Return a word in which bit j is set if halves[j] >= 8, that is, if weight j is not negative. */
VECTOR_INLINE uint64_t sign_bits(const uint8_t *halves)
{
    uint64_t bits = 0;

    for (int j = 0; j < 64; j += 8) {
        uint64_t eight = mix_load(halves + j) >> 3 & 0x0101010101010101u;
        bits |= (eight * 0x0102040810204080u >> 56) << j;
    }
    return bits;
}

/* Quantise one row; the first half of the dimensions fills the low half bytes. */
VECTOR_INLINE void quantise_row(const void *weights, int is_float, int64_t place, int dimensions,
                                double scale, uint64_t *fingerprint, uint8_t *packed)
{
    uint8_t halves[256];

    quantise_halves(weights, is_float, place, dimensions, scale, halves);
    *fingerprint = sign_bits(halves);
    for (int j = 0; j < dimensions / 2; j++)
        packed[j] = (uint8_t)(halves[j] | halves[j + dimensions / 2] << 4);
}

#endif

#if VECTORS_X86

VECTOR_INLINE void squares_of(const void *weights, int is_float, int64_t place, int rows,
                              int dimensions, double *sums)
{
    if (is_float) {
        square_floats(weights, 1, place, rows, dimensions, sums);
        return;
    }
    for (int row = 0; row < rows; row++)
        sums[row] = square_whole((const int32_t *)weights + place + row * dimensions, dimensions);
}

#else
#define squares_of square_rows
#endif

VECTOR_INLINE int64_t quantise_rows(const void *weights, int is_float, int64_t count,
                                    int dimensions, uint64_t *fingerprints, uint8_t *vectors)
{
    for (int64_t i = 0; i < count; i += QUANTISE_ROWS) {
        int rows = count - i < QUANTISE_ROWS ? (int)(count - i) : QUANTISE_ROWS;
        int64_t place = i * dimensions;
        double sums[QUANTISE_ROWS];

        if (rows == QUANTISE_ROWS)
            squares_of(weights, is_float, place, QUANTISE_ROWS, dimensions, sums);
        else
            squares_of(weights, is_float, place, rows, dimensions, sums);
        for (int row = 0; row < rows; row++, place += dimensions) {
            if (!isfinite(sums[row]))
                return i + row;
            quantise_row(weights, is_float, place, dimensions,
                         quantise_scale(sums[row], dimensions), fingerprints + i + row,
                         vectors + (i + row) * (dimensions / 2));
        }
    }
    return -1;
}

/* A separate copy is compiled for each combination, with constants for the arguments. */
static int64_t quantise(const void *weights, int is_float, int64_t count, int dimensions,
                        uint64_t *fingerprints, uint8_t *vectors)
{
    if (is_float && dimensions == 64)
        return quantise_rows(weights, 1, count, 64, fingerprints, vectors);
    if (is_float && dimensions == 128)
        return quantise_rows(weights, 1, count, 128, fingerprints, vectors);
    if (is_float)
        return quantise_rows(weights, 1, count, 256, fingerprints, vectors);
    if (dimensions == 64)
        return quantise_rows(weights, 0, count, 64, fingerprints, vectors);
    if (dimensions == 128)
        return quantise_rows(weights, 0, count, 128, fingerprints, vectors);
    return quantise_rows(weights, 0, count, 256, fingerprints, vectors);
}

#endif
