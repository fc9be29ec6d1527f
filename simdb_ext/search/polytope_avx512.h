/* Rotating packed vectors, codes, near headers and sifting, in registers of 64 bytes.

   A rotated vector is four registers of 32 coordinates; the order of coordinates between both
   transforms is another than with AVX2, but for the same reason. */
#ifndef SIMDB_SEARCH_POLYTOPE_AVX512_H
#define SIMDB_SEARCH_POLYTOPE_AVX512_H

#include "cpu.h"
#include "polytope_scalar.h"

#define INLINE_AVX512 CPU_AVX512 static inline __attribute__((always_inline))

INLINE_AVX512 void butterfly_avx512(__m512i *one, __m512i *other)
{
    __m512i sum = _mm512_add_epi16(*one, *other);

    *other = _mm512_sub_epi16(*one, *other);
    *one = sum;
}

/* Add and subtract registers whose numbers differ by 1 and 2. */
INLINE_AVX512 void butterflies_avx512(__m512i *rows)
{
    butterfly_avx512(&rows[0], &rows[1]);
    butterfly_avx512(&rows[2], &rows[3]);
    butterfly_avx512(&rows[0], &rows[2]);
    butterfly_avx512(&rows[1], &rows[3]);
}

/* Exchange the number of the register with the number of the quarter, the first of three. */
INLINE_AVX512 void swap_quarters_avx512(__m512i *rows)
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

/* Exchange it with the number of the pair inside a quarter. */
INLINE_AVX512 void swap_pairs_avx512(__m512i *rows)
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

/* Exchange its lowest bit with the place inside a pair, and add and subtract these registers. */
INLINE_AVX512 void word_butterflies_avx512(__m512i *rows)
{
    const __mmask32 second = 0xaaaaaaaa;

    for (int i = 0; i < 4; i += 2) {
        __m512i one = rows[i], other = rows[i + 1];
        rows[i] = _mm512_mask_mov_epi16(one, second, _mm512_slli_epi32(other, 16));
        rows[i + 1] = _mm512_mask_mov_epi16(_mm512_srli_epi32(one, 16), second, other);
        butterfly_avx512(&rows[i], &rows[i + 1]);
    }
}

/* Give each coordinate its sign of one round. */
INLINE_AVX512 void turn_signs_avx512(const __m512i *rows, __m512i *turned, size_t round)
{
    for (int i = 0; i < 4; i++)
        turned[i] = _mm512_mask_sub_epi16(rows[i], polytope_orders.avx512[round][i],
                                          _mm512_setzero_si512(), rows[i]);
}

/* Turn 32 bytes into the weights of their low halves, and of their high halves. */
INLINE_AVX512 void unpack_some_avx512(const uint8_t *vector, __m512i *low, __m512i *high)
{
    const __m512i half = _mm512_set1_epi16(15);
    __m512i bytes = _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)vector));
    __m512i lower = _mm512_and_si512(bytes, half), upper = _mm512_srli_epi16(bytes, 4);

    *low = _mm512_sub_epi16(_mm512_add_epi16(lower, lower), half);
    *high = _mm512_sub_epi16(_mm512_add_epi16(upper, upper), half);
}

/* Unpack a vector of at most 128 weights into registers. */
INLINE_AVX512 void unpack_avx512(const uint8_t *vector, size_t width, __m512i *rows)
{
    if (width == POLYTOPE_HALF_WIDTH) {
        for (int i = 0; i < 2; i++)
            unpack_some_avx512(vector + 32 * i, &rows[i], &rows[i + 2]);
        return;
    }
    _Alignas(64) int16_t weights[POLYTOPE_COORDINATES];
    unpack_scalar(vector, width, weights, POLYTOPE_COORDINATES);
    for (int i = 0; i < 4; i++)
        rows[i] = _mm512_load_si512(weights + 32 * i);
}

/* Unpack a vector of more weights into the registers of both halves. */
INLINE_AVX512 void unpack_wide_avx512(const uint8_t *vector, size_t width, __m512i *low,
                                      __m512i *high)
{
    if (width == POLYTOPE_WIDTH_MAX) {
        for (int i = 0; i < 4; i++)
            unpack_some_avx512(vector + 32 * i, &low[i], &high[i]);
        return;
    }
    _Alignas(64) int16_t weights[2 * POLYTOPE_COORDINATES];
    unpack_scalar(vector, width, weights, 2 * POLYTOPE_COORDINATES);
    memcpy(low, weights, 4 * sizeof *low);
    memcpy(high, weights + POLYTOPE_COORDINATES, 4 * sizeof *high);
}

/* The first transform with its signs. */
INLINE_AVX512 void begin_avx512(__m512i *rows)
{
    turn_signs_avx512(rows, rows, 0);
    butterflies_avx512(rows);
    swap_quarters_avx512(rows);
    butterflies_avx512(rows);
    swap_pairs_avx512(rows);
    butterflies_avx512(rows);
    word_butterflies_avx512(rows);
}

