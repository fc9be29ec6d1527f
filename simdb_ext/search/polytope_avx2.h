/* Rotating packed vectors, codes, near headers and sifting, in registers of 32 bytes.

   A rotated vector is eight registers of sixteen coordinates.  A butterfly adds and subtracts two
   registers; between butterflies, bits of the number of the register are exchanged with bits of
   the place inside it.  The first transform leaves the coordinates in another order, in which the
   second begins; so the order in the end is natural again. */
#ifndef SIMDB_SEARCH_POLYTOPE_AVX2_H
#define SIMDB_SEARCH_POLYTOPE_AVX2_H

#include "cpu.h"
#include "polytope_scalar.h"

#define INLINE_AVX2 CPU_AVX2 static inline __attribute__((always_inline))

/* Add and subtract registers whose numbers differ by 1, 2 and 4. */
INLINE_AVX2 void butterflies_avx2(__m256i *rows)
{
    for (int half = 1; half < 8; half *= 2)
        for (int i = 0; i < 8; i++)
            if ((i & half) == 0) {
                __m256i one = rows[i], other = rows[i + half];
                rows[i] = _mm256_add_epi16(one, other);
                rows[i + half] = _mm256_sub_epi16(one, other);
            }
}

/* Add and subtract the halves of registers; the lowest bit of the number of the register is
   exchanged with the number of the half. */
INLINE_AVX2 void half_butterflies_avx2(__m256i *rows)
{
    for (int i = 0; i < 8; i += 2) {
        __m256i low = _mm256_permute2x128_si256(rows[i], rows[i + 1], 0x20);
        __m256i high = _mm256_permute2x128_si256(rows[i], rows[i + 1], 0x31);
        rows[i] = _mm256_add_epi16(low, high);
        rows[i + 1] = _mm256_sub_epi16(low, high);
    }
}

/* Exchange the number of the register with the place inside each half. */
INLINE_AVX2 void transpose_avx2(__m256i *rows)
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

/* Give each coordinate its sign of one round. */
INLINE_AVX2 void turn_signs_avx2(const __m256i *rows, __m256i *turned, size_t round)
{
    const __m256i *signs = (const __m256i *)polytope_orders.avx2[round];

    for (int i = 0; i < 8; i++)
        turned[i] = _mm256_sign_epi16(rows[i], _mm256_load_si256(signs + i));
}

/* Turn 16 bytes into the weights of their low halves, and of their high halves. */
INLINE_AVX2 void unpack_some_avx2(const uint8_t *vector, __m256i *low, __m256i *high)
{
    const __m256i half = _mm256_set1_epi16(15);
    __m256i bytes = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)vector));
    __m256i lower = _mm256_and_si256(bytes, half), upper = _mm256_srli_epi16(bytes, 4);

    *low = _mm256_sub_epi16(_mm256_add_epi16(lower, lower), half);
    *high = _mm256_sub_epi16(_mm256_add_epi16(upper, upper), half);
}

/* Unpack a vector of at most 128 weights into registers. */
CPU_AVX2 static inline void unpack_avx2(const uint8_t *vector, size_t width, __m256i *rows)
{
    if (width == POLYTOPE_HALF_WIDTH) {
        for (int i = 0; i < 4; i++)
            unpack_some_avx2(vector + 16 * i, &rows[i], &rows[i + 4]);
        return;
    }
    _Alignas(32) int16_t weights[POLYTOPE_COORDINATES];
    unpack_scalar(vector, width, weights, POLYTOPE_COORDINATES);
    for (int i = 0; i < 8; i++)
        rows[i] = _mm256_load_si256((const __m256i *)weights + i);
}

/* Unpack a vector of more weights into the registers of both halves. */
CPU_AVX2 static inline void unpack_wide_avx2(const uint8_t *vector, size_t width, __m256i *low,
                                             __m256i *high)
{
    if (width == POLYTOPE_WIDTH_MAX) {
        for (int i = 0; i < 8; i++)
            unpack_some_avx2(vector + 16 * i, &low[i], &high[i]);
        return;
    }
    _Alignas(32) int16_t weights[2 * POLYTOPE_COORDINATES];
    unpack_scalar(vector, width, weights, 2 * POLYTOPE_COORDINATES);
    memcpy(low, weights, 8 * sizeof *low);
    memcpy(high, weights + POLYTOPE_COORDINATES, 8 * sizeof *high);
}

