/* `flip_first` where there are candidates: compute the costs of all, and choose the first by cost.

   Costs are bytes that saturate at 255, which is also the cost of a bit that is never flipped.
   With vectors, hardly any branch depends on the costs, so few are mispredicted. */
#ifndef SIMDB_SEARCH_CHOOSE_H
#define SIMDB_SEARCH_CHOOSE_H

#include "candidates.h"
#include "flip.h"
#include "kernel.h"
#include "vector.h"

#if VECTORS_X86

enum {
    ROW = 32,                              /* candidates in a register */
    ROWS_MAX = 1 + CANDIDATE_OTHERS / ROW, /* the first row has the candidates of one bit */
    NO_BIT = CANDIDATE_NO_RANK % 64
};

/* The bits of a header, the cheapest first; of equal costs, the bit nearer to the front. */
struct sorted {
    _Alignas(64) uint8_t costs[ROW]; /* SEARCH_NEVER after the last */
    _Alignas(64) uint32_t bits[NO_BIT + 1];
};

VECTOR_INLINE __m256i load_row(const void *place)
{
    return _mm256_loadu_si256((const __m256i *)place);
}

#if VECTORS == VECTORS_AVX512

VECTOR_INLINE uint32_t is_greater(__m256i one, __m256i other)
{
    return _mm256_cmpgt_epi8_mask(one, other);
}

VECTOR_INLINE uint32_t is_equal(__m256i one, __m256i other)
{
    return _mm256_cmpeq_epi8_mask(one, other);
}

VECTOR_INLINE uint32_t is_within(__m256i costs, __m256i bounds)
{
    return _mm256_cmple_epu8_mask(costs, bounds);
}

/* Write the sets of the candidates `chosen` in a row; return the end. */
VECTOR_INLINE uint64_t *write_row(const struct search_candidates *candidates, int row,
                                  uint32_t chosen, __m256i costs, const struct sorted *sorted,
                                  uint64_t *sets)
{
    __m512i first = _mm512_load_si512(sorted->bits), none = _mm512_setzero_si512();
    _Alignas(64) uint32_t bits[ROW];
    uint8_t cost[ROW];

    _mm256_storeu_si256((__m256i *)cost, costs);
    for (int i = 0; i < ROW; i += 16) {
        __m512i some = row > 0 ? none : _mm512_load_si512(sorted->bits + i);
        for (int rank = 0; row > 0 && rank < CANDIDATE_SIZE_MAX; rank++) {
            const uint8_t *ranks = candidates->ranks[rank] + ROW * (row - 1) + i;
            __m512i places = _mm512_cvtepu8_epi32(_mm_load_si128((const __m128i *)ranks));
            some = _mm512_or_si512(some, _mm512_permutex2var_epi32(first, places, none));
        }
        _mm512_store_si512(bits + i, some);
    }
    for (int i = 0; i < ROW; i += 8, chosen >>= 8) {
        __mmask8 some = (__mmask8)chosen;
        __m512i dear = _mm512_cvtepu8_epi64(_mm_loadl_epi64((const __m128i *)(cost + i)));
        __m512i own = _mm512_cvtepu32_epi64(load_row(bits + i));
        own = _mm512_or_si512(own, _mm512_slli_epi64(dear, UNSIZED));
        _mm512_storeu_si512(sets, _mm512_maskz_compress_epi64(some, own));
        sets += _mm_popcnt_u32(some);
    }
    return sets;
}

#else

VECTOR_INLINE uint32_t is_greater(__m256i one, __m256i other)
{
    return (uint32_t)_mm256_movemask_epi8(_mm256_cmpgt_epi8(one, other));
}

VECTOR_INLINE uint32_t is_equal(__m256i one, __m256i other)
{
    return (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(one, other));
}

VECTOR_INLINE uint32_t is_within(__m256i costs, __m256i bounds)
{
    return is_equal(_mm256_min_epu8(costs, bounds), costs);
}

VECTOR_INLINE uint64_t *write_row(const struct search_candidates *candidates, int row,
                                  uint32_t chosen, __m256i costs, const struct sorted *sorted,
                                  uint64_t *sets)
{
    uint8_t cost[ROW];

    _mm256_storeu_si256((__m256i *)cost, costs);
    for (; chosen != 0; chosen &= chosen - 1) {
        unsigned number = (unsigned)__builtin_ctz(chosen);
        uint32_t bits = row > 0 ? 0 : sorted->bits[number];
        for (int rank = 0; row > 0 && rank < CANDIDATE_SIZE_MAX; rank++)
            bits |= sorted->bits[candidates->ranks[rank][ROW * (row - 1) + number] % 64];
        *sets++ = (uint64_t)cost[number] << UNSIZED | bits;
    }
    return sets;
}

