/* `measure` with AVX2 and AVX-512, 32 keys at a time.

   The number of keys of a range, and so the end of a loop over them, cannot be predicted.  So
   several short ranges are compared without a branch, followed by one branch on all results.  Keys
   beyond a range are neither read, since they have not been fetched, nor counted. */
#ifndef SIMDB_SEARCH_MEASURE_X86_H
#define SIMDB_SEARCH_MEASURE_X86_H

#include "measure.h"

enum {
    BLOCK = 32,   /* keys that are compared before one branch on the results */
    TOGETHER = 16 /* short ranges that are compared together */
};

/* Kinds of comparison, a constant: at first only lower halves; only counted bits. */
enum { HALVED = 1, MASKED = 2, BOTH = HALVED | MASKED };

/* Return the beginning of the cache line of a key. */
static inline const uint64_t *line_of(const uint64_t *place)
{
    return (const uint64_t *)((uintptr_t)place & ~(uintptr_t)63);
}

#if VECTORS == VECTORS_AVX2

/* Bits are counted with a table of half bytes.  If keys must be very near, only their lower halves
   are compared at first: few other keys are near in them, and a register holds eight.  All ranges
   that are compared together take the time of the longest. */
enum { HALVED_MAX = 7 }; /* distance up to which few lower halves of random keys are near */

/* A mask of the keys of a block has 4 bits for each lane of a register, one bit for each group of
   eight keys.  This is the key of each lane within its group. */
static const uint8_t lane_keys[8] = {0, 1, 4, 5, 2, 3, 6, 7};

/* Return the mask of the first `count` keys of a block. */
static inline uint32_t inside(size_t count)
{
    static const uint32_t first[8] = {
        0, 0x1, 0x11, 0x10011, 0x110011, 0x110111, 0x111111, 0x1111111,
    };
    unsigned groups = (unsigned)count / 8;

    return 0x11111111 * ((1u << groups) - 1) | first[count % 8] << (groups & 3);
}

/* Return the bits of a mask in the order of the keys. */
static inline uint32_t ordered(uint32_t near)
{
    uint32_t found = 0;

    for (; near != 0; near &= near - 1) {
        unsigned bit = (unsigned)__builtin_ctz(near);
        found |= (uint32_t)1 << (8 * (bit & 3) + lane_keys[bit / 4]);
    }
    return found;
}

/* Return the number of set bits in each byte. */
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

/* The wanted key in registers. */
struct wanted {
    __m256i key, counted, most;
};

static inline struct wanted wanted_of(const struct search_bucket *bucket)
{
    return (struct wanted){_mm256_set1_epi64x((long long)bucket->wanted.key),
                           _mm256_set1_epi64x((long long)bucket->wanted.counted),
                           _mm256_set1_epi8((char)bucket->wanted.most)};
}

/* Return the number of bits in which each of eight keys differs, as 32 bits. */
static inline __m256i distances_of(__m256i one, __m256i other, struct wanted wanted, int kind)
{
    const __m256i zero = _mm256_setzero_si256();

    one = _mm256_xor_si256(one, wanted.key);
    other = _mm256_xor_si256(other, wanted.key);
    if (kind & MASKED) {
        one = _mm256_and_si256(one, wanted.counted);
        other = _mm256_and_si256(other, wanted.counted);
    }
    if (kind & HALVED) {
        __m256i bytes = count_bits(halves(one, other));
        return _mm256_madd_epi16(_mm256_maddubs_epi16(bytes, _mm256_set1_epi8(1)),
                                 _mm256_set1_epi16(1));
    }
    one = _mm256_sad_epu8(count_bits(one), zero);
    other = _mm256_sad_epu8(count_bits(other), zero);
    return halves(one, other);
}

/* Return the 4 bits of each lane, set if its distance is near. */
static inline uint32_t near_lanes(__m256i distances, struct wanted wanted)
{
    return ~(uint32_t)_mm256_movemask_epi8(_mm256_cmpgt_epi8(distances, wanted.most));
}

