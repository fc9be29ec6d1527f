/* `rotate`, `encode`, `near_headers`, `sift` and `drop_flipped`: rotating packed vectors, encoding
   them, finding headers near them, and sifting keys.

   An entry of a list is a vertex, or a combination of vertices of several slices, as cost << 16 |
   number. */
#ifndef SIMDB_SEARCH_NEAR_H
#define SIMDB_SEARCH_NEAR_H

#include <string.h>

#include "kernel.h"
#include "polytope.h"
#include "vector.h"

enum {
    POLYTOPE_LEFT_MAX = 128 * 64, /* pairs of vertices of the first two slices */
    POLYTOPE_RIGHT_MAX = 32 * 16, /* pairs of vertices of the last two slices */
    POLYTOPE_LANES = 16           /* room for whole registers after each list */
};

/* The vertices of a header, in two halves. */
struct polytope_lists {
    uint32_t left[POLYTOPE_LEFT_MAX + POLYTOPE_LANES];
    uint32_t right[POLYTOPE_RIGHT_MAX + POLYTOPE_LANES];
    size_t left_count, right_count;
    unsigned right_bits;
};

/* Unpack a vector into `room` weights; weights beyond its width are 0. */
static void unpack_weights(const uint8_t *vector, size_t width, int16_t *weights, size_t room)
{
    memset(weights, 0, room * sizeof *weights);
    for (size_t i = 0; i < width; i++) {
        weights[i] = (int16_t)(2 * (vector[i] & 15) - 15);
        weights[i + width] = (int16_t)(2 * (vector[i] >> 4) - 15);
    }
}

#if VECTORS_X86

/* Return the sum of the shares at 32 places. */
VECTOR_INLINE uint64_t shares_at(__m256i places)
{
    const __m256i shares = _mm256_broadcastsi128_si256(
        _mm_loadu_si128((const __m128i *)polytope_shares));
    __m256i sums = _mm256_sad_epu8(_mm256_shuffle_epi8(shares, places), _mm256_setzero_si256());
    __m128i half = _mm_add_epi64(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));

    return (uint64_t)_mm_extract_epi64(half, 0) + (uint64_t)_mm_extract_epi64(half, 1);
}

#endif

#if VECTORS == VECTORS_AVX2
#include "polytope_avx2.h"
#elif VECTORS == VECTORS_AVX512
#include "polytope_avx512.h"
#else

static void turn_signs(int16_t *values, const uint64_t *signs)
{
    for (int i = 0; i < POLYTOPE_COORDINATES; i++)
        if (signs[i / 64] >> (i & 63) & 1)
            values[i] = (int16_t)-values[i];
}

static void transform(int16_t *values)
{
    for (int half = 1; half < POLYTOPE_COORDINATES; half *= 2)
        for (int start = 0; start < POLYTOPE_COORDINATES; start += 2 * half)
            for (int i = start; i < start + half; i++) {
                int16_t one = values[i], other = values[i + half];
                values[i] = (int16_t)(one + other);
                values[i + half] = (int16_t)(one - other);
            }
}

/* Write the coordinates of both halves of a wide vector that a table sees. */
static void choose(const int16_t *halves, size_t table, int16_t *chosen)
{
    for (int i = 0; i < POLYTOPE_COORDINATES; i++) {
        uint64_t half = (polytope_choices[table / 2][i / 64] >> (i & 63) ^ table) & 1;
        chosen[i] = halves[half * POLYTOPE_COORDINATES + i];
    }
}

static void rotate(const uint8_t *vector, size_t width, size_t start, size_t stop,
                   int16_t *rotated)
{
    int16_t first[2 * POLYTOPE_COORDINATES];
    int is_wide = width > POLYTOPE_HALF_WIDTH;

    unpack_weights(vector, width, first, (1 + is_wide) * POLYTOPE_COORDINATES);
    for (int half = 0; half <= is_wide; half++) {
        turn_signs(first + half * POLYTOPE_COORDINATES, polytope_signs[0]);
        transform(first + half * POLYTOPE_COORDINATES);
    }
    for (size_t table = start; table < stop; table++, rotated += POLYTOPE_COORDINATES) {
        if (is_wide)
            choose(first, table, rotated);
        else
            memcpy(rotated, first, POLYTOPE_COORDINATES * sizeof *rotated);
        turn_signs(rotated, polytope_signs[table + 1]);
        transform(rotated);
    }
}

