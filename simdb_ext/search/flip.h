/* `flip`: sets of header bits that are cheap to flip.

   Sets grow bit by bit: each bit is added to every earlier set that can afford it.  So each set is
   made once, none is discarded, and nothing needs sorting.  Which bits are cheap enough cannot be
   predicted.  With vectors, all costs are looked up and compared first, and only the cheap bits
   take a step of the loop. */
#ifndef SIMDB_SEARCH_FLIP_H
#define SIMDB_SEARCH_FLIP_H

#include "kernel.h"
#include "sort_few.h"
#include "vector.h"

/* A growing set is the number cost << 38 | size << 32 | bits.  `flip` needs no sizes and uses cost
   << 32 | bits. */
enum { SIZED = 38, UNSIZED = 32 };

/* Limits on the cost and the size of a set. */
struct allowance {
    uint64_t bound;   /* the largest set, as a number */
    uint64_t largest; /* the largest size and bits; ignored by `flip` */
};

/* Return the largest set, as a number (cost << 32 | bits), that costs at most `theta`; 0 if theta
   is -1. */
static inline uint64_t set_bound(int32_t theta)
{
    return ((uint64_t)(theta + 1) << 32) - (theta >= 0);
}

static inline size_t count_affordable(const uint64_t *sets, size_t count, int32_t theta)
{
    uint64_t bound = set_bound(theta);
    size_t affordable = 0;

    for (size_t i = 0; i < count; i++)
        affordable += sets[i] <= bound;
    return affordable;
}

/* More than `cap` sets cost at most `theta`: lower `theta` until at most `cap` sets do, and drop
   all dearer sets.  Return the number of sets left.  Further bits only add sets, so theta never
   needs to rise again. */
static size_t lower_theta(uint64_t *sets, size_t count, size_t cap, int32_t *theta)
{
    int32_t fitting = -1, crowded = *theta;
    size_t kept = 1;

    while (crowded - fitting > 1) {
        int32_t middle = fitting + (crowded - fitting) / 2;
        if (count_affordable(sets, count, middle) <= cap)
            fitting = middle;
        else
            crowded = middle;
    }
    *theta = fitting;
    for (size_t i = 1; i < count; i++) {
        sets[kept] = sets[i];
        kept += sets[i] <= set_bound(fitting);
    }
    return kept;
}

#define SIZES_AND_BITS (((uint64_t)1 << SIZED) - 1)

/* Add a bit, given as a set, to all sets that can afford it; return the new number of sets.
   `is_sized`, a constant, says whether the size of sets is limited, too. */
VECTOR_INLINE size_t join_few(uint64_t *sets, size_t count, uint64_t bit, struct allowance allowed,
                              int is_sized)
{
    size_t joined = count;

    for (size_t i = 0; i < count; i++) {
        uint64_t sum = sets[i] + bit;
        int is_small = !is_sized || (sum & SIZES_AND_BITS) <= allowed.largest;
        sets[joined] = sum;
        joined += (sum <= allowed.bound) & is_small;
    }
    return joined;
}

#if VECTORS == VECTORS_AVX512

/* Write the cost of flipping each of the first bits of a key, at least 32; return a mask of the
   places whose cost is at most `dearest`. */
static inline uint64_t cheap_places(const uint8_t *costs, const uint8_t *levels,
                                    const uint8_t *order, uint8_t dearest, uint8_t *cost)
{
    __m512i level = _mm512_permutexvar_epi8(_mm512_loadu_si512(order), _mm512_loadu_si512(levels));
    __m512i low = _mm512_permutex2var_epi8(_mm512_loadu_si512(costs), level,
                                           _mm512_loadu_si512(costs + 64));
    __m512i high = _mm512_permutex2var_epi8(_mm512_loadu_si512(costs + 128), level,
                                             _mm512_loadu_si512(costs + 192));
    __m512i found = _mm512_mask_blend_epi8(_mm512_movepi8_mask(level), low, high);

    _mm512_storeu_si512(cost, found);
    return _mm512_cmple_epu8_mask(found, _mm512_set1_epi8((char)dearest));
}