/* Return a mask of the keys of a bucket that may be near.  The bucket has at most 8 * `groups`
   keys, and no more than a block. */
static inline uint32_t near_of_few(const struct search_bucket *bucket, unsigned groups, int kind)
{
    const uint64_t *start = bucket->start;
    const size_t count = (size_t)(bucket->stop - start);
    const struct wanted wanted = wanted_of(bucket);
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
        __m256i found = distances_of(keys[0], keys[1], wanted, kind);
        distances = _mm256_or_si256(distances, _mm256_slli_epi32(found, (int)(8 * g)));
    }
    return near_lanes(distances, wanted) & inside(count);
}

/* Return such a mask for a whole block. */
static inline uint32_t near_of_block(const uint64_t *start, const struct search_bucket *bucket,
                                     int kind)
{
    const struct wanted wanted = wanted_of(bucket);
    __m256i distances = _mm256_setzero_si256();

    for (unsigned g = 0; g < BLOCK / 8; g++) {
        __m256i one = _mm256_loadu_si256((const __m256i *)(start + 8 * g));
        __m256i other = _mm256_loadu_si256((const __m256i *)(start + 8 * g + 4));
        __m256i found = distances_of(one, other, wanted, kind);
        distances = _mm256_or_si256(distances, _mm256_slli_epi32(found, (int)(8 * g)));
    }
    return near_lanes(distances, wanted);
}

#else

enum { HALVED_MAX = -1 };

static inline uint32_t inside(size_t count) { return _bzhi_u32(~0u, (unsigned)count); }

static inline uint32_t ordered(uint32_t near) { return near; }

/* The wanted key in registers. */
struct wanted {
    __m512i key, counted, most;
};

static inline struct wanted wanted_of(const struct search_bucket *bucket)
{
    return (struct wanted){_mm512_set1_epi64((long long)bucket->wanted.key),
                           _mm512_set1_epi64((long long)bucket->wanted.counted),
                           _mm512_set1_epi64((long long)bucket->wanted.most)};
}

/* Return the number of counted bits in which each key differs. */
static inline __m512i distances(__m512i keys, struct wanted wanted)
{
    return _mm512_popcnt_epi64(_mm512_and_si512(_mm512_xor_si512(keys, wanted.key),
                                                wanted.counted));
}

/* Return a mask of the near keys of a bucket.  Its cache lines, at most `lines`, are loaded one by
   one. */
static inline uint32_t near_of_lines(const struct search_bucket *bucket, unsigned lines)
{
    const struct wanted wanted = wanted_of(bucket);
    const uint64_t *start = line_of(bucket->start);
    unsigned before = (unsigned)(bucket->start - start);
    uint64_t near = 0, within = _bzhi_u64(~(uint64_t)0, (unsigned)(bucket->stop - start));

    within = within >> before << before;
    for (unsigned line = 0; line < lines; line++) {
        __mmask8 lanes = (__mmask8)(within >> 8 * line);
        const uint64_t *place = lanes != 0 ? start + 8 * line : start;
        __m512i found = distances(_mm512_maskz_load_epi64(lanes, place), wanted);
        near |= (uint64_t)_mm512_mask_cmple_epu64_mask(lanes, found, wanted.most) << 8 * line;
    }
    return (uint32_t)(near >> before);
}

/* Most short buckets have two lines, so this branch is predicted. */
static inline uint32_t near_of_few(const struct search_bucket *bucket, unsigned groups, int kind)
{
    (void)groups, (void)kind;
    return near_of_lines(bucket, bucket->stop - line_of(bucket->start) <= 16 ? 2 : 5);
}

static inline uint32_t near_of_block(const uint64_t *start, const struct search_bucket *bucket,
                                     int kind)
{
    const struct wanted wanted = wanted_of(bucket);
    __m512i found[4];
    uint32_t near = 0;

    (void)kind;
    for (int i = 0; i < 4; i++)
        found[i] = distances(_mm512_loadu_si512(start + 8 * i), wanted);
    __m512i least = _mm512_min_epu64(_mm512_min_epu64(found[0], found[1]),
                                     _mm512_min_epu64(found[2], found[3]));
    if (_mm512_cmple_epu64_mask(least, wanted.most) == 0)
        return 0;
    for (int i = 0; i < 4; i++)
        near |= (uint32_t)_mm512_cmple_epu64_mask(found[i], wanted.most) << 8 * i;
    return near;
}

