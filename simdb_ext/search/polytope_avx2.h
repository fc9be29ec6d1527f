/* Rotating packed vectors, codes, near headers and sifting, in registers of 32 bytes.

   A rotated vector is eight registers of sixteen coordinates.  A butterfly adds and subtracts two
   registers.  Between butterflies, bits of the register's number are exchanged with bits of the
   place within it.  So the first transform permutes the coordinates, and the second one restores
   their natural order. */
#ifndef SIMDB_SEARCH_POLYTOPE_AVX2_H
#define SIMDB_SEARCH_POLYTOPE_AVX2_H

#include "polytope.h"
#include "vector.h"

/* Add and subtract registers whose numbers differ by 1, 2 and 4. */
VECTOR_INLINE void butterflies(__m256i *rows)
{
    for (int half = 1; half < 8; half *= 2)
        for (int i = 0; i < 8; i++)
            if ((i & half) == 0) {
                __m256i one = rows[i], other = rows[i + half];
                rows[i] = _mm256_add_epi16(one, other);
                rows[i + half] = _mm256_sub_epi16(one, other);
            }
}

/* Add and subtract the halves of registers.  This exchanges the lowest bit of the register's number
   with the number of the half. */
VECTOR_INLINE void half_butterflies(__m256i *rows)
{
    for (int i = 0; i < 8; i += 2) {
        __m256i low = _mm256_permute2x128_si256(rows[i], rows[i + 1], 0x20);
        __m256i high = _mm256_permute2x128_si256(rows[i], rows[i + 1], 0x31);
        rows[i] = _mm256_add_epi16(low, high);
        rows[i + 1] = _mm256_sub_epi16(low, high);
    }
}

/* Exchange the number of the register with the place within each half. */
VECTOR_INLINE void transpose(__m256i *rows)
{
    __m256i pairs[8], quads[8];

    for (int i = 0; i < 4; i++) {
        pairs[2 * i] = _mm256_unpacklo_epi16(rows[2 * i], rows[2 * i + 1]);
        pairs[2 * i + 1] = _mm256_unpackhi_epi16(rows[2 * i], rows[2 * i + 1]);
    }
    for (int i = 0; i < 8; i += 4)
        for (int k = 0; k < 2; k++) {
            quads[i + 2 * k] = _mm256_unpacklo_epi32(pairs[i + k], pairs[i + k + 2]);
            quads[i + 2 * k + 1] = _mm256_unpackhi_epi32(pairs[i + k], pairs[i + k + 2]);
        }
    for (int i = 0; i < 4; i++) {
        rows[2 * i] = _mm256_unpacklo_epi64(quads[i], quads[i + 4]);
        rows[2 * i + 1] = _mm256_unpackhi_epi64(quads[i], quads[i + 4]);
    }
}

/* Multiply each coordinate by its sign of one round. */
VECTOR_INLINE void turn_signs(const __m256i *rows, __m256i *turned, size_t round)
{
    const __m256i *signs = (const __m256i *)polytope_orders.avx2[round];

    for (int i = 0; i < 8; i++)
        turned[i] = _mm256_sign_epi16(rows[i], _mm256_load_si256(signs + i));
}

/* Unpack the weights of the low and of the high halves of 16 bytes. */
VECTOR_INLINE void unpack_some(const uint8_t *vector, __m256i *low, __m256i *high)
{
    const __m256i half = _mm256_set1_epi16(15);
    __m256i bytes = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)vector));
    __m256i lower = _mm256_and_si256(bytes, half), upper = _mm256_srli_epi16(bytes, 4);

    *low = _mm256_sub_epi16(_mm256_add_epi16(lower, lower), half);
    *high = _mm256_sub_epi16(_mm256_add_epi16(upper, upper), half);
}

/* Do the first transform with its signs. */
VECTOR_INLINE void begin(__m256i *rows)
{
    turn_signs(rows, rows, 0);
    butterflies(rows);
    transpose(rows);
    butterflies(rows);
    half_butterflies(rows);
}

/* Do the signs and the transform of a table. */
VECTOR_INLINE void finish_rotation(const __m256i *first, size_t table, int16_t *rotated)
{
    __m256i rows[8];

    turn_signs(first, rows, table + 1);
    butterflies(rows);
    half_butterflies(rows);
    transpose(rows);
    butterflies(rows);
    for (int i = 0; i < 8; i++)
        _mm256_store_si256((__m256i *)rotated + i, rows[i]);
}

/* Choose each coordinate from one half or the other, as a pair of tables shares them. */
VECTOR_INLINE void choose(const vector *usual, const vector *other, size_t pair, vector *chosen)
{
    const __m256i *choices = (const __m256i *)polytope_orders.avx2_choices[pair];

    for (int i = 0; i < 8; i++)
        chosen[i] = _mm256_blendv_epi8(usual[i], other[i], _mm256_load_si256(choices + i));
}