/* Add a bit to all of `count` sets that can afford it; return the new number of sets.  Up to a
   vector of words after the last set is overwritten. */
VECTOR_INLINE size_t join(uint64_t *sets, size_t count, uint64_t bit, struct allowance allowed,
                          int is_sized)
{
    const __m512i bound = _mm512_set1_epi64((long long)allowed.bound);
    const __m512i largest = _mm512_set1_epi64((long long)allowed.largest);
    const __m512i added = _mm512_set1_epi64((long long)bit);
    size_t joined = count;

    for (size_t i = 0; i < count; i += 8) {
        __mmask8 lanes = (__mmask8)(count - i < 8 ? (1u << (count - i)) - 1 : 255);
        __m512i sums = _mm512_add_epi64(_mm512_loadu_si512(sets + i), added);
        __mmask8 affordable = _mm512_mask_cmple_epu64_mask(lanes, sums, bound);
        if (is_sized) {
            __m512i sizes = _mm512_and_si512(sums, _mm512_set1_epi64(SIZES_AND_BITS));
            affordable = _mm512_mask_cmple_epu64_mask(affordable, sizes, largest);
        }
        _mm512_storeu_si512(sets + joined, _mm512_maskz_compress_epi64(affordable, sums));
        joined += (unsigned)__builtin_popcount(affordable);
    }
    return joined;
}

/* Copy the sets from `low` to `high`; return their number.  Up to a vector of words after the last
   copy is overwritten; `copies` may begin where the sets begin. */
static size_t copy_between(const uint64_t *sets, size_t count, int64_t low, int64_t high,
                           uint64_t *copies)
{
    const __m512i least = _mm512_set1_epi64(low), most = _mm512_set1_epi64(high);
    size_t copied = 0;

    for (size_t i = 0; i < count; i += 8) {
        __mmask8 lanes = (__mmask8)(count - i < 8 ? (1u << (count - i)) - 1 : 255);
        __m512i some = _mm512_loadu_si512(sets + i);
        lanes = _mm512_mask_cmpge_epi64_mask(lanes, some, least);
        lanes = _mm512_mask_cmple_epi64_mask(lanes, some, most);
        _mm512_storeu_si512(copies + copied, _mm512_maskz_compress_epi64(lanes, some));
        copied += (unsigned)__builtin_popcount(lanes);
    }
    return copied;
}

#elif VECTORS == VECTORS_AVX2

static inline uint64_t cheap_places(const uint8_t *costs, const uint8_t *levels,
                                    const uint8_t *order, uint8_t dearest, uint8_t *cost)
{
    const __m256i bound = _mm256_set1_epi8((char)dearest);

    for (unsigned place = 0; place < 32; place++)
        cost[place] = costs[levels[order[place]]];
    __m256i found = _mm256_loadu_si256((const __m256i *)cost);
    return (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(found, bound), found));
}

/* For each mask of four lanes: the numbers of both halves of each lane in it, then of the rest. */
static const uint8_t halves_of_lanes[16][8] = {
    {0, 1, 2, 3, 4, 5, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7}, {2, 3, 0, 1, 4, 5, 6, 7},
    {0, 1, 2, 3, 4, 5, 6, 7}, {4, 5, 0, 1, 2, 3, 6, 7}, {0, 1, 4, 5, 2, 3, 6, 7},
    {2, 3, 4, 5, 0, 1, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7}, {6, 7, 0, 1, 2, 3, 4, 5},
    {0, 1, 6, 7, 2, 3, 4, 5}, {2, 3, 6, 7, 0, 1, 4, 5}, {0, 1, 2, 3, 6, 7, 4, 5},
    {4, 5, 6, 7, 0, 1, 2, 3}, {0, 1, 4, 5, 6, 7, 2, 3}, {2, 3, 4, 5, 6, 7, 0, 1},
    {0, 1, 2, 3, 4, 5, 6, 7},
};