/* The first transform with its signs. */
INLINE_AVX2 void begin_avx2(__m256i *rows)
{
    turn_signs_avx2(rows, rows, 0);
    butterflies_avx2(rows);
    transpose_avx2(rows);
    butterflies_avx2(rows);
    half_butterflies_avx2(rows);
}

/* The signs and the transform of a table. */
INLINE_AVX2 void finish_rotation_avx2(const __m256i *first, size_t table, int16_t *rotated)
{
    __m256i rows[8];

    turn_signs_avx2(first, rows, table + 1);
    butterflies_avx2(rows);
    half_butterflies_avx2(rows);
    transpose_avx2(rows);
    butterflies_avx2(rows);
    for (int i = 0; i < 8; i++)
        _mm256_store_si256((__m256i *)rotated + 8 * table + i, rows[i]);
}

CPU_AVX2 static void rotate_wide_avx2(const uint8_t *vector, size_t width, size_t table_count,
                                      int16_t *rotated)
{
    __m256i halves[2][8], chosen[8];

    unpack_wide_avx2(vector, width, halves[0], halves[1]);
    begin_avx2(halves[0]);
    begin_avx2(halves[1]);
    for (size_t table = 0; table < table_count; table++) {
        const __m256i *choices = (const __m256i *)polytope_orders.avx2_choices[table / 2];
        const __m256i *usual = halves[table & 1], *other = halves[~table & 1];
        for (int i = 0; i < 8; i++)
            chosen[i] = _mm256_blendv_epi8(usual[i], other[i], _mm256_load_si256(choices + i));
        finish_rotation_avx2(chosen, table, rotated);
    }
}

CPU_AVX2 static void rotate_avx2(const uint8_t *vector, size_t width, size_t table_count,
                                 int16_t *rotated)
{
    __m256i first[8];

    if (width > POLYTOPE_HALF_WIDTH) {
        rotate_wide_avx2(vector, width, table_count, rotated);
        return;
    }
    unpack_avx2(vector, width, first);
    begin_avx2(first);
    for (size_t table = 0; table < table_count; table++)
        finish_rotation_avx2(first, table, rotated);
}

/* Return the largest of sixteen magnitudes. */
INLINE_AVX2 int32_t largest_avx2(__m256i magnitudes)
{
    __m128i largest = _mm_max_epu16(_mm256_castsi256_si128(magnitudes),
                                    _mm256_extracti128_si256(magnitudes, 1));
    const __m128i all = _mm_set1_epi16(-1);

    return 0xffff - _mm_extract_epi16(_mm_minpos_epu16(_mm_xor_si128(largest, all)), 0);
}

/* Return one bit for each of 32 comparisons, in the order of coordinates. */
INLINE_AVX2 uint32_t bits_avx2(__m256i low, __m256i high)
{
    __m256i packed = _mm256_packs_epi16(low, high);

    return (uint32_t)_mm256_movemask_epi8(_mm256_permute4x64_epi64(packed, 0xd8));
}

/* The magnitudes of a slice in registers; those beyond it are 0. */
struct slice_avx2 {
    __m256i magnitudes[4];
    int count; /* of registers */
    int32_t largest;
};

/* Load slice `number` of a rotated vector. */
INLINE_AVX2 struct slice_avx2 load_slice_avx2(const int16_t *rotated, int number)
{
    const __m256i *rows = (const __m256i *)(rotated + polytope_slices[number].start);
    struct slice_avx2 slice;
    __m256i largest = _mm256_setzero_si256();

    slice.count = number == 0 ? 4 : number == 1 ? 2 : 1;
    for (int i = 0; i < slice.count; i++) {
        slice.magnitudes[i] = _mm256_abs_epi16(_mm256_load_si256(rows + i));
        if (number == 3)
            slice.magnitudes[i] = _mm256_permute2x128_si256(slice.magnitudes[i],
                                                            slice.magnitudes[i], 0x80);
        largest = _mm256_max_epi16(largest, slice.magnitudes[i]);
    }
    slice.largest = largest_avx2(largest);
    return slice;
}

