/* Comparing ranges of keys, one cache line of eight keys at a time.

   Loads are aligned, and masked at both ends of a range: masked lanes are never read. */
#ifndef SIMDB_SEARCH_MEASURE_AVX512_H
#define SIMDB_SEARCH_MEASURE_AVX512_H

#include "measure.h"

/* Append the keys in the lanes of `near`, a mask of the keys from `place` on. */
static void add_near(struct search_hits *hits, const struct search_bucket *bucket,
                     size_t number, const uint64_t *place, unsigned near)
{
    for (; near != 0; near &= near - 1) {
        const uint64_t *found = place + __builtin_ctz(near);
        add_hit(hits, found, number, (unsigned)__builtin_popcountll(*found ^ bucket->key));
    }
}

static inline __m512i distances(const uint64_t *place, __m512i key)
{
    return _mm512_popcnt_epi64(_mm512_xor_si512(_mm512_load_si512(place), key));
}

/* Skip lines that have no key within `limit`, four lines at a time.  Return the first of four lines
   that may have one, or the first line that three whole lines do not follow. */
static inline const uint64_t *skip_far(const uint64_t *place, const uint64_t *stop,
                                       __m512i key, __m512i limit)
{
    for (; stop - place >= 32; place += 32) {
        __m512i one = _mm512_min_epu64(distances(place, key),
                                       distances(place + 8, key));
        __m512i other = _mm512_min_epu64(distances(place + 16, key),
                                         distances(place + 24, key));
        if (_mm512_cmple_epu64_mask(_mm512_min_epu64(one, other), limit) != 0)
            break;
    }
    return place;
}

/* Return the lanes of `inside` that are within `limit`; both are masks of the keys in `count` lines
   from `place` on.  Most buckets are that short, and how many lines each has cannot be predicted:
   comparing all lines without a branch costs less than a misprediction.  Instead of a line beyond
   the bucket, which has not been fetched, the first line is read again. */
static inline unsigned near_of_lines(const uint64_t *place, unsigned count,
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

static size_t measure(struct search_bucket *buckets, size_t count, unsigned distance,
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
                ? near_of_lines(place, 2, key, limit, (unsigned)inside_four)
                : near_of_lines(place, 4, key, limit, (unsigned)inside_four);
            if (near != 0)
                add_near(hits, bucket, i, place, near);
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
                add_near(hits, bucket, i, place, near);
            }
            place = skip_far(place + 8, stop, key, limit);
            inside = 255;
        }
    }
    return count;
}

/* Return a mask of four keys: whether each may have a key within `limit` in the lines from `place`
   to `last`.  Lanes outside the range count as keys of zeros. */
static inline unsigned near_four(const uint64_t *place, const uint64_t *last,
                                 __mmask8 head, __mmask8 tail,
                                 const __m512i keys[4], __m512i limit)
{
    __m512i first = _mm512_maskz_load_epi64(head, place), end = _mm512_maskz_load_epi64(tail, last);
    __m512i least[4];
    unsigned near = 0;

    for (int i = 0; i < 4; i++)
        least[i] = _mm512_min_epu64(_mm512_popcnt_epi64(_mm512_xor_si512(first, keys[i])),
                                    _mm512_popcnt_epi64(_mm512_xor_si512(end, keys[i])));
    for (place += 8; place < last; place += 8) {
        __m512i line = _mm512_load_si512(place);
        for (int i = 0; i < 4; i++)
            least[i] = _mm512_min_epu64(least[i],
                                        _mm512_popcnt_epi64(_mm512_xor_si512(line, keys[i])));
    }
    for (int i = 0; i < 4; i++)
        near |= (unsigned)(_mm512_cmple_epu64_mask(least[i], limit) != 0) << i;
    return near;
}

/* Append the keys of a bucket that are within `limit`.  Return 1, or 0 if they did not all have
   room; then the start of the bucket has moved to the first without room.  Eight lines are compared
   before the near keys among them, which cannot be predicted, are appended. */
static int add_all_near(struct search_hits *hits, struct search_bucket *bucket,
                        size_t number, __m512i limit)
{
    const __m512i key = _mm512_set1_epi64((long long)bucket->key);
    const uint64_t *place = (const uint64_t *)((uintptr_t)bucket->start & ~(uintptr_t)63);

    for (; place < bucket->stop; place += 64) {
        size_t left = (size_t)(bucket->stop - place);
        uint64_t near = 0, inside = left < 64 ? ((uint64_t)1 << left) - 1 : ~(uint64_t)0;
        if (place < bucket->start)
            inside &= ~(uint64_t)0 << (bucket->start - place);
        for (size_t line = 0; line < 8 && 8 * line < left; line++) {
            __mmask8 lanes = (__mmask8)(inside >> 8 * line);
            __m512i keys = _mm512_maskz_load_epi64(lanes, place + 8 * line);
            __m512i bits = _mm512_popcnt_epi64(_mm512_xor_si512(keys, key));
            near |= (uint64_t)_mm512_mask_cmple_epu64_mask(lanes, bits, limit) << 8 * line;
        }
        for (; near != 0; near &= near - 1) {
            const uint64_t *found = place + __builtin_ctzll(near);
            if (hits->count == hits->capacity) {
                bucket->start = found;
                return 0;
            }
            add_hit(hits, found, number, (unsigned)__builtin_popcountll(*found ^ bucket->key));
        }
    }
    return 1;
}

/* Four buckets at a time: each line is loaded once for all four, and the end of the range, which
   cannot be predicted, is met once. */
static size_t measure_crowd(struct search_bucket *buckets, size_t count,
                            unsigned distance, struct search_hits *hits)
{
    const __m512i limit = _mm512_set1_epi64((long long)distance);
    const uint64_t *start = buckets[count - 1].start, *stop = buckets->stop;
    const uint64_t *place = (const uint64_t *)((uintptr_t)start & ~(uintptr_t)63);
    const uint64_t *last = (const uint64_t *)((uintptr_t)(stop - 1) & ~(uintptr_t)63);
    __mmask8 tail = (__mmask8)(255u >> (last + 8 - stop));
    __mmask8 head = (__mmask8)(255u << (start - place) & (place == last ? tail : 255u));

    for (size_t i = 0; i < count; i += 4) {
        size_t some = count - i < 4 ? count - i : 4;
        __m512i keys[4];
        for (size_t j = 0; j < 4; j++)
            keys[j] = _mm512_set1_epi64((long long)buckets[j < some ? i + j : i].key);
        unsigned near = near_four(place, last, head, tail, keys, limit) & ((1u << some) - 1);
        for (; near != 0; near &= near - 1) {
            size_t number = i + (unsigned)__builtin_ctz(near);
            if (!add_all_near(hits, &buckets[number], number, limit))
                return number;
        }
    }
    return count;
}

#endif