/* Move the lanes in a mask to the front. */
VECTOR_INLINE __m256i lanes_first(__m256i words, unsigned lanes)
{
    __m128i halves = _mm_loadl_epi64((const __m128i *)halves_of_lanes[lanes]);

    return _mm256_permutevar8x32_epi32(words, _mm256_cvtepu8_epi32(halves));
}

VECTOR_INLINE size_t join(uint64_t *sets, size_t count, uint64_t bit, struct allowance allowed,
                          int is_sized)
{
    const __m256i bound = _mm256_set1_epi64x((long long)allowed.bound);
    const __m256i largest = _mm256_set1_epi64x((long long)allowed.largest);
    const __m256i added = _mm256_set1_epi64x((long long)bit);
    size_t joined = count;

    for (size_t i = 0; i < count; i += 4) {
        __m256i sums = _mm256_add_epi64(_mm256_loadu_si256((const __m256i *)(sets + i)), added);
        __m256i dear = _mm256_cmpgt_epi64(sums, bound);
        if (is_sized) {
            __m256i sizes = _mm256_and_si256(sums, _mm256_set1_epi64x(SIZES_AND_BITS));
            dear = _mm256_or_si256(dear, _mm256_cmpgt_epi64(sizes, largest));
        }
        unsigned affordable = ~(unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(dear)) & 15;
        if (count - i < 4)
            affordable &= (1u << (count - i)) - 1;
        _mm256_storeu_si256((__m256i *)(sets + joined), lanes_first(sums, affordable));
        joined += (unsigned)__builtin_popcount(affordable);
    }
    return joined;
}

static size_t copy_between(const uint64_t *sets, size_t count, int64_t low, int64_t high,
                           uint64_t *copies)
{
    const __m256i least = _mm256_set1_epi64x(low), most = _mm256_set1_epi64x(high);
    size_t copied = 0;

    for (size_t i = 0; i < count; i += 4) {
        __m256i some = _mm256_loadu_si256((const __m256i *)(sets + i));
        __m256i outside = _mm256_or_si256(_mm256_cmpgt_epi64(least, some),
                                          _mm256_cmpgt_epi64(some, most));
        unsigned lanes = ~(unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(outside)) & 15;
        if (count - i < 4)
            lanes &= (1u << (count - i)) - 1;
        _mm256_storeu_si256((__m256i *)(copies + copied), lanes_first(some, lanes));
        copied += (unsigned)__builtin_popcount(lanes);
    }
    return copied;
}

#endif

#if VECTORS_X86

enum { FEW = 4 }; /* this number of sets or more are joined several at a time */

/* If there are few sets, loading several together would wait for the stores before. */
VECTOR_INLINE size_t join_some(uint64_t *sets, size_t count, uint64_t bit,
                               struct allowance allowed, int is_sized)
{
    return count < FEW ? join_few(sets, count, bit, allowed, is_sized)
                       : join(sets, count, bit, allowed, is_sized);
}

static size_t flip(const struct search_flips *flips, const uint8_t *levels,
                   const uint8_t *order, unsigned width, uint64_t *sets, int32_t *limit)
{
    int32_t theta = flips->theta, dearest = theta < SEARCH_NEVER ? theta : SEARCH_NEVER - 1;
    _Alignas(64) uint8_t cost[64];
    size_t count = 1;
    uint64_t places = cheap_places(flips->costs, levels, order, (uint8_t)dearest, cost);

    sets[0] = 0;
    for (places = _bzhi_u64(places, width); places != 0; places &= places - 1) {
        unsigned place = (unsigned)__builtin_ctzll(places);
        if (cost[place] > theta)
            continue;
        uint64_t bit = (uint64_t)cost[place] << UNSIZED | (uint64_t)1 << (width - 1 - place);
        count = join_some(sets, count, bit, (struct allowance){set_bound(theta), 0}, 0);
        if (count > flips->cap)
            count = lower_theta(sets, count, flips->cap, &theta);
    }
    *limit = theta;
    return count;
}