static int32_t magnitude(int16_t value)
{
    return value < 0 ? -value : value;
}

/* Return the number of the nearest vertex, and write its value. */
static uint32_t nearest(const int16_t *values, int dimensions, int32_t *largest)
{
    int best = 0;

    for (int i = 1; i < dimensions; i++)
        if (magnitude(values[i]) > magnitude(values[best]))
            best = i;
    *largest = magnitude(values[best]);
    return (uint32_t)(2 * best + (values[best] < 0));
}

static uint32_t encode(const int16_t *rotated)
{
    uint32_t code = 0;
    int32_t largest;

    for (int s = 0; s < POLYTOPE_SLICES; s++) {
        const struct polytope_slice *slice = &polytope_slices[s];
        code = code << slice->bits |
               nearest(rotated + slice->start, slice->dimensions, &largest);
    }
    return code;
}

static uint64_t add_shares(const int16_t *rotated, unsigned slice_count, const int16_t *steps)
{
    uint64_t product = 1;
    int32_t largest;

    for (unsigned s = 0; s < slice_count; s++) {
        const struct polytope_slice *slice = &polytope_slices[s];
        uint64_t sum = 0;
        nearest(rotated + slice->start, slice->dimensions, &largest);
        for (int i = slice->start; i < slice->start + slice->dimensions; i++) {
            int32_t place = ((largest - magnitude(rotated[i])) * steps[s] + (1 << 14)) >> 15;
            sum += polytope_shares[place < 15 ? place : 15];
        }
        product *= sum;
    }
    return product;
}

/* List the vertices of slice `number` that cost at most `cut`, with their numbers shifted to the
   left; return how many there are. */
static size_t list(const int16_t *rotated, int number, unsigned shift, int32_t cut,
                   uint32_t *list)
{
    const struct polytope_slice *slice = &polytope_slices[number];
    const int16_t *values = rotated + slice->start;
    int32_t largest;
    size_t count = 0;

    nearest(values, slice->dimensions, &largest);
    for (uint32_t vertex = 0; vertex < 2 * (uint32_t)slice->dimensions; vertex++) {
        int32_t value = vertex & 1 ? -values[vertex / 2] : values[vertex / 2];
        int32_t cost = (largest - value) * slice->ratio >> 8;
        if (cost <= cut)
            list[count++] = (uint32_t)cost << 16 | vertex << shift;
    }
    return count;
}

/* Write the sums of `one` and each of `others` that cost at most `cut`; return their number. */
static size_t add_one(uint32_t one, const uint32_t *others, size_t count, int32_t cut,
                              uint32_t *sums)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++)
        if ((one >> 16) + (others[i] >> 16) <= (uint32_t)cut)
            sums[kept++] = one + others[i];
    return kept;
}

/* Write the headers of the sums of `lists` that cost at most `cut`; return their number. */
static size_t finish(const struct polytope_lists *lists, int32_t cut, uint32_t *headers)
{
    size_t count = 0;

    for (size_t i = 0; i < lists->left_count; i++) {
        uint32_t rest = (uint32_t)cut - (lists->left[i] >> 16);
        uint32_t start = (lists->left[i] & 0xffff) << lists->right_bits;
        for (size_t j = 0; j < lists->right_count; j++)
            if (lists->right[j] >> 16 <= rest)
                headers[count++] = start | (lists->right[j] & 0xffff);
    }
    return count;
}

#if !VECTORS_X86

/* Return the sum of the sizes of some bits. */
static uint32_t add_sizes(const uint8_t *sizes, uint64_t bits)
{
    uint32_t sum = 0;

    for (; bits != 0; bits &= bits - 1)
        sum += sizes[__builtin_ctzll(bits)];
    return sum;
}

#endif

#if VECTORS == VECTORS_SCALAR

static size_t sift(struct search_stretch *stretches, size_t count,
                   const struct search_wanted *wanted, struct search_sifted *list, size_t room,
                   size_t *sifted)
{
    size_t found = 0, i;

    for (i = 0; i < count && room - found >= SEARCH_SIFTED_MIN; i++) {
        struct search_stretch *stretch = &stretches[i];
        const struct search_wanted *own = &wanted[stretch->place % SEARCH_SIFTING];
        for (; stretch->count > 0 && found < room; stretch->keys++, stretch->count--)
            if (search_is_near(*stretch->keys ^ own->key, own))
                list[found++] = (struct search_sifted){stretch->keys, stretch->place};
        if (stretch->count > 0)
            break;
    }
    *sifted = found;
    return i;
}

