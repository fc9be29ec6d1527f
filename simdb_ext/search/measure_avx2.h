/* Comparing ranges of keys, eight keys at a time; bits are counted with a table of half bytes.

   Of keys that must be near, only the lower halves are compared at first: few other keys are near
   in them, and a register holds eight.  How many keys a range has, and so where a loop over them
   would end, cannot be predicted.  So of ranges that are all short, as many keys are compared as
   the longest has, and keys beyond a range are neither read nor counted. */
#ifndef SIMDB_SEARCH_MEASURE_AVX2_H
#define SIMDB_SEARCH_MEASURE_AVX2_H

#include "measure.h"

enum {
    BLOCK = 32,      /* keys that are compared before it is asked whether one is near */
    TOGETHER = 16,   /* short ranges that are compared together */
    HALVED_MAX = 7   /* up to this distance, few halves of random keys are as near */
};

/* Masks of the keys of a block have 4 bits for each lane of a register, one for each group of eight
   keys.  This is the key of each lane within its group. */
static const uint8_t lane_keys[8] = {0, 1, 4, 5, 2, 3, 6, 7};

/* Return the bits of the first `count` keys in such a mask. */
static inline uint32_t inside(size_t count)
{
    static const uint32_t first[8] = {
        0, 0x1, 0x11, 0x10011, 0x110011, 0x110111, 0x111111, 0x1111111,
    };
    unsigned groups = (unsigned)count / 8;

    return 0x11111111 * ((1u << groups) - 1) | first[count % 8] << (groups & 3);
}

/* Return how many bits are set in each byte. */
static inline __m256i count_bits(__m256i words)
{
    const __m256i counts = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
    const __m256i half = _mm256_set1_epi8(15);
    __m256i low = _mm256_shuffle_epi8(counts, _mm256_and_si256(words, half));
    __m256i high = _mm256_shuffle_epi8(counts,
                                       _mm256_and_si256(_mm256_srli_epi16(words, 4), half));

    return _mm256_add_epi8(low, high);
}

/* Return the lower halves of eight words. */
static inline __m256i halves(__m256i one, __m256i other)
{
    return _mm256_castps_si256(_mm256_shuffle_ps(_mm256_castsi256_ps(one),
                                                 _mm256_castsi256_ps(other), 0x88));
}

/* Return the distances of eight keys from `key`, each in 32 bits; or only of their lower halves. */
static inline __m256i distances_of(__m256i one, __m256i other, __m256i key, int is_halved)
{
    const __m256i zero = _mm256_setzero_si256();

    if (is_halved) {
        __m256i bytes = count_bits(halves(_mm256_xor_si256(one, key),
                                              _mm256_xor_si256(other, key)));
        return _mm256_madd_epi16(_mm256_maddubs_epi16(bytes, _mm256_set1_epi8(1)),
                                 _mm256_set1_epi16(1));
    }
    one = _mm256_sad_epu8(count_bits(_mm256_xor_si256(one, key)), zero);
    other = _mm256_sad_epu8(count_bits(_mm256_xor_si256(other, key)), zero);
    return halves(one, other);
}

/* Return a mask of the keys that may be near among the first `count` keys from `start` on, which
   are at most 8 * `groups`, up to a block. */
static inline uint32_t near_of_few(const uint64_t *start, size_t count,
                                   unsigned groups, uint64_t wanted, __m256i limit,
                                   int is_halved)
{
    const __m256i key = _mm256_set1_epi64x((long long)wanted);
    const __m256i left = _mm256_set1_epi64x((long long)count);
    __m256i distances = _mm256_setzero_si256(), keys[2];

    for (unsigned g = 0; g < groups; g++) {
        for (unsigned i = 0; i < 2; i++) {
            unsigned first = 8 * g + 4 * i;
            const __m256i numbers = _mm256_setr_epi64x(first, first + 1, first + 2, first + 3);
            /* Memory beyond the range has not been fetched. */
            const uint64_t *place = first < count ? start + first : start;
            keys[i] = _mm256_maskload_epi64((const long long *)place,
                                            _mm256_cmpgt_epi64(left, numbers));
        }
        __m256i found = distances_of(keys[0], keys[1], key, is_halved);
        distances = _mm256_or_si256(distances, _mm256_slli_epi32(found, (int)(8 * g)));
    }
    return ~(uint32_t)_mm256_movemask_epi8(_mm256_cmpgt_epi8(distances, limit)) &
           inside(count);
}

/* Do the same for a whole block. */
static inline uint32_t near_of_block(const uint64_t *start, uint64_t wanted,
                                     __m256i limit, int is_halved)
{
    const __m256i key = _mm256_set1_epi64x((long long)wanted);
    __m256i distances = _mm256_setzero_si256();

    for (unsigned g = 0; g < BLOCK / 8; g++) {
        __m256i one = _mm256_loadu_si256((const __m256i *)(start + 8 * g));
        __m256i other = _mm256_loadu_si256((const __m256i *)(start + 8 * g + 4));
        __m256i found = distances_of(one, other, key, is_halved);
        distances = _mm256_or_si256(distances, _mm256_slli_epi32(found, (int)(8 * g)));
    }
    return ~(uint32_t)_mm256_movemask_epi8(_mm256_cmpgt_epi8(distances, limit));
}