/* Return one bit for each magnitude that is greater than `least`. */
INLINE_AVX2 uint64_t greater_avx2(const struct slice_avx2 *slice, int32_t least)
{
    const __m256i bound = _mm256_set1_epi16((short)least), none = _mm256_setzero_si256();
    uint64_t bits = 0;

    for (int i = 0; i < slice->count; i += 2) {
        __m256i low = _mm256_cmpgt_epi16(slice->magnitudes[i], bound);
        __m256i high = slice->count > 1 ? _mm256_cmpgt_epi16(slice->magnitudes[i + 1], bound)
                                        : none;
        bits |= (uint64_t)bits_avx2(low, high) << 16 * i;
    }
    return bits;
}

/* Return the number of the nearest vertex of a slice. */
INLINE_AVX2 uint32_t nearest_avx2(const int16_t *rotated, int number)
{
    struct slice_avx2 slice = load_slice_avx2(rotated, number);
    uint64_t bits = greater_avx2(&slice, slice.largest - 1);
    unsigned place = (unsigned)__builtin_ctzll(bits);

    return 2 * place + (rotated[polytope_slices[number].start + (int)place] < 0);
}

CPU_AVX2 static uint32_t encode_avx2(const int16_t *rotated)
{
    uint32_t first = nearest_avx2(rotated, 0), second = nearest_avx2(rotated, 1);
    uint32_t third = nearest_avx2(rotated, 2), fourth = nearest_avx2(rotated, 3);

    return first << 15 | second << 9 | third << 4 | fourth;
}