#endif

#endif

#if VECTORS_X86

enum { ROTATION_ROWS = POLYTOPE_COORDINATES * (int)sizeof(int16_t) / VECTOR_BYTES };

/* Unpack a vector of at most 128 weights. */
VECTOR_INLINE void unpack(const uint8_t *packed, size_t width, vector *rows)
{
    int16_t weights[POLYTOPE_COORDINATES];

    if (width == POLYTOPE_HALF_WIDTH) {
        for (int i = 0; i < ROTATION_ROWS / 2; i++)
            unpack_some(packed + VECTOR_BYTES / 2 * i, &rows[i], &rows[i + ROTATION_ROWS / 2]);
        return;
    }
    unpack_weights(packed, width, weights, POLYTOPE_COORDINATES);
    memcpy(rows, weights, sizeof weights);
}

/* Unpack a vector of more weights into both halves. */
VECTOR_INLINE void unpack_wide(const uint8_t *packed, size_t width, vector *low, vector *high)
{
    int16_t weights[2 * POLYTOPE_COORDINATES];

    if (width == POLYTOPE_WIDTH_MAX) {
        for (int i = 0; i < ROTATION_ROWS; i++)
            unpack_some(packed + VECTOR_BYTES / 2 * i, &low[i], &high[i]);
        return;
    }
    unpack_weights(packed, width, weights, 2 * POLYTOPE_COORDINATES);
    memcpy(low, weights, sizeof weights / 2);
    memcpy(high, weights + POLYTOPE_COORDINATES, sizeof weights / 2);
}

static void rotate_wide(const uint8_t *packed, size_t width, size_t start, size_t stop,
                        int16_t *rotated)
{
    vector halves[2][ROTATION_ROWS], chosen[ROTATION_ROWS];

    unpack_wide(packed, width, halves[0], halves[1]);
    begin(halves[0]);
    begin(halves[1]);
    for (size_t table = start; table < stop; table++, rotated += POLYTOPE_COORDINATES) {
        choose(halves[table & 1], halves[~table & 1], table / 2, chosen);
        finish_rotation(chosen, table, rotated);
    }
}

static void rotate(const uint8_t *packed, size_t width, size_t start, size_t stop,
                   int16_t *rotated)
{
    vector first[ROTATION_ROWS];

    if (width > POLYTOPE_HALF_WIDTH) {
        rotate_wide(packed, width, start, stop, rotated);
        return;
    }
    unpack(packed, width, first);
    begin(first);
    for (size_t table = start; table < stop; table++, rotated += POLYTOPE_COORDINATES)
        finish_rotation(first, table, rotated);
}

static uint64_t add_shares(const int16_t *rotated, unsigned slice_count, const int16_t *steps)
{
    uint64_t product = sum_shares(rotated, 0, steps[0]);

    if (slice_count > 1)
        product *= sum_shares(rotated, 1, steps[1]);
    if (slice_count > 2)
        product *= sum_shares(rotated, 2, steps[2]);
    if (slice_count > 3)
        product *= sum_shares(rotated, 3, steps[3]);
    return product;
}

/* Write the sums of `one` and each of `others` that cost at most `cut`; return their number. */
VECTOR_INLINE size_t add_one(uint32_t one, const uint32_t *others, size_t count, int32_t cut,
                             uint32_t *sums)
{
    const int32_t rest = cut - (int32_t)(one >> 16);
    size_t kept = 0;

    for (size_t i = 0; i < count; i += VECTOR_INTS) {
        vector entries = vector_load(others + i);
        unsigned chosen = affordable(entries, rest, count - i);
        kept += compress(vector_add_32(entries, vector_all_32(one)), chosen, sums + kept);
    }
    return kept;
}

/* Write the headers of the sums of `lists` that cost at most `cut`; return their number. */
VECTOR_INLINE size_t finish(const struct polytope_lists *lists, int32_t cut, uint32_t *headers)
{
    size_t found = 0;

    for (size_t i = 0; i < lists->left_count; i += VECTOR_INTS) {
        vector entries = vector_load(lists->left + i);
        vector starts = vector_left_32(vector_and(entries, vector_all_32(0xffff)),
                                       lists->right_bits);
        for (size_t j = 0; j < lists->right_count; j++) {
            uint32_t other = lists->right[j];
            unsigned chosen = affordable(entries, cut - (int32_t)(other >> 16),
                                         lists->left_count - i);
            found += compress(vector_or(starts, vector_all_32(other & 0xffff)), chosen,
                              headers + found);
        }
    }
    return found;
}