#endif

/* Append, in order, the keys that a mask marks as near.  Return 1, or 0 if some had no room; then
   the start of the bucket has moved to the first of these. */
static int add_near(struct search_hits *hits, struct search_bucket *bucket, size_t number,
                    const uint64_t *start, uint32_t near)
{
    for (near = ordered(near); near != 0; near &= near - 1) {
        const uint64_t *found = start + __builtin_ctz(near);
        uint64_t difference = *found ^ bucket->wanted.key;
        if (!search_is_near(difference, &bucket->wanted))
            continue;
        if (hits->count == hits->capacity) {
            bucket->start = found;
            return 0;
        }
        add_hit(hits, found, number, (unsigned)__builtin_popcountll(difference));
    }
    return 1;
}

/* Measure a bucket with more keys than a block.  All blocks except the first and the last begin at
   a cache line, so the second and the last block compare some keys again. */
static inline int measure_long(struct search_bucket *bucket, size_t number, int kind,
                               struct search_hits *hits)
{
    const uint64_t *place = bucket->start, *stop = bucket->stop, *next;

    for (size_t again = 0;; again = (size_t)(place + BLOCK - next), place = next) {
        uint32_t near = near_of_block(place, bucket, kind);
        if (near != 0 && !add_near(hits, bucket, number, place, near & ~inside(again)))
            return 0;
        if (place + BLOCK == stop)
            return 1;
        next = line_of(place + BLOCK);
        next = stop - next < BLOCK ? stop - BLOCK : next;
    }
}

/* Measure buckets of at most 8 * `groups` keys each; return the number of finished ones. */
static inline size_t measure_short(struct search_bucket *buckets, size_t first, size_t count,
                                   unsigned groups, int kind, struct search_hits *hits)
{
    uint32_t near[TOGETHER], any = 0;

    for (size_t i = 0; i < count; i++) {
        near[i] = near_of_few(&buckets[first + i], groups, kind);
        any |= (uint32_t)(near[i] != 0) << i;
    }
    for (; any != 0; any &= any - 1) {
        size_t i = (unsigned)__builtin_ctz(any), number = first + i;
        struct search_bucket *bucket = &buckets[number];
        if (!add_near(hits, bucket, number, bucket->start, near[i]))
            return i;
    }
    return count;
}

/* Return the number of leading buckets no longer than a block, and the keys of the longest. */
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

static inline size_t measure_all(struct search_bucket *buckets, size_t count, int kind,
                                 struct search_hits *hits)
{
    size_t longest, some, finished;

    for (size_t i = 0; i < count; i += some) {
        some = count_short(buckets + i, count - i, &longest);
        if (some == 0) {
            if (!measure_long(&buckets[i], i, kind, hits))
                return i;
            some = 1;
            continue;
        }
        if (longest <= 8)
            finished = measure_short(buckets, i, some, 1, kind, hits);
        else if (longest <= 16)
            finished = measure_short(buckets, i, some, 2, kind, hits);
        else if (longest <= 24)
            finished = measure_short(buckets, i, some, 3, kind, hits);
        else
            finished = measure_short(buckets, i, some, 4, kind, hits);
        if (finished < some)
            return i + finished;
    }
    return count;
}

static size_t measure(struct search_bucket *buckets, size_t count, struct search_hits *hits)
{
    uint64_t counted = ~(uint64_t)0;
    uint32_t most = 0;

    for (size_t i = 0; i < count; i++) {
        counted &= buckets[i].wanted.counted;
        most |= buckets[i].wanted.most;
    }
    if ((int)most <= HALVED_MAX)
        return counted == ~(uint64_t)0 ? measure_all(buckets, count, HALVED, hits)
                                       : measure_all(buckets, count, BOTH, hits);
    return counted == ~(uint64_t)0 ? measure_all(buckets, count, 0, hits)
                                   : measure_all(buckets, count, MASKED, hits);
}