/* Append, in order, the keys of a mask that are near.  Return 1, or 0 if they did not all have
   room; then the start of the bucket has moved to the first without room. */
static int add_near(struct search_hits *hits, struct search_bucket *bucket,
                    size_t number, const uint64_t *start, uint32_t near,
                    unsigned distance)
{
    uint32_t ordered = 0;

    for (; near != 0; near &= near - 1) {
        unsigned bit = (unsigned)__builtin_ctz(near);
        ordered |= (uint32_t)1 << (8 * (bit & 3) + lane_keys[bit / 4]);
    }
    for (; ordered != 0; ordered &= ordered - 1) {
        const uint64_t *found = start + __builtin_ctz(ordered);
        unsigned measured = (unsigned)__builtin_popcountll(*found ^ bucket->key);
        if (measured > distance)
            continue;
        if (hits->count == hits->capacity) {
            bucket->start = found;
            return 0;
        }
        add_hit(hits, found, number, measured);
    }
    return 1;
}

/* Measure a bucket with more keys than a block.  The last block overlaps the block before it. */
static inline int measure_long(struct search_bucket *bucket, size_t number,
                               unsigned distance, int is_halved,
                               struct search_hits *hits)
{
    const __m256i limit = _mm256_set1_epi8((char)distance);
    const uint64_t *place = bucket->start, *stop = bucket->stop;
    uint32_t near;

    for (; stop - place >= BLOCK; place += BLOCK) {
        near = near_of_block(place, bucket->key, limit, is_halved);
        if (near != 0 && !add_near(hits, bucket, number, place, near, distance))
            return 0;
    }
    if (place == stop)
        return 1;
    size_t again = (size_t)(BLOCK - (stop - place));
    place -= again;
    near = near_of_block(place, bucket->key, limit, is_halved) & ~inside(again);
    return near == 0 || add_near(hits, bucket, number, place, near, distance);
}

/* Measure buckets that have at most 8 * `groups` keys each; return how many are finished. */
static inline size_t measure_short(struct search_bucket *buckets, size_t first,
                                   size_t count, unsigned groups, unsigned distance,
                                   int is_halved, struct search_hits *hits)
{
    const __m256i limit = _mm256_set1_epi8((char)distance);
    uint32_t near[TOGETHER], any = 0;

    for (size_t i = 0; i < count; i++) {
        const struct search_bucket *bucket = &buckets[first + i];
        near[i] = near_of_few(bucket->start, (size_t)(bucket->stop - bucket->start), groups,
                              bucket->key, limit, is_halved);
        any |= (uint32_t)(near[i] != 0) << i;
    }
    for (; any != 0; any &= any - 1) {
        size_t i = (unsigned)__builtin_ctz(any), number = first + i;
        struct search_bucket *bucket = &buckets[number];
        if (!add_near(hits, bucket, number, bucket->start, near[i], distance))
            return i;
    }
    return count;
}

/* Return how many of the first buckets are no longer than a block, and the most keys of one. */
static inline size_t count_short(const struct search_bucket *buckets, size_t count,
                                 size_t *longest)
{
    size_t some = 0;

    *longest = 0;
    for (; some < count && some < TOGETHER; some++) {
        size_t keys = (size_t)(buckets[some].stop - buckets[some].start);
        if (keys > BLOCK)
            break;
        *longest = keys > *longest ? keys : *longest;
    }
    return some;
}

static inline size_t measure_all(struct search_bucket *buckets, size_t count,
                                 unsigned distance, int is_halved,
                                 struct search_hits *hits)
{
    size_t longest, some, finished;

    for (size_t i = 0; i < count; i += some) {
        some = count_short(buckets + i, count - i, &longest);
        if (some == 0) {
            if (!measure_long(&buckets[i], i, distance, is_halved, hits))
                return i;
            some = 1;
            continue;
        }
        if (longest <= 8)
            finished = measure_short(buckets, i, some, 1, distance, is_halved, hits);
        else if (longest <= 16)
            finished = measure_short(buckets, i, some, 2, distance, is_halved, hits);
        else if (longest <= 24)
            finished = measure_short(buckets, i, some, 3, distance, is_halved, hits);
        else
            finished = measure_short(buckets, i, some, 4, distance, is_halved, hits);
        if (finished < some)
            return i + finished;
    }
    return count;
}

static size_t measure(struct search_bucket *buckets, size_t count, unsigned distance,
                      struct search_hits *hits)
{
    if (distance <= HALVED_MAX)
        return measure_all(buckets, count, distance, 1, hits);
    return measure_all(buckets, count, distance, 0, hits);
}

#endif
