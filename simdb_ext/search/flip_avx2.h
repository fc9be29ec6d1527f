/* `flip`, four sets at a time.  Which bits are cheap enough cannot be predicted: all costs are
   looked up and compared first, and only the cheap bits are met one by one. */
#ifndef SIMDB_SEARCH_FLIP_AVX2_H
#define SIMDB_SEARCH_FLIP_AVX2_H

#include "cpu.h"
#include "flip_scalar.h"

enum { FEW_AVX2 = 8 }; /* sets; as many or more are joined four at a time */

/* Return the places of the first `width` bits of a key whose cost is at most `dearest`. */
CPU_AVX2 static inline uint64_t cheap_places_avx2(const uint8_t *cost, unsigned width,
                                                  uint8_t dearest)
{
    const __m256i bound = _mm256_set1_epi8((char)dearest);
    uint64_t places = 0;

    for (unsigned i = 0; i < width; i += 32) {
        __m256i costs = _mm256_loadu_si256((const __m256i *)(cost + i));
        __m256i cheap = _mm256_cmpeq_epi8(_mm256_min_epu8(costs, bound), costs);
        places |= (uint64_t)(uint32_t)_mm256_movemask_epi8(cheap) << i;
    }
    return _bzhi_u64(places, width);
}

/* The numbers of the two halves of each lane in which a mask of four lanes has a bit, followed by
   others. */
static const uint8_t halves_of_lanes_avx2[16][8] = {
    {0, 1, 2, 3, 4, 5, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7}, {2, 3, 0, 1, 4, 5, 6, 7},
    {0, 1, 2, 3, 4, 5, 6, 7}, {4, 5, 0, 1, 2, 3, 6, 7}, {0, 1, 4, 5, 2, 3, 6, 7},
    {2, 3, 4, 5, 0, 1, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7}, {6, 7, 0, 1, 2, 3, 4, 5},
    {0, 1, 6, 7, 2, 3, 4, 5}, {2, 3, 6, 7, 0, 1, 4, 5}, {0, 1, 2, 3, 6, 7, 4, 5},
    {4, 5, 6, 7, 0, 1, 2, 3}, {0, 1, 4, 5, 6, 7, 2, 3}, {2, 3, 4, 5, 6, 7, 0, 1},
    {0, 1, 2, 3, 4, 5, 6, 7},
};

/* Add a bit to all of `count` sets that can afford it; return the new number of sets.  Up to four
   words after the last set are written, too. */
CPU_AVX2 static size_t join_avx2(uint64_t *sets, size_t count, uint64_t bit, int32_t theta)
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
        __m128i halves = _mm_loadl_epi64((const __m128i *)halves_of_lanes_avx2[affordable]);
        sums = _mm256_permutevar8x32_epi32(sums, _mm256_cvtepu8_epi32(halves));
        _mm256_storeu_si256((__m256i *)(sets + joined), sums);
        joined += (unsigned)__builtin_popcount(affordable);
    }
    return joined;
}

CPU_AVX2 static size_t flip_avx2(const struct search_flips *flips, const uint8_t *levels,
                                 const uint8_t *order, unsigned width, uint64_t *sets,
                                 int32_t *limit)
{
    int32_t theta = flips->theta, dearest = theta < SEARCH_NEVER ? theta : SEARCH_NEVER - 1;
    _Alignas(32) uint8_t cost[64];
    size_t count = 1;

    for (unsigned place = 0; place < width; place++)
        cost[place] = flips->costs[levels[order[place]]];
    sets[0] = 0;
    for (uint64_t places = cheap_places_avx2(cost, width, (uint8_t)dearest); places != 0;
         places &= places - 1) {
        unsigned place = (unsigned)__builtin_ctzll(places);
        if (cost[place] > theta)
            continue;
        uint64_t bit = (uint64_t)cost[place] << 32 | (uint64_t)1 << (width - 1 - place);
        /* Few sets would wait for their stores before they could be loaded together. */
        if (count < FEW_AVX2)
            count = join_scalar(sets, count, bit, theta);
        else
            count = join_avx2(sets, count, bit, theta);
        if (count > flips->cap)
            count = lower_theta(sets, count, flips->cap, &theta);
    }
    *limit = theta;
    return count;
}

#endif