/* The signs and the transform of a table. */
INLINE_AVX512 void finish_rotation_avx512(const __m512i *first, size_t table, int16_t *rotated)
{
    __m512i rows[4];

    turn_signs_avx512(first, rows, table + 1);
    /* Of the two bits of the number, the lower is exchanged after its butterfly. */
    butterflies_avx512(rows);
    word_butterflies_avx512(rows);
    swap_pairs_avx512(rows);
    butterflies_avx512(rows);
    swap_quarters_avx512(rows);
    butterflies_avx512(rows);
    for (int i = 0; i < 4; i++)
        _mm512_store_si512(rotated + POLYTOPE_COORDINATES * table + 32 * i, rows[i]);
}

CPU_AVX512 static void rotate_wide_avx512(const uint8_t *vector, size_t width,
                                          size_t table_count, int16_t *rotated)
{
    __m512i halves[2][4], chosen[4];

    unpack_wide_avx512(vector, width, halves[0], halves[1]);
    begin_avx512(halves[0]);
    begin_avx512(halves[1]);
    for (size_t table = 0; table < table_count; table++) {
        const uint32_t *choices = polytope_orders.avx512_choices[table / 2];
        const __m512i *usual = halves[table & 1], *other = halves[~table & 1];
        for (int i = 0; i < 4; i++)
            chosen[i] = _mm512_mask_mov_epi16(usual[i], choices[i], other[i]);
        finish_rotation_avx512(chosen, table, rotated);
    }
}

CPU_AVX512 static void rotate_avx512(const uint8_t *vector, size_t width, size_t table_count,
                                     int16_t *rotated)
{
    __m512i first[4];

    if (width > POLYTOPE_HALF_WIDTH) {
        rotate_wide_avx512(vector, width, table_count, rotated);
        return;
    }
    unpack_avx512(vector, width, first);
    begin_avx512(first);
    for (size_t table = 0; table < table_count; table++)
        finish_rotation_avx512(first, table, rotated);
}

/* Return the largest of 32 magnitudes. */
INLINE_AVX512 int32_t largest_avx512(__m512i magnitudes)
{
    __m256i half = _mm256_max_epu16(_mm512_castsi512_si256(magnitudes),
                                    _mm512_extracti64x4_epi64(magnitudes, 1));
    __m128i largest = _mm_max_epu16(_mm256_castsi256_si128(half),
                                    _mm256_extracti128_si256(half, 1));
    const __m128i all = _mm_set1_epi16(-1);

    return 0xffff - _mm_extract_epi16(_mm_minpos_epu16(_mm_xor_si128(largest, all)), 0);
}

/* A slice in registers; coordinates beyond it are 0. */
struct slice_avx512 {
    __m512i values[2], magnitudes[2];
    __mmask32 inside;
    int count; /* of registers */
    int32_t largest;
};

/* Load slice `number` of a rotated vector. */
INLINE_AVX512 struct slice_avx512 load_slice_avx512(const int16_t *rotated, int number)
{
    const int start = number == 0 ? 0 : number == 1 ? 64 : number == 2 ? 96 : 112;
    struct slice_avx512 slice;

    slice.count = number == 0 ? 2 : 1;
    slice.inside = number < 2 ? 0xffffffff : number == 2 ? 0xffff : 0xff;
    for (int i = 0; i < slice.count; i++) {
        slice.values[i] = _mm512_maskz_loadu_epi16(slice.inside, rotated + start + 32 * i);
        slice.magnitudes[i] = _mm512_abs_epi16(slice.values[i]);
    }
    slice.largest = largest_avx512(
        number == 0 ? _mm512_max_epi16(slice.magnitudes[0], slice.magnitudes[1])
                    : slice.magnitudes[0]);
    return slice;
}

