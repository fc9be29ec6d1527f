/* Comparing ranges of keys, four keys at a time; bits are counted with a table of half bytes. */
#ifndef SIMDB_SEARCH_MEASURE_AVX2_H
#define SIMDB_SEARCH_MEASURE_AVX2_H

#include <immintrin.h>

#include "kernel.h"
#include "measure_scalar.h"

#define AVX2 __attribute__((target("avx2,popcnt")))

/* Return a mask of the 64-bit lanes of `keys` that are within `limit` of `key`. */
AVX2 static inline unsigned near_avx2(__m256i keys, __m256i key, __m256i limit)
{
    const __m256i counts = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
    const __m256i half = _mm256_set1_epi8(15);
    __m256i difference = _mm256_xor_si256(keys, key);
    __m256i low = _mm256_shuffle_epi8(counts, _mm256_and_si256(difference, half));
    __m256i high = _mm256_shuffle_epi8(
        counts, _mm256_and_si256(_mm256_srli_epi16(difference, 4), half));
    __m256i bits = _mm256_sad_epu8(_mm256_add_epi8(low, high), _mm256_setzero_si256());
    __m256i far = _mm256_cmpgt_epi64(bits, limit);

    return (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(far)) ^ 15;
}

/* Append the keys in the lanes of `near`, a mask of the keys from `place` on. */
AVX2 static void add_near_avx2(struct search_hits *hits, const struct search_bucket *bucket,
                               size_t number, const uint64_t *place, unsigned near)
{
    for (; near != 0; near &= near - 1) {
        const uint64_t *found = place + __builtin_ctz(near);
        add_hit(hits, found, number, (unsigned)__builtin_popcountll(*found ^ bucket->key));
    }
}

AVX2 static size_t measure_avx2(struct search_bucket *buckets, size_t count, unsigned distance,
                                struct search_hits *hits)
{
    const __m256i limit = _mm256_set1_epi64x((long long)distance);
    const __m256i lanes = _mm256_setr_epi64x(0, 1, 2, 3);

    for (size_t i = 0; i < count; i++) {
        struct search_bucket *bucket = &buckets[i];
        const __m256i key = _mm256_set1_epi64x((long long)bucket->key);
        for (const uint64_t *place = bucket->start; place < bucket->stop; place += 4) {
            ptrdiff_t left = bucket->stop - place;
            unsigned near;
            if (left >= 4) {
                near = near_avx2(_mm256_loadu_si256((const __m256i *)place), key, limit);
            } else {
                __m256i inside = _mm256_cmpgt_epi64(_mm256_set1_epi64x(left), lanes);
                near = near_avx2(_mm256_maskload_epi64((const long long *)place, inside), key,
                                 limit) & ((1u << left) - 1);
            }
            if (near == 0)
                continue;
            if (hits->capacity - hits->count < 4) {
                bucket->start = place;
                return i;
            }
            add_near_avx2(hits, bucket, i, place, near);
        }
    }
    return count;
}

#undef AVX2

#endif