#else

#define join_some join_few

static size_t copy_between(const uint64_t *sets, size_t count, int64_t low, int64_t high,
                           uint64_t *copies)
{
    size_t copied = 0;

    for (size_t i = 0; i < count; i++) {
        int64_t set = (int64_t)sets[i];
        copies[copied] = sets[i];
        copied += (set >= low) & (set <= high);
    }
    return copied;
}

/* Write the cost of flipping each of the first 32 bits of a key. */
static uint64_t cheap_places(const uint8_t *costs, const uint8_t *levels, const uint8_t *order,
                             uint8_t dearest, uint8_t *cost)
{
    uint64_t places = 0;

    for (unsigned place = 0; place < 32; place++) {
        cost[place] = costs[levels[order[place]]];
        places |= (uint64_t)(cost[place] <= dearest) << place;
    }
    return places;
}

static size_t flip(const struct search_flips *flips, const uint8_t *levels,
                   const uint8_t *order, unsigned width, uint64_t *sets, int32_t *limit)
{
    int32_t theta = flips->theta;
    size_t count = 1;

    sets[0] = 0;
    for (unsigned place = 0; place < width; place++) {
        uint64_t cost = flips->costs[levels[order[place]]];
        if (cost == SEARCH_NEVER || (int32_t)cost > theta)
            continue;
        count = join_few(sets, count, cost << UNSIZED | (uint64_t)1 << (width - 1 - place),
                         (struct allowance){set_bound(theta), 0}, 0);
        if (count > flips->cap)
            count = lower_theta(sets, count, flips->cap, &theta);
    }
    *limit = theta;
    return count;
}

#endif

enum {
    PLACES = 32,      /* bits of a header, at most */
    TIES_SORTED = 16, /* sets of one cost; more are selected by bisection */
    TRIALS = 16,      /* costs that are tried as the first bound */
    TRIED = 8,        /* cheapest bits whose pairs a trial counts */
    TRIED_THREE = 5   /* cheapest bits whose sets of three a trial counts */
};

/* Numbers that are compared and counted together: one register. */
enum { LANES = VECTORS_X86 ? 16 : 8 };
typedef int16_t numbers __attribute__((vector_size(2 * LANES)));

/* The bits of a header that may be flipped, the cheapest first; of equal costs, the bit nearer to
   the front. */
struct ranking {
    uint8_t places[PLACES]; /* of each rank */
    uint8_t ranks[PLACES];  /* of each place */
    uint8_t cost[64];       /* of each place */
    unsigned count;
};

static void rank_places(const struct search_flips *flips, const uint8_t *levels,
                        const uint8_t *order, unsigned width, struct ranking *ranking)
{
    int16_t keys[PLACES];
    numbers all[PLACES / LANES], ranks[PLACES / LANES] = {{0}};
    uint64_t usable = cheap_places(flips->costs, levels, order, SEARCH_NEVER - 1, ranking->cost);

    for (unsigned place = 0; place < PLACES; place++)
        keys[place] = (int16_t)(ranking->cost[place] << 5 | place);
    /* The rank of a place is the number of smaller keys; comparing all of them needs no branch. */
    memcpy(all, keys, sizeof all);
    for (unsigned other = 0; other < width; other++)
        for (unsigned i = 0; i < PLACES / LANES; i++)
            ranks[i] -= keys[other] < all[i];
    for (unsigned place = 0; place < width; place++) {
        int16_t rank = ranks[place / LANES][place % LANES];
        ranking->ranks[place] = (uint8_t)rank;
        ranking->places[rank] = (uint8_t)place;
    }
    ranking->count = (unsigned)__builtin_popcountll(usable & (((uint64_t)1 << width) - 1));
}

/* Return the number of sets that are at most `bound`. */
static inline size_t count_up_to(const uint64_t *sets, size_t count, int64_t bound)
{
    size_t found = 0;

    for (size_t i = 0; i < count; i++)
        found += (int64_t)sets[i] < bound + 1;
    return found;
}