#endif

static void sort_bits(const struct search_flips *flips, const uint8_t *levels,
                      const uint8_t *order, unsigned width, struct sorted *sorted)
{
    /* The first lanes add 1, so an earlier bit of equal cost counts as cheaper. */
    static const int8_t added[2 * ROW] = {[0 ... ROW - 1] = 1};
    const __m256i never = _mm256_set1_epi8((char)SEARCH_NEVER);
    const __m256i top = _mm256_set1_epi8((char)128); /* makes unsigned bytes compare as signed */
    _Alignas(64) uint8_t costs[64], turned[ROW];

    cheap_places(flips->costs, levels, order, SEARCH_NEVER - 1, costs);
    __m256i is_inside = _mm256_cmpgt_epi8(load_row(added + ROW - width), _mm256_setzero_si256());
    __m256i all = _mm256_xor_si256(_mm256_blendv_epi8(never, load_row(costs), is_inside), top);
    _mm256_storeu_si256((__m256i *)turned, all);
    _mm256_storeu_si256((__m256i *)sorted->costs, never);
    sorted->bits[NO_BIT] = 0;
    for (unsigned place = 0; place < width; place++) {
        __m256i own = _mm256_set1_epi8((char)turned[place]);
        own = _mm256_adds_epi8(own, load_row(added + ROW - place));
        unsigned rank = (unsigned)_mm_popcnt_u32(is_greater(own, all)) % ROW;
        sorted->costs[rank] = costs[place];
        sorted->bits[rank] = (uint32_t)1 << (width - 1 - place);
    }
}

/* Write the costs of all candidates: the sums of the costs of their ranks. */
VECTOR_INLINE void price(const struct search_candidates *candidates, int rows,
                         const struct sorted *sorted, __m256i *costs)
{
    __m256i first = _mm256_broadcastsi128_si256(_mm_load_si128((const __m128i *)sorted->costs));

    costs[0] = load_row(sorted->costs);
    for (int row = 1; row < rows; row++) {
        const uint8_t *ranks = candidates->ranks[0] + ROW * (row - 1);
        /* A candidate without ranks does not exist: its cost saturates. */
        costs[row] = _mm256_cmpgt_epi8(_mm256_setzero_si256(), load_row(ranks));
        for (int i = 0; i < CANDIDATE_SIZE_MAX; i++, ranks += CANDIDATE_OTHERS)
            costs[row] = _mm256_adds_epu8(costs[row], _mm256_shuffle_epi8(first, load_row(ranks)));
    }
}

VECTOR_INLINE size_t count_costs(const __m256i *costs, int rows, unsigned bound)
{
    __m256i bounds = _mm256_set1_epi8((char)bound);
    size_t count = 0;

    for (int row = 0; row < rows; row++)
        count += (size_t)_mm_popcnt_u32(is_within(costs[row], bounds));
    return count;
}

/* Return the least cost within which there are at least `wanted` candidates, at most 255. */
VECTOR_INLINE unsigned find_bound(const __m256i *costs, int rows, size_t wanted)
{
    unsigned bound = 0;

    /* Each step tries three bounds at the same time. */
    for (unsigned step = 64; step > 0; step /= 4) {
        unsigned steps = 0;
        for (unsigned i = 1; i < 4; i++)
            steps += count_costs(costs, rows, bound + i * step - 1) < wanted;
        bound += steps * step;
    }
    return bound;
}