#if VECTORS == VECTORS_AVX512

/* Return one bit for each of four wanted keys: whether it may have a near key in the lines from
   `place` to `last`.  Lanes outside the range count as keys of zeros. */
static inline unsigned near_four(const uint64_t *place, const uint64_t *last,
                                 __mmask8 head, __mmask8 tail,
                                 const struct wanted wanted[4])
{
    __m512i first = _mm512_maskz_load_epi64(head, place), end = _mm512_maskz_load_epi64(tail, last);
    __m512i least[4];
    unsigned near = 0;

    for (int i = 0; i < 4; i++)
        least[i] = _mm512_min_epu64(distances(first, wanted[i]), distances(end, wanted[i]));
    for (place += 8; place < last; place += 8) {
        __m512i line = _mm512_load_si512(place);
        for (int i = 0; i < 4; i++)
            least[i] = _mm512_min_epu64(least[i], distances(line, wanted[i]));
    }
    for (int i = 0; i < 4; i++)
        near |= (unsigned)(_mm512_cmple_epu64_mask(least[i], wanted[i].most) != 0) << i;
    return near;
}

/* Append the near keys of a bucket.  Return 1, or 0 if some had no room; then the start of the
   bucket has moved to the first of these.  Near keys cannot be predicted, so eight lines are
   compared before their near keys are appended. */
static int add_all_near(struct search_hits *hits, struct search_bucket *bucket, size_t number)
{
    const struct wanted wanted = wanted_of(bucket);
    const uint64_t *place = line_of(bucket->start);

    for (; place < bucket->stop; place += 64) {
        size_t left = (size_t)(bucket->stop - place);
        uint64_t near = 0, inside = left < 64 ? ((uint64_t)1 << left) - 1 : ~(uint64_t)0;
        if (place < bucket->start)
            inside &= ~(uint64_t)0 << (bucket->start - place);
        for (size_t line = 0; line < 8 && 8 * line < left; line++) {
            __mmask8 lanes = (__mmask8)(inside >> 8 * line);
            __m512i keys = _mm512_maskz_load_epi64(lanes, place + 8 * line);
            __m512i bits = distances(keys, wanted);
            near |= (uint64_t)_mm512_mask_cmple_epu64_mask(lanes, bits, wanted.most) << 8 * line;
        }
        for (; near != 0; near &= near - 1) {
            const uint64_t *found = place + __builtin_ctzll(near);
            if (hits->count == hits->capacity) {
                bucket->start = found;
                return 0;
            }
            add_hit(hits, found, number,
                    (unsigned)__builtin_popcountll(*found ^ bucket->wanted.key));
        }
    }
    return 1;
}

/* Measure four buckets at a time.  Each line is loaded once for all four, and the unpredictable end
   of the range is reached once. */
static size_t measure_crowd(struct search_bucket *buckets, size_t count,
                            struct search_hits *hits)
{
    const uint64_t *start = buckets[count - 1].start, *stop = buckets->stop;
    const uint64_t *place = line_of(start);
    const uint64_t *last = line_of(stop - 1);
    __mmask8 tail = (__mmask8)(255u >> (last + 8 - stop));
    __mmask8 head = (__mmask8)(255u << (start - place) & (place == last ? tail : 255u));

    for (size_t i = 0; i < count; i += 4) {
        size_t some = count - i < 4 ? count - i : 4;
        struct wanted wanted[4];
        for (size_t j = 0; j < 4; j++)
            wanted[j] = wanted_of(&buckets[j < some ? i + j : i]);
        unsigned near = near_four(place, last, head, tail, wanted) & ((1u << some) - 1);
        for (; near != 0; near &= near - 1) {
            size_t number = i + (unsigned)__builtin_ctz(near);
            if (!add_all_near(hits, &buckets[number], number))
                return number;
        }
    }
    return count;
}

#endif

#endif
