/* Rotating packed vectors, codes, near headers and sifting, in registers of 64 bytes.

   A rotated vector is four registers of 32 coordinates.  As with AVX2, the order of coordinates
   between both transforms is permuted, but differently. */
#ifndef SIMDB_SEARCH_POLYTOPE_AVX512_H
#define SIMDB_SEARCH_POLYTOPE_AVX512_H

#include "polytope.h"
#include "vector.h"

VECTOR_INLINE void butterfly(__m512i *one, __m512i *other)
{
    __m512i sum = _mm512_add_epi16(*one, *other);

    *other = _mm512_sub_epi16(*one, *other);
    *one = sum;
}

/* Add and subtract registers whose numbers differ by 1 and 2. */
VECTOR_INLINE void butterflies(__m512i *rows)
{
    butterfly(&rows[0], &rows[1]);
    butterfly(&rows[2], &rows[3]);
    butterfly(&rows[0], &rows[2]);
    butterfly(&rows[1], &rows[3]);
}

/* Exchange the register's number with the number of the quarter: the first of three exchanges. */
VECTOR_INLINE void swap_quarters(__m512i *rows)
{
    __m512i low = _mm512_shuffle_i64x2(rows[0], rows[1], 0x44);
    __m512i high = _mm512_shuffle_i64x2(rows[0], rows[1], 0xee);
    __m512i other_low = _mm512_shuffle_i64x2(rows[2], rows[3], 0x44);
    __m512i other_high = _mm512_shuffle_i64x2(rows[2], rows[3], 0xee);

    rows[0] = _mm512_shuffle_i64x2(low, other_low, 0x88);
    rows[1] = _mm512_shuffle_i64x2(low, other_low, 0xdd);
    rows[2] = _mm512_shuffle_i64x2(high, other_high, 0x88);
    rows[3] = _mm512_shuffle_i64x2(high, other_high, 0xdd);
}

/* Exchange the register's number with the number of the pair within a quarter. */
VECTOR_INLINE void swap_pairs(__m512i *rows)
{
    __m512i low = _mm512_unpacklo_epi32(rows[0], rows[1]);
    __m512i high = _mm512_unpackhi_epi32(rows[0], rows[1]);
    __m512i other_low = _mm512_unpacklo_epi32(rows[2], rows[3]);
    __m512i other_high = _mm512_unpackhi_epi32(rows[2], rows[3]);

    rows[0] = _mm512_unpacklo_epi64(low, other_low);
    rows[1] = _mm512_unpackhi_epi64(low, other_low);
    rows[2] = _mm512_unpacklo_epi64(high, other_high);
    rows[3] = _mm512_unpackhi_epi64(high, other_high);
}

/* Exchange the lowest bit of the register's number with the place within a pair, and add and
   subtract these registers. */
VECTOR_INLINE void word_butterflies(__m512i *rows)
{
    const __mmask32 second = 0xaaaaaaaa;

    for (int i = 0; i < 4; i += 2) {
        __m512i one = rows[i], other = rows[i + 1];
        rows[i] = _mm512_mask_mov_epi16(one, second, _mm512_slli_epi32(other, 16));
        rows[i + 1] = _mm512_mask_mov_epi16(_mm512_srli_epi32(one, 16), second, other);
        butterfly(&rows[i], &rows[i + 1]);
    }
}

/* Multiply each coordinate by its sign of one round. */
VECTOR_INLINE void turn_signs(const __m512i *rows, __m512i *turned, size_t round)
{
    for (int i = 0; i < 4; i++)
        turned[i] = _mm512_mask_sub_epi16(rows[i], polytope_orders.avx512[round][i],
                                          _mm512_setzero_si512(), rows[i]);
}

/* Unpack the weights of the low and of the high halves of 32 bytes. */
VECTOR_INLINE void unpack_some(const uint8_t *vector, __m512i *low, __m512i *high)
{
    const __m512i half = _mm512_set1_epi16(15);
    __m512i bytes = _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)vector));
    __m512i lower = _mm512_and_si512(bytes, half), upper = _mm512_srli_epi16(bytes, 4);

    *low = _mm512_sub_epi16(_mm512_add_epi16(lower, lower), half);
    *high = _mm512_sub_epi16(_mm512_add_epi16(upper, upper), half);
}

/* Do the first transform with its signs. */
VECTOR_INLINE void begin(__m512i *rows)
{
    turn_signs(rows, rows, 0);
    butterflies(rows);
    swap_quarters(rows);
    butterflies(rows);
    swap_pairs(rows);
    butterflies(rows);
    word_butterflies(rows);
}