static size_t sift(struct search_stretch *stretches, size_t count,
                   const struct search_wanted *wanted, struct search_sifted *list, size_t room,
                   size_t *sifted)
{
    size_t found = 0;

    for (size_t i = 0; i < count; i++) {
        struct search_stretch *stretch = &stretches[i];
        const struct search_wanted *own = &wanted[stretch->place % SEARCH_SIFTING];
        const vector tag = vector_all_64(own->key), bits = vector_all_64(own->counted);
        const vector limit = vector_all_64(own->most);
        const uint64_t *keys = stretch->keys;
        uint32_t left = stretch->count;
        while (left > 0) {
            uint32_t some = left < VECTOR_WORDS ? left : VECTOR_WORDS;
            unsigned near = alike_of(keys, some, tag, bits, limit);
            /* Few have a near key, hardly any has two, so the first is written without a branch. */
            list[found] = (struct search_sifted){keys + _tzcnt_u32(near), stretch->place};
            found += near != 0;
            for (near = _blsr_u32(near); near != 0; near = _blsr_u32(near))
                list[found++] = (struct search_sifted){
                    keys + __builtin_ctz(near), stretch->place,
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

#endif

static size_t drop_flipped(struct search_near *list, size_t count,
                           const struct search_wanted *wanted, const uint8_t *sizes, uint32_t most)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        uint32_t sum = add_sizes(sizes, (list[i].key ^ wanted->key) & wanted->counted);
        list[kept] = list[i];
        kept += sum <= most;
    }
    return kept;
}

/* Return whether at most POLYTOPE_PROBES_MAX sums of both lists cost at most `cut`. */
static int has_few_sums(const struct polytope_lists *lists, int32_t cut)
{
    size_t count = 0;

    if (lists->left_count * lists->right_count <= POLYTOPE_PROBES_MAX)
        return 1;
    for (size_t i = 0; i < lists->left_count; i++) {
        uint32_t rest = (uint32_t)cut - (lists->left[i] >> 16);
        for (size_t j = 0; j < lists->right_count; j++)
            count += lists->right[j] >> 16 <= rest;
        if (count > POLYTOPE_PROBES_MAX)
            return 0;
    }
    return 1;
}

static size_t add_lists(const uint32_t *left, size_t left_count,
                                         const uint32_t *right, size_t right_count,
                                         int32_t cut, uint32_t *sums)
{
    size_t count = 0;
    for (size_t i = 0; i < right_count; i++)
        count += add_one(right[i], left, left_count, cut, sums + count);
    return count;
}

static void fill_lists(const int16_t *rotated, unsigned slice_count,
                                        int32_t cut, struct polytope_lists *lists)
{
    uint32_t one[POLYTOPE_VERTICES + POLYTOPE_LANES];
    uint32_t other[POLYTOPE_VERTICES + POLYTOPE_LANES];
    size_t count, others;
    lists->right[0] = 0;
    lists->right_count = 1;
    lists->right_bits = 0;
    if (slice_count == 1) {
        lists->left_count = list(rotated, 0, 0, cut, lists->left);
        return;
    }
    count = list(rotated, 0, 6, cut, one);
    others = list(rotated, 1, 0, cut, other);
    lists->left_count = add_lists(one, count, other, others, cut, lists->left);
    if (slice_count == 2)
        return;
    if (slice_count == 3) {
        lists->right_bits = 5;
        lists->right_count = list(rotated, 2, 0, cut, lists->right);
        return;
    }
    count = list(rotated, 2, 4, cut, one);
    others = list(rotated, 3, 0, cut, other);
    lists->right_bits = 9;
    lists->right_count = add_lists(one, count, other, others, cut, lists->right);
}

static size_t near_headers(const int16_t *rotated, unsigned width,
                                            int32_t cut, uint32_t *headers)
{
    unsigned slice_count = width == 7 ? 1 : width == 13 ? 2 : width == 18 ? 3 : 4;
    struct polytope_lists lists;
    for (; cut >= 0; cut -= cut / 8 + 1) {
        fill_lists(rotated, slice_count, cut, &lists);
        if (has_few_sums(&lists, cut))
            return finish(&lists, cut, headers);
    }
    headers[0] = encode(rotated) >> (POLYTOPE_CODE_BITS - width);
    return 1;
}

#endif