/* List the vertices of slice `number` that cost at most `cut`. */
INLINE_AVX2 size_t list_avx2(const int16_t *rotated, int number, unsigned shift, int32_t cut,
                             uint32_t *list)
{
    const int32_t ratio = number == 0 ? 239 : number == 1 ? 222 : number == 2 ? 202 : 181;
    const int dimensions = 64 >> number;
    const int16_t *values = rotated + polytope_slices[number].start;
    struct slice_avx2 slice = load_slice_avx2(rotated, number);
    /* A vertex is near enough if its value is above this. */
    int32_t least = slice.largest - (cut * 256 + 255) / ratio - 1;
    uint64_t near = greater_avx2(&slice, least > -1 ? least : -1);
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
    /* The cut is so high that vertices with the other sign are near enough, too: all but those
       whose magnitudes are greater than this. */
    near = ~greater_avx2(&slice, -least - 1 < INT16_MAX ? -least - 1 : INT16_MAX);
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
INLINE_AVX2 size_t compress_avx2(__m256i lanes, unsigned chosen, uint32_t *out)
{
    __m256i order = _mm256_cvtepu8_epi32(
        _mm_loadl_epi64((const __m128i *)&polytope_orders.lanes[chosen]));

    _mm256_storeu_si256((__m256i *)out, _mm256_permutevar8x32_epi32(lanes, order));
    return (size_t)__builtin_popcount(chosen);
}

/* Return a mask of the first lanes whose entries cost at most `most`. */
INLINE_AVX2 unsigned affordable_avx2(__m256i entries, int32_t most, size_t count)
{
    const __m256i bound = _mm256_set1_epi32(most << 16 | 0xffff);
    __m256i dear = _mm256_cmpgt_epi32(entries, bound);

    return _bzhi_u32(~(unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(dear)),
                     count < 8 ? (unsigned)count : 8);
}

INLINE_AVX2 size_t add_one_avx2(uint32_t one, const uint32_t *others, size_t count, int32_t cut,
                                 uint32_t *sums)
{
    const int32_t rest = cut - (int32_t)(one >> 16);
    size_t kept = 0;

    for (size_t i = 0; i < count; i += 8) {
        __m256i entries = _mm256_loadu_si256((const __m256i *)(others + i));
        unsigned chosen = affordable_avx2(entries, rest, count - i);
        kept += compress_avx2(_mm256_add_epi32(entries, _mm256_set1_epi32((int32_t)one)), chosen,
                              sums + kept);
    }
    return kept;
}

INLINE_AVX2 size_t finish_avx2(const struct polytope_lists *lists, int32_t cut, uint32_t *headers)
{
    const __m128i bits = _mm_cvtsi32_si128((int)lists->right_bits);
    size_t found = 0;

    for (size_t i = 0; i < lists->left_count; i += 8) {
        __m256i entries = _mm256_loadu_si256((const __m256i *)(lists->left + i));
        __m256i starts = _mm256_sll_epi32(
            _mm256_and_si256(entries, _mm256_set1_epi32(0xffff)), bits);
        for (size_t j = 0; j < lists->right_count; j++) {
            uint32_t other = lists->right[j];
            unsigned chosen = affordable_avx2(entries, cut - (int32_t)(other >> 16),
                                              lists->left_count - i);
            __m256i whole = _mm256_or_si256(starts, _mm256_set1_epi32((int32_t)other & 0xffff));
            found += compress_avx2(whole, chosen, headers + found);
        }
    }
    return found;
}

NEAR_HEADERS(CPU_AVX2, avx2)

/* Return a mask of the lanes whose lower bits differ from the tag, which has only these, in at most
   `limit` bits. */
INLINE_AVX2 unsigned alike_avx2(__m256i keys, __m256i tag, __m256i limit)
{
    const __m256i counts = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
    const __m256i half = _mm256_set1_epi8(15);
    const __m256i inside = _mm256_set1_epi64x(((long long)1 << POLYTOPE_TAG_BITS) - 1);
    __m256i difference = _mm256_and_si256(_mm256_xor_si256(keys, tag), inside);
    __m256i low = _mm256_shuffle_epi8(counts, _mm256_and_si256(difference, half));
    __m256i high = _mm256_shuffle_epi8(
        counts, _mm256_and_si256(_mm256_srli_epi16(difference, 4), half));
    __m256i bits = _mm256_sad_epu8(_mm256_add_epi8(low, high), _mm256_setzero_si256());

    return ~(unsigned)_mm256_movemask_pd(
        _mm256_castsi256_pd(_mm256_cmpgt_epi64(bits, limit))) & 15;
}

CPU_AVX2 static size_t sift_avx2(struct search_stretch *stretches, size_t count,
                                 const uint64_t *tags, unsigned distance,
                                 struct search_sifted *list, size_t room, size_t *sifted)
{
    static const int64_t lanes[8] = {-1, -1, -1, -1, 0, 0, 0, 0};
    const __m256i limit = _mm256_set1_epi64x((long long)distance);
    size_t found = 0;

    for (size_t i = 0; i < count; i++) {
        struct search_stretch *stretch = &stretches[i];
        const __m256i tag = _mm256_set1_epi64x(
            (long long)tags[stretch->place % SEARCH_SIFTING]);
        const uint64_t *keys = stretch->keys;
        uint32_t left = stretch->count;
        while (left > 0) {
            uint32_t some = left < 4 ? left : 4;
            __m256i inside = _mm256_loadu_si256((const __m256i *)(lanes + 4 - some));
            unsigned alike = alike_avx2(
                _mm256_maskload_epi64((const long long *)keys, inside), tag, limit);
            for (alike = _bzhi_u32(alike, some); alike != 0; alike &= alike - 1)
                list[found++] = (struct search_sifted){
                    keys + __builtin_ctz(alike), stretch->place,
                };
            keys += some;
            left -= some;
            if (room - found < SEARCH_SIFTED_MIN) {
                stretch->keys = keys;
                stretch->count = left;
                *sifted = found;
                return left > 0 ? i : i + 1;
            }
        }
    }
    *sifted = found;
    return count;
}

#undef INLINE_AVX2

#endif