/* Do the signs and the transform of a table. */
VECTOR_INLINE void finish_rotation(const __m512i *first, size_t table, int16_t *rotated)
{
    __m512i rows[4];

    turn_signs(first, rows, table + 1);
    /* The lower of the two bits of the register's number is exchanged after its butterfly. */
    butterflies(rows);
    word_butterflies(rows);
    swap_pairs(rows);
    butterflies(rows);
    swap_quarters(rows);
    butterflies(rows);
    for (int i = 0; i < 4; i++)
        _mm512_store_si512(rotated + 32 * i, rows[i]);
}

/* Choose each coordinate from one half or the other, as a pair of tables shares them. */
VECTOR_INLINE void choose(const vector *usual, const vector *other, size_t pair, vector *chosen)
{
    const uint32_t *choices = polytope_orders.avx512_choices[pair];

    for (int i = 0; i < 4; i++)
        chosen[i] = _mm512_mask_mov_epi16(usual[i], choices[i], other[i]);
}

/* Return the largest of 32 magnitudes. */
VECTOR_INLINE int32_t largest_of(__m512i magnitudes)
{
    __m256i half = _mm256_max_epu16(_mm512_castsi512_si256(magnitudes),
                                    _mm512_extracti64x4_epi64(magnitudes, 1));
    __m128i largest = _mm_max_epu16(_mm256_castsi256_si128(half),
                                    _mm256_extracti128_si256(half, 1));
    const __m128i all = _mm_set1_epi16(-1);

    return 0xffff - _mm_extract_epi16(_mm_minpos_epu16(_mm_xor_si128(largest, all)), 0);
}

/* A slice in registers; coordinates beyond it are 0. */
struct slice {
    __m512i values[2], magnitudes[2];
    __mmask32 inside;
    int count; /* registers */
    int32_t largest;
};

/* Load slice `number` of a rotated vector. */
VECTOR_INLINE struct slice load_slice(const int16_t *rotated, int number)
{
    const int start = number == 0 ? 0 : number == 1 ? 64 : number == 2 ? 96 : 112;
    struct slice slice;

    slice.count = number == 0 ? 2 : 1;
    slice.inside = number < 2 ? 0xffffffff : number == 2 ? 0xffff : 0xff;
    for (int i = 0; i < slice.count; i++) {
        slice.values[i] = _mm512_maskz_loadu_epi16(slice.inside, rotated + start + 32 * i);
        slice.magnitudes[i] = _mm512_abs_epi16(slice.values[i]);
    }
    slice.largest = largest_of(
        number == 0 ? _mm512_max_epi16(slice.magnitudes[0], slice.magnitudes[1])
                    : slice.magnitudes[0]);
    return slice;
}

/* Return the number of the nearest vertex of a slice. */
VECTOR_INLINE uint32_t nearest(const int16_t *rotated, int number)
{
    struct slice slice = load_slice(rotated, number);
    const __m512i largest = _mm512_set1_epi16((short)slice.largest);
    uint64_t equal = _mm512_cmpeq_epi16_mask(slice.magnitudes[0], largest);
    uint64_t negative = _mm512_movepi16_mask(slice.values[0]);

    if (number == 0) {
        equal |= (uint64_t)_mm512_cmpeq_epi16_mask(slice.magnitudes[1], largest) << 32;
        negative |= (uint64_t)_mm512_movepi16_mask(slice.values[1]) << 32;
    }
    unsigned place = (unsigned)__builtin_ctzll(equal);
    return 2 * place + (negative >> place & 1);
}

static uint32_t encode(const int16_t *rotated)
{
    uint32_t first = nearest(rotated, 0), second = nearest(rotated, 1);
    uint32_t third = nearest(rotated, 2), fourth = nearest(rotated, 3);

    return first << 15 | second << 9 | third << 4 | fourth;
}

/* Return the sum of the shares of the vertices of slice `number`. */
VECTOR_INLINE uint64_t sum_shares(const int16_t *rotated, int number, int16_t step)
{
    const struct slice slice = load_slice(rotated, number);
    const __m512i largest = _mm512_set1_epi16((short)slice.largest), last = _mm512_set1_epi16(15);
    uint64_t sum = 0;

    for (int i = 0; i < slice.count; i++) {
        __m512i distances = _mm512_sub_epi16(largest, slice.magnitudes[i]);
        __m512i places = _mm512_mulhrs_epi16(distances, _mm512_set1_epi16(step));
        /* The last place has no share, so it can fill coordinates beyond the slice. */
        places = _mm512_mask_min_epi16(last, slice.inside, places, last);
        sum += shares_at(_mm512_cvtepi16_epi8(places));
    }
    return sum;
}

