/* `flip`, eight sets at a time: costs are looked up in registers, and the first eight sets stay in
   a register. */
#ifndef SIMDB_SEARCH_FLIP_AVX512_H
#define SIMDB_SEARCH_FLIP_AVX512_H

#include "cpu.h"
#include "flip_scalar.h"

/* Return the cost of flipping each bit of a key, the highest bit first. */
CPU_AVX512 static inline __m512i costs_avx512(const uint8_t *costs, const uint8_t *levels,
                                              const uint8_t *order)
{
    __m512i level = _mm512_permutexvar_epi8(_mm512_loadu_si512(order), _mm512_loadu_si512(levels));
    __m512i low = _mm512_permutex2var_epi8(_mm512_loadu_si512(costs), level,
                                           _mm512_loadu_si512(costs + 64));
    __m512i high = _mm512_permutex2var_epi8(_mm512_loadu_si512(costs + 128), level,
                                            _mm512_loadu_si512(costs + 192));

    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(level), low, high);
}

CPU_AVX512 static size_t join_avx512(uint64_t *sets, size_t count, uint64_t bit, int32_t theta)
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

/* Enumerate the sets of the bits at `places` while there are at most eight, and write them to
   `sets`.  On return `places` has the bits that were not added. */
CPU_AVX512 static inline size_t join_in_register(uint64_t *sets, uint64_t *places,
                                                 const uint8_t *cost, unsigned width,
                                                 int32_t theta)
{
    /* A lane without a set holds a cost that no theta allows. */
    const __m512i nothing = _mm512_set1_epi64((long long)1 << 62);
    const __m512i bound = _mm512_set1_epi64((long long)set_bound(theta));
    __m512i own = _mm512_maskz_mov_epi64(0xfe, nothing);
    size_t count = 1, joined = 0;

    for (; *places != 0; *places &= *places - 1, count += joined) {
        unsigned place = (unsigned)__builtin_ctzll(*places);
        uint64_t bit = (uint64_t)cost[place] << 32 | (uint64_t)1 << (width - 1 - place);
        __m512i sums = _mm512_add_epi64(own, _mm512_set1_epi64((long long)bit));
        __mmask8 affordable = _mm512_cmple_epu64_mask(sums, bound);
        joined = (unsigned)__builtin_popcount(affordable);
        if (count + joined > 8)
            break;
        own = _mm512_mask_expand_epi64(own, (__mmask8)(255u << count),
                                       _mm512_mask_compress_epi64(nothing, affordable, sums));
    }
    _mm512_storeu_si512(sets, own);
    return count;
}

CPU_AVX512 static size_t flip_avx512(const struct search_flips *flips, const uint8_t *levels,
                                     const uint8_t *order, unsigned width, uint64_t *sets,
                                     int32_t *limit)
{
    __m512i costs = costs_avx512(flips->costs, levels, order);
    int32_t theta = flips->theta, dearest = theta < SEARCH_NEVER ? theta : SEARCH_NEVER - 1;
    uint64_t places = _mm512_cmple_epu8_mask(costs, _mm512_set1_epi8((char)dearest));
    uint8_t cost[64];
    size_t count = 1;

    places = _bzhi_u64(places, width);
    _mm512_storeu_si512(cost, costs);
    sets[0] = 0;
    if (flips->cap >= 8)
        count = join_in_register(sets, &places, cost, width, theta);
    for (; places != 0; places &= places - 1) {
        unsigned place = (unsigned)__builtin_ctzll(places);
        uint64_t bit = (uint64_t)cost[place] << 32 | (uint64_t)1 << (width - 1 - place);
        if (cost[place] > theta)
            continue;
        count = join_avx512(sets, count, bit, theta);
        if (count > flips->cap)
            count = lower_theta(sets, count, flips->cap, &theta);
    }
    *limit = theta;
    return count;
}

#endif
