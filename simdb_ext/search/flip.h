/* `flip`: sets of header bits that are cheap to flip.

    Sets grow bit by bit: each bit is added to every earlier set that can afford it. So no set is
   made in vain, none is made twice, and nothing needs sorting. Which bits are cheap enough cannot
   be predicted: with vectors all costs are looked up and compared first, and only the cheap bits
   are met one by one. */
#ifndef SIMDB_SEARCH_FLIP_H
#define SIMDB_SEARCH_FLIP_H

#include "kernel.h"
#include "vector.h"

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

/* More than `cap` sets cost at most `theta`.  Lower `theta` until at most `cap` sets do, drop the
   others, and return how many are left.  Further bits only add sets, so theta never needs to rise
   again. */
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

/* Add a bit, given as a set, to all sets that can afford it; return the new number of sets. */
static size_t join_few(uint64_t *sets, size_t count, uint64_t bit, int32_t theta)
{
    uint64_t bound = set_bound(theta);
    size_t joined = count;

    for (size_t i = 0; i < count; i++) {
        sets[joined] = sets[i] + bit;
        joined += sets[i] + bit <= bound;
    }
    return joined;
}

#if VECTORS == VECTORS_AVX512

/* Write what it costs to flip each of the first 32 bits of a key, or of more; return the places of
   those whose cost is at most `dearest`. */
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
   vector of words after the last set is written, too. */
static size_t join(uint64_t *sets, size_t count, uint64_t bit, int32_t theta)
{
    const __m512i bound = _mm512_set1_epi64((long long)set_bound(theta));
    const __m512i added = _mm512_set1_epi64((long long)bit);
    size_t joined = count;

    for (size_t i = 0; i < count; i += 8) {
        __mmask8 lanes = (__mmask8)(count - i < 8 ? (1u << (count - i)) - 1 : 255);
        __m512i sums = _mm512_add_epi64(_mm512_loadu_si512(sets + i), added);
        __mmask8 affordable = _mm512_mask_cmple_epu64_mask(lanes, sums, bound);
        _mm512_storeu_si512(sets + joined, _mm512_maskz_compress_epi64(affordable, sums));
        joined += (unsigned)__builtin_popcount(affordable);
    }
    return joined;
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

/* The numbers of the two halves of each lane in which a mask of four lanes has a bit, followed by
   others. */
static const uint8_t halves_of_lanes[16][8] = {
    {0, 1, 2, 3, 4, 5, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7}, {2, 3, 0, 1, 4, 5, 6, 7},
    {0, 1, 2, 3, 4, 5, 6, 7}, {4, 5, 0, 1, 2, 3, 6, 7}, {0, 1, 4, 5, 2, 3, 6, 7},
    {2, 3, 4, 5, 0, 1, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7}, {6, 7, 0, 1, 2, 3, 4, 5},
    {0, 1, 6, 7, 2, 3, 4, 5}, {2, 3, 6, 7, 0, 1, 4, 5}, {0, 1, 2, 3, 6, 7, 4, 5},
    {4, 5, 6, 7, 0, 1, 2, 3}, {0, 1, 4, 5, 6, 7, 2, 3}, {2, 3, 4, 5, 6, 7, 0, 1},
    {0, 1, 2, 3, 4, 5, 6, 7},
};

static size_t join(uint64_t *sets, size_t count, uint64_t bit, int32_t theta)
{
    const __m256i bound = _mm256_set1_epi64x((long long)set_bound(theta));
    const __m256i added = _mm256_set1_epi64x((long long)bit);
    size_t joined = count;

    for (size_t i = 0; i < count; i += 4) {
        __m256i sums = _mm256_add_epi64(_mm256_loadu_si256((const __m256i *)(sets + i)), added);
        __m256i dear = _mm256_cmpgt_epi64(sums, bound);
        unsigned affordable = ~(unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(dear)) & 15;
        if (count - i < 4)
            affordable &= (1u << (count - i)) - 1;
        __m128i halves = _mm_loadl_epi64((const __m128i *)halves_of_lanes[affordable]);
        sums = _mm256_permutevar8x32_epi32(sums, _mm256_cvtepu8_epi32(halves));
        _mm256_storeu_si256((__m256i *)(sets + joined), sums);
        joined += (unsigned)__builtin_popcount(affordable);
    }
    return joined;
}

#endif

#if VECTORS_X86

enum { FEW = 4 }; /* sets; as many or more are joined several at a time */

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
        uint64_t bit = (uint64_t)cost[place] << 32 | (uint64_t)1 << (width - 1 - place);
        /* Few sets would wait for their stores before they could be loaded together. */
        if (count < FEW)
            count = join_few(sets, count, bit, theta);
        else
            count = join(sets, count, bit, theta);
        if (count > flips->cap)
            count = lower_theta(sets, count, flips->cap, &theta);
    }
    *limit = theta;
    return count;
}

#else

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
        count = join_few(sets, count, cost << 32 | (uint64_t)1 << (width - 1 - place), theta);
        if (count > flips->cap)
            count = lower_theta(sets, count, flips->cap, &theta);
    }
    *limit = theta;
    return count;
}

#endif

#endif