/* Return the number of the nearest vertex of a slice. */
INLINE_AVX512 uint32_t nearest_avx512(const int16_t *rotated, int number)
{
    struct slice_avx512 slice = load_slice_avx512(rotated, number);
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

CPU_AVX512 static uint32_t encode_avx512(const int16_t *rotated)
{
    uint32_t first = nearest_avx512(rotated, 0), second = nearest_avx512(rotated, 1);
    uint32_t third = nearest_avx512(rotated, 2), fourth = nearest_avx512(rotated, 3);

    return first << 15 | second << 9 | third << 4 | fourth;
}

/* Write costs << 16 | vertices of the chosen coordinates next to each other; return how many they
   are. */
INLINE_AVX512 size_t write_avx512(__m512i costs, __m512i vertices, __mmask32 chosen,
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
INLINE_AVX512 size_t list_avx512(const int16_t *rotated, int number, unsigned shift, int32_t cut,
                                 uint32_t *list)
{
    const int32_t ratio = number == 0 ? 239 : number == 1 ? 222 : number == 2 ? 202 : 181;
    const __m512i ratios = _mm512_set1_epi16((short)(ratio << 8)), one = _mm512_set1_epi16(1);
    const __m512i evens = _mm512_slli_epi16(
        _mm512_cvtepu8_epi16(_mm256_load_si256((const __m256i *)polytope_orders.places)), 1);
    struct slice_avx512 slice = load_slice_avx512(rotated, number);
    const __m512i largest = _mm512_set1_epi16((short)slice.largest);
    /* A vertex is near enough if its value is above this. */
    int32_t least = slice.largest - (cut * 256 + 255) / ratio - 1;
    const __m512i bound = _mm512_set1_epi16((short)(least > -1 ? least : -1));
    size_t count = 0;

    for (int i = 0; i < slice.count; i++) {
        __m512i vertices = _mm512_add_epi16(_mm512_add_epi16(evens, _mm512_set1_epi16(64 * i)),
                                            _mm512_srli_epi16(slice.values[i], 15));
        __m512i costs = _mm512_mulhi_epu16(_mm512_sub_epi16(largest, slice.magnitudes[i]), ratios);
        __mmask32 near = _mm512_mask_cmpgt_epi16_mask(slice.inside, slice.magnitudes[i], bound);
        count += write_avx512(costs, _mm512_slli_epi16(vertices, shift), near, list + count);
        if (least >= 0)
            continue;
        /* The cut is so high that vertices with the other sign are near enough, too. */
        int32_t most = -least - 1 < INT16_MAX ? -least - 1 : INT16_MAX;
        near = _mm512_mask_cmple_epi16_mask(slice.inside, slice.magnitudes[i],
                                            _mm512_set1_epi16((short)most));
        costs = _mm512_mulhi_epu16(_mm512_add_epi16(largest, slice.magnitudes[i]), ratios);
        count += write_avx512(costs, _mm512_slli_epi16(_mm512_xor_si512(vertices, one), shift),
                              near, list + count);
    }
    return count;
}

/* Return a mask of the first lanes whose entries cost at most `most`. */
INLINE_AVX512 __mmask16 affordable_avx512(__m512i entries, int32_t most, size_t count)
{
    const __m512i bound = _mm512_set1_epi32(most << 16 | 0xffff);
    uint32_t lanes = _bzhi_u32(0xffff, count < 16 ? (unsigned)count : 16);

    return _mm512_mask_cmple_epi32_mask((__mmask16)lanes, entries, bound);
}

INLINE_AVX512 size_t add_one_avx512(uint32_t one, const uint32_t *others, size_t count,
                                    int32_t cut, uint32_t *sums)
{
    const int32_t rest = cut - (int32_t)(one >> 16);
    size_t kept = 0;

    for (size_t i = 0; i < count; i += 16) {
        __m512i entries = _mm512_loadu_si512(others + i);
        __mmask16 chosen = affordable_avx512(entries, rest, count - i);
        __m512i whole = _mm512_add_epi32(entries, _mm512_set1_epi32((int32_t)one));
        _mm512_storeu_si512(sums + kept, _mm512_maskz_compress_epi32(chosen, whole));
        kept += (size_t)__builtin_popcount(chosen);
    }
    return kept;
}

INLINE_AVX512 size_t finish_avx512(const struct polytope_lists *lists, int32_t cut,
                                   uint32_t *headers)
{
    const __m128i bits = _mm_cvtsi32_si128((int)lists->right_bits);
    size_t found = 0;

    for (size_t i = 0; i < lists->left_count; i += 16) {
        __m512i entries = _mm512_loadu_si512(lists->left + i);
        __m512i starts = _mm512_sll_epi32(
            _mm512_and_si512(entries, _mm512_set1_epi32(0xffff)), bits);
        for (size_t j = 0; j < lists->right_count; j++) {
            uint32_t other = lists->right[j];
            __mmask16 chosen = affordable_avx512(entries, cut - (int32_t)(other >> 16),
                                                 lists->left_count - i);
            __m512i whole = _mm512_or_si512(starts, _mm512_set1_epi32((int32_t)other & 0xffff));
            _mm512_storeu_si512(headers + found, _mm512_maskz_compress_epi32(chosen, whole));
            found += (size_t)__builtin_popcount(chosen);
        }
    }
    return found;
}

NEAR_HEADERS(CPU_AVX512, avx512)

CPU_AVX512 static size_t sift_avx512(struct search_stretch *stretches, size_t count,
                                     const uint64_t *tags, unsigned distance,
                                     struct search_sifted *list, size_t room, size_t *sifted)
{
    const __m512i limit = _mm512_set1_epi64((long long)distance);
    size_t found = 0;

    for (size_t i = 0; i < count; i++) {
        struct search_stretch *stretch = &stretches[i];
        const __m512i tag = _mm512_set1_epi64((long long)tags[stretch->place % SEARCH_SIFTING]);
        const uint64_t *keys = stretch->keys;
        uint32_t left = stretch->count;
        while (left > 0) {
            uint32_t some = left < 8 ? left : 8;
            __mmask8 inside = (__mmask8)_bzhi_u32(255, some);
            __m512i difference = _mm512_slli_epi64(
                _mm512_xor_si512(_mm512_maskz_loadu_epi64(inside, keys), tag),
                POLYTOPE_CODE_BITS);
            unsigned alike = _mm512_mask_cmple_epu64_mask(
                inside, _mm512_popcnt_epi64(difference), limit);
            for (; alike != 0; alike &= alike - 1)
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

#undef INLINE_AVX512

#endif