/* Return, as a number, the largest set that costs at most `theta`. */
static inline int64_t sized_bound(int64_t theta)
{
    return ((theta + 1) << SIZED) - 1;
}

/* Return the smallest bound above `low` and up to `high` within which there are at least `wanted`
   sets.  There are enough sets within `high`, and too few within `low`.  A bound ends with `shift`
   set bits. */
static int64_t bisect(const uint64_t *sets, size_t count, size_t wanted, int64_t low, int64_t high,
                      unsigned shift)
{
    low = (low + 1) >> shift;
    high = (high + 1) >> shift;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        size_t found = count_up_to(sets, count, (middle << shift) - 1);
        /* A branch on the half could not be predicted. */
        low = found >= wanted ? low : middle;
        high = found >= wanted ? middle : high;
    }
    return (high << shift) - 1;
}

/* Replace the bits of a set by its ranks: the lowest rank is the highest bit, and bits are
   inverted.  Then sets of one size sort in the order of VOSH. */
static uint64_t to_ranks(uint64_t set, const struct ranking *ranking, unsigned width)
{
    uint32_t ranks = ~(uint32_t)0;

    for (uint32_t bits = (uint32_t)set; bits != 0; bits &= bits - 1)
        ranks &= ~((uint32_t)1 << (31 - ranking->ranks[width - 1 - (unsigned)__builtin_ctz(bits)]));
    return set >> 32 << 32 | ranks;
}

static uint64_t to_bits(uint64_t set, const struct ranking *ranking, unsigned width)
{
    uint64_t bits = 0;

    for (uint32_t ranks = ~(uint32_t)set; ranks != 0; ranks &= ranks - 1)
        bits |= (uint64_t)1 << (width - 1 - ranking->places[31 - __builtin_ctz(ranks)]);
    return set >> 32 << 32 | bits;
}

/* Move the first `wanted` of the sets of equal cost, in the order of VOSH, to the front. */
static void first_ties(uint64_t *ties, size_t count, size_t wanted, const struct ranking *ranking,
                       unsigned width)
{
    for (size_t i = 0; i < count; i++)
        ties[i] = to_ranks(ties[i], ranking, width);
    if (count > TIES_SORTED) {
        int64_t cost = (int64_t)(ties[0] >> SIZED), low = sized_bound(cost - 1);
        copy_between(ties, count, low, bisect(ties, count, wanted, low, sized_bound(cost), 0),
                     ties);
    } else {
        search_sort_few(ties, count);
    }
    for (size_t i = 0; i < wanted; i++)
        ties[i] = to_bits(ties[i], ranking, width);
}

/* Keep the first `cap` sets in the order of VOSH, and return a bound within which they all are.
   More than `cap` sets are within `high`, fewer within `low`.  The empty set remains the first. */
static int64_t keep_first(uint64_t *sets, size_t count, size_t cap, int64_t low, int64_t high,
                          const struct ranking *ranking, unsigned width)
{
    int64_t bound = bisect(sets, count, cap, low, high, SIZED);
    int64_t below = bound - ((int64_t)1 << SIZED);
    uint64_t *ties = sets + count + SEARCH_SETS_OVER; /* the cheaper sets are written up to there */
    size_t tied = copy_between(sets, count, below + 1, bound, ties);
    size_t cheaper = copy_between(sets, count, 0, below, sets);

    if (cheaper + tied > cap)
        first_ties(ties, tied, cap - cheaper, ranking, width);
    memmove(sets + cheaper, ties, (cap - cheaper) * sizeof *sets);
    return bound;
}

/* Return a bound little above the smallest within which there are at least `cap` sets; all sets are
   within `bound`.  Set `low` to a bound within which there are fewer. */
static int64_t lower_bound(const uint64_t *sets, size_t count, size_t cap, int64_t bound,
                           int64_t *low)
{
    for (;;) {
        int64_t theta = bound >> SIZED, lower = sized_bound(theta - theta / 4 - 1);
        if (count_up_to(sets, count, lower) < cap) {
            *low = lower;
            return bound;
        }
        bound = lower;
    }
}

