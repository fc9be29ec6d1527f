/* Comparing ranges of keys, a cache line of eight at a time.

   Loads are aligned, and masked at both ends of a range: masked lanes are never touched. */
#ifndef SIMDB_SEARCH_MEASURE_AVX512_H
#define SIMDB_SEARCH_MEASURE_AVX512_H

#include <immintrin.h>

#include "kernel.h"
#include "measure_scalar.h"

#define AVX512 __attribute__((target("avx512f,avx512vpopcntdq,popcnt,bmi")))

/* Append the lanes of `near`, a bit for each of the keys at `place`. */
AVX512 static void add_near_avx512(struct search_hits *hits, const struct search_bucket *bucket,
                                   size_t number, const uint64_t *place, unsigned near)
{
    for (; near != 0; near &= near - 1) {
        const uint64_t *found = place + __builtin_ctz(near);
        add_hit(hits, found, number, (unsigned)__builtin_popcountll(*found ^ bucket->key));
    }
}

AVX512 static inline __m512i distances_avx512(const uint64_t *place, __m512i key)
{
    return _mm512_popcnt_epi64(_mm512_xor_si512(_mm512_load_si512(place), key));
}

/* The first of the lines from `place` on that may hold a key within `limit`, looking at four
   together; or the first that is not followed by three whole ones. */
AVX512 static inline const uint64_t *skip_far_avx512(const uint64_t *place, const uint64_t *stop,
                                                     __m512i key, __m512i limit)
{
    for (; stop - place >= 32; place += 32) {
        __m512i one = _mm512_min_epu64(distances_avx512(place, key),
                                       distances_avx512(place + 8, key));
        __m512i other = _mm512_min_epu64(distances_avx512(place + 16, key),
                                         distances_avx512(place + 24, key));
        if (_mm512_cmple_epu64_mask(_mm512_min_epu64(one, other), limit) != 0)
            break;
    }
    return place;
}

/* The lanes of `inside`, a bit for each key from `place` on in `count` lines, that are within
   `limit`.  Most buckets are that short, and how many lines each has cannot be foreseen: looking
   at all of them without a branch costs less than a wrong guess.  Where a line would lie beyond
   the bucket the first is looked at again, since others have not been fetched. */
AVX512 static inline unsigned near_of_lines_avx512(const uint64_t *place, unsigned count,
                                                   __m512i key, __m512i limit, unsigned inside)
{
    unsigned near = 0;

    for (unsigned line = 0; line < count; line++) {
        __mmask8 lanes = (__mmask8)(inside >> 8 * line);
        const uint64_t *start = lanes != 0 ? place + 8 * line : place;
        __m512i keys = _mm512_maskz_load_epi64(lanes, start);
        __m512i bits = _mm512_popcnt_epi64(_mm512_xor_si512(keys, key));
        near |= (unsigned)_mm512_mask_cmple_epu64_mask(lanes, bits, limit) << 8 * line;
    }
    return near;
}

AVX512 static size_t measure_avx512(struct search_bucket *buckets, size_t count, unsigned distance,
                                    struct search_hits *hits)
{
    const __m512i limit = _mm512_set1_epi64((long long)distance);

    for (size_t i = 0; i < count; i++) {
        struct search_bucket *bucket = &buckets[i];
        const __m512i key = _mm512_set1_epi64((long long)bucket->key);
        const uint64_t *stop = bucket->stop;
        const uint64_t *place = (const uint64_t *)((uintptr_t)bucket->start & ~(uintptr_t)63);
        unsigned inside = 255u << (bucket->start - place);
        if (stop - place <= 32 && hits->capacity - hits->count >= 32) {
            uint64_t before = ((uint64_t)1 << (bucket->start - place)) - 1;
            uint64_t inside_four = ((uint64_t)1 << (stop - place)) - 1 - before;
            unsigned near = stop - place <= 16
                ? near_of_lines_avx512(place, 2, key, limit, (unsigned)inside_four)
                : near_of_lines_avx512(place, 4, key, limit, (unsigned)inside_four);
            if (near != 0)
                add_near_avx512(hits, bucket, i, place, near);
            continue;
        }
        while (place < stop) {
            if (stop - place < 8)
                inside &= (1u << (stop - place)) - 1;
            __m512i keys = _mm512_maskz_load_epi64((__mmask8)inside, place);
            __m512i bits = _mm512_popcnt_epi64(_mm512_xor_si512(keys, key));
            unsigned near = _mm512_mask_cmple_epu64_mask((__mmask8)inside, bits, limit);
            if (near != 0) {
                if (hits->capacity - hits->count < 8) {
                    bucket->start = place < bucket->start ? bucket->start : place;
                    return i;
                }
                add_near_avx512(hits, bucket, i, place, near);
            }
            place = skip_far_avx512(place + 8, stop, key, limit);
            inside = 255;
        }
    }
    return count;
}

#undef AVX512

#endif