/* Write cost << 16 | vertex of each chosen coordinate next to each other; return their number. */
VECTOR_INLINE size_t write(__m512i costs, __m512i vertices, __mmask32 chosen,
                           uint32_t *list)
{
    size_t count = (size_t)__builtin_popcount(chosen);

    costs = _mm512_maskz_compress_epi16(chosen, costs);
    vertices = _mm512_maskz_compress_epi16(chosen, vertices);
    for (int i = 0; i < 2; i++) {
        __m512i cost = _mm512_cvtepu16_epi32(_mm512_castsi512_si256(costs));
        __m512i vertex = _mm512_cvtepu16_epi32(_mm512_castsi512_si256(vertices));
        _mm512_storeu_si512(list + 16 * i, _mm512_or_si512(_mm512_slli_epi32(cost, 16), vertex));
        if (count <= 16)
            break;
        costs = _mm512_shuffle_i64x2(costs, costs, 0xee);
        vertices = _mm512_shuffle_i64x2(vertices, vertices, 0xee);
    }
    return count;
}

/* List the vertices of slice `number` that cost at most `cut`. */
VECTOR_INLINE size_t list(const int16_t *rotated, int number, unsigned shift, int32_t cut,
                          uint32_t *list)
{
    const int32_t ratio = number == 0 ? 239 : number == 1 ? 222 : number == 2 ? 202 : 181;
    const __m512i ratios = _mm512_set1_epi16((short)(ratio << 8)), one = _mm512_set1_epi16(1);
    const __m512i evens = _mm512_slli_epi16(
        _mm512_cvtepu8_epi16(_mm256_load_si256((const __m256i *)polytope_orders.places)), 1);
    struct slice slice = load_slice(rotated, number);
    const __m512i largest = _mm512_set1_epi16((short)slice.largest);
    /* A vertex is near enough if its value is above this bound. */
    int32_t least = slice.largest - (cut * 256 + 255) / ratio - 1;
    const __m512i bound = _mm512_set1_epi16((short)(least > -1 ? least : -1));
    size_t count = 0;

    for (int i = 0; i < slice.count; i++) {
        __m512i vertices = _mm512_add_epi16(_mm512_add_epi16(evens, _mm512_set1_epi16(64 * i)),
                                            _mm512_srli_epi16(slice.values[i], 15));
        __m512i costs = _mm512_mulhi_epu16(_mm512_sub_epi16(largest, slice.magnitudes[i]), ratios);
        __mmask32 near = _mm512_mask_cmpgt_epi16_mask(slice.inside, slice.magnitudes[i], bound);
        count += write(costs, _mm512_slli_epi16(vertices, shift), near, list + count);
        if (least >= 0)
            continue;
        /* The cut is so high that the opposite vertices are near enough as well. */
        int32_t most = -least - 1 < INT16_MAX ? -least - 1 : INT16_MAX;
        near = _mm512_mask_cmple_epi16_mask(slice.inside, slice.magnitudes[i],
                                            _mm512_set1_epi16((short)most));
        costs = _mm512_mulhi_epu16(_mm512_add_epi16(largest, slice.magnitudes[i]), ratios);
        count += write(costs, _mm512_slli_epi16(_mm512_xor_si512(vertices, one), shift),
                       near, list + count);
    }
    return count;
}

/* Return a mask of the first lanes whose entries cost at most `most`. */
VECTOR_INLINE unsigned affordable(__m512i entries, int32_t most, size_t count)
{
    const __m512i bound = _mm512_set1_epi32(most << 16 | 0xffff);
    uint32_t lanes = _bzhi_u32(0xffff, count < 16 ? (unsigned)count : 16);

    return _mm512_mask_cmple_epi32_mask((__mmask16)lanes, entries, bound);
}

/* Write the chosen lanes next to each other; return their number. */
VECTOR_INLINE size_t compress(__m512i lanes, unsigned chosen, uint32_t *out)
{
    _mm512_storeu_si512(out, _mm512_maskz_compress_epi32((__mmask16)chosen, lanes));
    return (size_t)__builtin_popcount(chosen);
}

/* Return a mask of the lanes, among the first `some` keys, that differ from a tag in at most
   `limit` counted bits. */
VECTOR_INLINE unsigned alike_of(const uint64_t *keys, uint32_t some, __m512i tag, __m512i counted,
                                __m512i limit)
{
    __mmask8 inside = (__mmask8)_bzhi_u32(255, some);
    __m512i difference = _mm512_and_si512(
        _mm512_xor_si512(_mm512_maskz_loadu_epi64(inside, keys), tag), counted);

    return _mm512_mask_cmple_epu64_mask(inside, _mm512_popcnt_epi64(difference), limit);
}

/* Return the sum of the sizes of some bits. */
VECTOR_INLINE uint32_t add_sizes(const uint8_t *sizes, uint64_t bits)
{
    __m512i sums = _mm512_sad_epu8(_mm512_maskz_loadu_epi8(bits, sizes), _mm512_setzero_si512());

    return (uint32_t)_mm512_reduce_add_epi64(sums);
}

#endif