VECTOR_INLINE void count_trials(int16_t cost, const numbers *trials, numbers *counts)
{
    for (int i = 0; i < TRIALS / LANES; i++)
        counts[i] -= cost <= trials[i];
}

/* Return a cost, not much above the least, within which there are at least `cap` sets.  Return -1
   if the few bits that are tried do not show one.  Trials are counted at once, without a branch. */
static int32_t first_theta(const struct ranking *ranking, size_t cap, unsigned distance)
{
    numbers trials[TRIALS / LANES], counts[TRIALS / LANES] = {{0}};
    int16_t costs[TRIED];
    size_t chosen = 0;

    if (ranking->count < TRIED || distance < 3)
        return -1;
    for (int i = 0; i < TRIED; i++)
        costs[i] = ranking->cost[ranking->places[i]];
    int16_t step = (int16_t)(costs[TRIED - 1] / (TRIALS / 2) + 1);
    for (int i = 0; i < TRIALS; i++)
        trials[i / LANES][i % LANES] = (int16_t)(step * (i + 1));
    for (int i = 0; i < TRIED; i++) {
        count_trials(costs[i], trials, counts);
        for (int j = 0; j < i; j++) {
            int16_t pair = (int16_t)(costs[i] + costs[j]);
            count_trials(pair, trials, counts);
            for (int k = 0; k < j && i < TRIED_THREE; k++)
                count_trials((int16_t)(pair + costs[k]), trials, counts);
        }
    }
    for (int i = 0; i < TRIALS; i++)
        chosen += (size_t)counts[i / LANES][i % LANES] + 1 < cap;
    return chosen < TRIALS ? step * ((int32_t)chosen + 1) : -1;
}

/* Enumerate the first `cap` sets, for any `cap`.

   If a first bound on their cost is known, sets grow by the dearest bits first, and so remain few.
   Otherwise they grow by the cheapest bits first.  Once there are `cap` sets, any set dearer than
   all of them is dropped: more bits only add sets. */
static size_t enumerate_first(const struct search_flips *flips, const uint8_t *levels,
                              const uint8_t *order, unsigned width, unsigned distance,
                              uint64_t *sets, int32_t *limit)
{
    struct ranking ranking;
    struct allowance allowed = {(uint64_t)sized_bound(SEARCH_THETA_MAX),
                                ((uint64_t)distance << 32) | UINT32_MAX};
    size_t count = 1, cap = flips->cap;
    int64_t bound = (int64_t)allowed.bound, low = -1;

    sets[0] = 0;
    rank_places(flips, levels, order, width, &ranking);
    int32_t theta = first_theta(&ranking, cap, distance);
    if (theta >= 0)
        allowed.bound = (uint64_t)(bound = sized_bound(theta));
    for (unsigned i = 0; i < ranking.count; i++) {
        unsigned place = ranking.places[theta < 0 ? i : ranking.count - 1 - i];
        uint64_t cost = ranking.cost[place];
        uint64_t bit = cost << SIZED | (uint64_t)1 << 32 | (uint64_t)1 << (width - 1 - place);
        if ((int64_t)bit > bound)
            continue;
        count = join_some(sets, count, bit, allowed, 1);
        if (count > 2 * cap + SEARCH_SETS_MORE) {
            bound = keep_first(sets, count, cap, -1, bound, &ranking, width);
            count = cap;
        }
        if (count >= cap && theta < 0)
            bound = lower_bound(sets, count, cap, bound, &low);
        allowed.bound = (uint64_t)bound;
    }
    if (count > cap) {
        bound = keep_first(sets, count, cap, low, bound, &ranking, width);
        count = cap;
    }
    *limit = (int32_t)(bound >> SIZED);
    for (size_t i = 0; i < count; i++)
        sets[i] = sets[i] >> SIZED << UNSIZED | (uint32_t)sets[i];
    return count;
}

#endif