VECTOR_INLINE size_t choose_in_rows(const struct search_flips *flips,
                                    const struct search_candidates *candidates, int rows,
                                    const uint8_t *levels, const uint8_t *order, unsigned width,
                                    uint64_t *sets, int32_t *limit)
{
    struct sorted sorted;
    __m256i costs[ROWS_MAX];
    size_t left = candidates->wanted;

    sort_bits(flips, levels, order, width, &sorted);
    price(candidates, rows, &sorted, costs);
    unsigned bound = find_bound(costs, rows, left);
    if (bound == SEARCH_NEVER)
        return 0;
    *sets++ = 0;
    /* Among candidates that cost exactly the bound, the first are chosen. */
    left -= bound > 0 ? count_costs(costs, rows, bound - 1) : 0;
    for (int row = 0; row < rows; row++) {
        __m256i bounds = _mm256_set1_epi8((char)bound);
        uint32_t tied = is_equal(costs[row], bounds);
        uint32_t first = (uint32_t)_pdep_u64(((uint64_t)1 << left) - 1, tied);
        uint32_t cheaper = is_within(costs[row], bounds) & ~tied;
        left -= (size_t)_mm_popcnt_u32(first);
        sets = write_row(candidates, row, cheaper | first, costs[row], &sorted, sets);
    }
    *limit = (int32_t)bound;
    return candidates->wanted + 1;
}

/* Choose the first sets among the candidates; return 0 if one of them may cost 255 or more. */
static size_t choose_first(const struct search_flips *flips,
                           const struct search_candidates *candidates, const uint8_t *levels,
                           const uint8_t *order, unsigned width, uint64_t *sets, int32_t *limit)
{
    /* The number of rows is a constant, so the compiler unrolls the loops over them. */
    if (candidates->others <= ROW)
        return choose_in_rows(flips, candidates, 2, levels, order, width, sets, limit);
    return choose_in_rows(flips, candidates, ROWS_MAX, levels, order, width, sets, limit);
}

#else

/* Return the cost of a candidate, and write its bits. */
static unsigned price(const struct search_candidates *candidates, const struct ranking *ranking,
                      unsigned number, unsigned width, uint32_t *bits)
{
    unsigned cost = 0;

    *bits = 0;
    for (unsigned i = 0; i < CANDIDATE_SIZE_MAX; i++) {
        unsigned rank = number;
        if (number >= CANDIDATE_SINGLES)
            rank = candidates->ranks[i][number - CANDIDATE_SINGLES];
        else if (i > 0)
            break;
        if (rank == CANDIDATE_NO_RANK)
            break;
        if (rank >= ranking->count)
            return SEARCH_NEVER;
        cost += ranking->cost[ranking->places[rank]];
        *bits |= (uint32_t)1 << (width - 1 - ranking->places[rank]);
    }
    return cost < SEARCH_NEVER ? cost : SEARCH_NEVER;
}

static size_t choose_first(const struct search_flips *flips,
                           const struct search_candidates *candidates, const uint8_t *levels,
                           const uint8_t *order, unsigned width, uint64_t *sets, int32_t *limit)
{
    unsigned all = CANDIDATE_SINGLES + (unsigned)candidates->others, bound = 0;
    uint32_t bits[CANDIDATE_SINGLES + CANDIDATE_OTHERS];
    uint8_t costs[CANDIDATE_SINGLES + CANDIDATE_OTHERS];
    size_t counts[SEARCH_NEVER + 1] = {0}, count = 1, left = candidates->wanted;
    struct ranking ranking;

    rank_places(flips, levels, order, width, &ranking);
    for (unsigned i = 0; i < all; i++) {
        costs[i] = (uint8_t)price(candidates, &ranking, i, width, &bits[i]);
        counts[costs[i]]++;
    }
    for (; counts[bound] < left && bound < SEARCH_NEVER; bound++)
        left -= counts[bound];
    if (bound == SEARCH_NEVER)
        return 0;
    sets[0] = 0;
    /* Among candidates that cost exactly the bound, the first are chosen. */
    for (unsigned i = 0; i < all; i++) {
        int is_chosen = costs[i] < bound || (costs[i] == bound && left > 0);
        left -= (size_t)(costs[i] == bound && left > 0);
        sets[count] = (uint64_t)costs[i] << UNSIZED | bits[i];
        count += (size_t)is_chosen;
    }
    *limit = (int32_t)bound;
    return count;
}

#endif

static size_t flip_first(const struct search_flips *flips,
                         const struct search_candidates *candidates, const uint8_t *levels,
                         const uint8_t *order, unsigned width, uint64_t *sets, int32_t *limit)
{
    size_t found = 0;

    if (candidates->wanted > 0)
        found = choose_first(flips, candidates, levels, order, width, sets, limit);
    if (found > 0)
        return found;
    return enumerate_first(flips, levels, order, width, candidates->distance, sets, limit);
}

#endif