/* Return the largest of sixteen magnitudes. */
VECTOR_INLINE int32_t largest_of(__m256i magnitudes)
{
    __m128i largest = _mm_max_epu16(_mm256_castsi256_si128(magnitudes),
                                    _mm256_extracti128_si256(magnitudes, 1));
    const __m128i all = _mm_set1_epi16(-1);

    return 0xffff - _mm_extract_epi16(_mm_minpos_epu16(_mm_xor_si128(largest, all)), 0);
}

/* Return one bit for each of 32 comparisons, in the order of coordinates. */
VECTOR_INLINE uint32_t bits_of(__m256i low, __m256i high)
{
    __m256i packed = _mm256_packs_epi16(low, high);

    return (uint32_t)_mm256_movemask_epi8(_mm256_permute4x64_epi64(packed, 0xd8));
}

/* The magnitudes of a slice in registers; beyond the slice they are 0. */
struct slice {
    __m256i magnitudes[4];
    int count; /* registers */
    int32_t largest;
};

/* Load slice `number` of a rotated vector. */
VECTOR_INLINE struct slice load_slice(const int16_t *rotated, int number)
{
    const __m256i *rows = (const __m256i *)(rotated + polytope_slices[number].start);
    struct slice slice;
    __m256i largest = _mm256_setzero_si256();

    slice.count = number == 0 ? 4 : number == 1 ? 2 : 1;
    for (int i = 0; i < slice.count; i++) {
        slice.magnitudes[i] = _mm256_abs_epi16(_mm256_load_si256(rows + i));
        if (number == 3)
            slice.magnitudes[i] = _mm256_permute2x128_si256(slice.magnitudes[i],
                                                            slice.magnitudes[i], 0x80);
        largest = _mm256_max_epi16(largest, slice.magnitudes[i]);
    }
    slice.largest = largest_of(largest);
    return slice;
}

/* Return one bit for each magnitude that is greater than `least`. */
VECTOR_INLINE uint64_t greater(const struct slice *slice, int32_t least)
{
    const __m256i bound = _mm256_set1_epi16((short)least), none = _mm256_setzero_si256();
    uint64_t bits = 0;

    for (int i = 0; i < slice->count; i += 2) {
        __m256i low = _mm256_cmpgt_epi16(slice->magnitudes[i], bound);
        __m256i high = slice->count > 1 ? _mm256_cmpgt_epi16(slice->magnitudes[i + 1], bound)
                                        : none;
        bits |= (uint64_t)bits_of(low, high) << 16 * i;
    }
    return bits;
}

/* Return the number of the nearest vertex of a slice. */
VECTOR_INLINE uint32_t nearest(const int16_t *rotated, int number)
{
    struct slice slice = load_slice(rotated, number);
    uint64_t bits = greater(&slice, slice.largest - 1);
    unsigned place = (unsigned)__builtin_ctzll(bits);

    return 2 * place + (rotated[polytope_slices[number].start + (int)place] < 0);
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
    /* Coordinates beyond a slice of eight get the largest distance. */
    static const int64_t beyond[4] = {0, 0, 0x7fff7fff7fff7fff, 0x7fff7fff7fff7fff};
    const __m256i steps = _mm256_set1_epi16(step), last = _mm256_set1_epi16(15);
    const struct slice slice = load_slice(rotated, number);
    const __m256i largest = _mm256_set1_epi16((short)slice.largest);
    __m256i places[4];
    uint64_t sum = 0;

    for (int i = 0; i < slice.count; i++) {
        __m256i distances = _mm256_sub_epi16(largest, slice.magnitudes[i]);
        if (number == 3)
            distances = _mm256_or_si256(distances, _mm256_loadu_si256((const __m256i *)beyond));
        places[i] = _mm256_min_epi16(_mm256_mulhrs_epi16(distances, steps), last);
    }
    /* The last place has no share, so it can fill a missing register. */
    for (int i = 0; i < slice.count; i += 2)
        sum += shares_at(_mm256_packus_epi16(places[i], slice.count > 1 ? places[i + 1] : last));
    return sum;
}

/* List the vertices of slice `number` that cost at most `cut`. */
VECTOR_INLINE size_t list(const int16_t *rotated, int number, unsigned shift, int32_t cut,
                          uint32_t *list)
{
    const int32_t ratio = number == 0 ? 239 : number == 1 ? 222 : number == 2 ? 202 : 181;
    const int dimensions = 64 >> number;
    const int16_t *values = rotated + polytope_slices[number].start;
    struct slice slice = load_slice(rotated, number);
    /* A vertex is near enough if its value is above this bound. */
    int32_t least = slice.largest - (cut * 256 + 255) / ratio - 1;
    uint64_t near = greater(&slice, least > -1 ? least : -1);
    size_t count = 0;

    if (dimensions < 16)
        near &= ((uint64_t)1 << dimensions) - 1;
    for (; near != 0; near &= near - 1) {
        unsigned place = (unsigned)__builtin_ctzll(near);
        int32_t value = values[place], is_negative = value < 0;
        int32_t cost = (slice.largest - (is_negative ? -value : value)) * ratio >> 8;
        list[count++] = (uint32_t)cost << 16 | (2 * place + (uint32_t)is_negative) << shift;
    }
    if (least >= 0)
        return count;
    /* The cut is so high that the opposite vertices are near enough as well, except those whose
       magnitude is above this bound. */
    near = ~greater(&slice, -least - 1 < INT16_MAX ? -least - 1 : INT16_MAX);
    if (dimensions < 64)
        near &= ((uint64_t)1 << dimensions) - 1;
    for (; near != 0; near &= near - 1) {
        unsigned place = (unsigned)__builtin_ctzll(near);
        int32_t value = values[place], is_negative = value < 0;
        int32_t cost = (slice.largest + (is_negative ? -value : value)) * ratio >> 8;
        list[count++] = (uint32_t)cost << 16 | (2 * place + (uint32_t)!is_negative) << shift;
    }
    return count;
}

/* Write the chosen lanes next to each other; return their number. */
VECTOR_INLINE size_t compress(__m256i lanes, unsigned chosen, uint32_t *out)
{
    __m256i order = _mm256_cvtepu8_epi32(
        _mm_loadl_epi64((const __m128i *)&polytope_orders.lanes[chosen]));

    _mm256_storeu_si256((__m256i *)out, _mm256_permutevar8x32_epi32(lanes, order));
    return (size_t)__builtin_popcount(chosen);
}

/* Return a mask of the first lanes whose entries cost at most `most`. */
VECTOR_INLINE unsigned affordable(__m256i entries, int32_t most, size_t count)
{
    const __m256i bound = _mm256_set1_epi32(most << 16 | 0xffff);
    __m256i dear = _mm256_cmpgt_epi32(entries, bound);

    return _bzhi_u32(~(unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(dear)),
                     count < 8 ? (unsigned)count : 8);
}

/* Return a mask of the lanes, among the first `some` keys, that differ from a tag in at most
   `limit` counted bits. */
VECTOR_INLINE unsigned alike_of(const uint64_t *keys, uint32_t some, __m256i tag, __m256i counted,
                                __m256i limit)
{
    static const int64_t lanes[8] = {-1, -1, -1, -1, 0, 0, 0, 0};
    const __m256i counts = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
    const __m256i half = _mm256_set1_epi8(15);
    __m256i inside = _mm256_loadu_si256((const __m256i *)(lanes + 4 - some));
    __m256i found = _mm256_maskload_epi64((const long long *)keys, inside);
    __m256i difference = _mm256_and_si256(_mm256_xor_si256(found, tag), counted);
    __m256i low = _mm256_shuffle_epi8(counts, _mm256_and_si256(difference, half));
    __m256i high = _mm256_shuffle_epi8(
        counts, _mm256_and_si256(_mm256_srli_epi16(difference, 4), half));
    __m256i bits = _mm256_sad_epu8(_mm256_add_epi8(low, high), _mm256_setzero_si256());
    unsigned far = (unsigned)_mm256_movemask_pd(
        _mm256_castsi256_pd(_mm256_cmpgt_epi64(bits, limit)));

    return _bzhi_u32(~far, some);
}

/* Return the sizes of 32 bits, starting at bit 32 * `half`; 0 for bits that are not set. */
VECTOR_INLINE __m256i sizes_of(const uint8_t *sizes, uint64_t bits, int half)
{
    const __m256i places = _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202,
                                              0x0303030303030303);
    const __m256i single = _mm256_set1_epi64x((int64_t)0x8040201008040201);
    __m256i each = _mm256_shuffle_epi8(_mm256_set1_epi32((int)(bits >> 32 * half)), places);
    __m256i are_set = _mm256_cmpeq_epi8(_mm256_and_si256(each, single), single);

    return _mm256_and_si256(are_set,
                            _mm256_loadu_si256((const __m256i *)(sizes + 32 * half)));
}

/* Return the sum of the sizes of some bits. */
VECTOR_INLINE uint32_t add_sizes(const uint8_t *sizes, uint64_t bits)
{
    __m256i both = _mm256_add_epi8(sizes_of(sizes, bits, 0), sizes_of(sizes, bits, 1));
    __m256i sums = _mm256_sad_epu8(both, _mm256_setzero_si256());
    __m128i half = _mm_add_epi64(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));

    return (uint32_t)(_mm_extract_epi64(half, 0) + _mm_extract_epi64(half, 1));
}

#endif
