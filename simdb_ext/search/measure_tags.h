/* `measure_tags`: comparing ranges of tags of 16 bits, with AVX2 and AVX-512 16 at a time.

   A range has a few tags, but their number cannot be predicted.  So several short ranges are
   compared without a branch, followed by one branch on all results. */
#ifndef SIMDB_SEARCH_MEASURE_TAGS_H
#define SIMDB_SEARCH_MEASURE_TAGS_H

#include "measure.h"

/* Append the near tags of a mask, whose first bit is the tag at `start`.  Return 1, or 0 if some
   had no room; then the start of the range has moved to the first of these. */
static inline int add_tags(struct search_tag_hits *hits, struct search_tag_range *range,
                           size_t number, const uint16_t *start, uint32_t near)
{
    for (; near != 0; near &= near - 1) {
        const uint16_t *place = start + __builtin_ctz(near);
        if (hits->count == hits->capacity) {
            range->start = place;
            return 0;
        }
        hits->list[hits->count++] = (struct search_tag_hit){place, (uint32_t)number};
    }
    return 1;
}

/* Compare one tag after another. */
static int measure_range(struct search_tag_range *range, size_t number,
                         struct search_tag_hits *hits)
{
    for (const uint16_t *place = range->start; place < range->stop; place++) {
        uint32_t near = (uint32_t)__builtin_popcount(*place ^ range->tag) <= range->most;
        if (!add_tags(hits, range, number, place, near))
            return 0;
    }
    return 1;
}

#if VECTORS_X86

enum {
    TAGS = 16,         /* tags in a register */
    RANGES = 16,       /* short ranges that are compared together */
    LINE_TAGS = 32     /* tags in a cache line */
};

#if VECTORS == VECTORS_AVX512

/* Return a mask of the near ones among 16 tags. */
static inline uint32_t near_tags(const uint16_t *place, const struct search_tag_range *range)
{
    __m256i tags = _mm256_loadu_si256((const __m256i *)place);
    __m256i differences = _mm256_xor_si256(tags, _mm256_set1_epi16((short)range->tag));

    return _mm256_cmple_epu16_mask(_mm256_popcnt_epi16(differences),
                                   _mm256_set1_epi16((short)range->most));
}

#else

static inline uint32_t near_tags(const uint16_t *place, const struct search_tag_range *range)
{
    __m256i tags = _mm256_loadu_si256((const __m256i *)place);
    __m256i differences = _mm256_xor_si256(tags, _mm256_set1_epi16((short)range->tag));
    __m256i counts = _mm256_maddubs_epi16(count_bits(differences), _mm256_set1_epi8(1));
    __m256i far = _mm256_cmpgt_epi16(counts, _mm256_set1_epi16((short)range->most));
    __m128i bytes = _mm_packs_epi16(_mm256_castsi256_si128(far), _mm256_extracti128_si256(far, 1));

    return ~(uint32_t)_mm_movemask_epi8(bytes) & 0xffff;
}

#endif

/* Return a mask of the near tags of a range of at most 16.  Other tags of the column in the same
   cache line may be read as well; cache lines beyond have not been fetched. */
static inline uint32_t near_of_short(const struct search_tag_range *range)
{
    uintptr_t line = (uintptr_t)range->start / (2 * LINE_TAGS) * (2 * LINE_TAGS);
    const uint16_t *place = (const uint16_t *)line + LINE_TAGS - TAGS;

    place = range->stop <= place + TAGS && place < range->start ? place : range->start;
    place = place < range->last ? place : range->last;
    place = place > range->first ? place : range->first;
    unsigned before = (unsigned)(range->start - place);
    uint32_t within = _bzhi_u32(~(uint32_t)0, (unsigned)(range->stop - place));
    return (near_tags(place, range) & within) >> before;
}

static int measure_long_range(struct search_tag_range *range, size_t number,
                              struct search_tag_hits *hits)
{
    const uint16_t *place = range->start, *stop = range->stop;

    for (; stop - place >= TAGS; place += TAGS)
        if (!add_tags(hits, range, number, place, near_tags(place, range)))
            return 0;
    unsigned again = (unsigned)(TAGS - (stop - place));
    return add_tags(hits, range, number, place, near_tags(stop - TAGS, range) >> again);
}

/* Return the number of leading ranges that are short and in columns of at least 16 tags. */
static inline size_t count_short_ranges(const struct search_tag_range *ranges, size_t count)
{
    size_t some = 0;

    while (some < count && some < RANGES && ranges[some].stop - ranges[some].start <= TAGS &&
           ranges[some].last != NULL)
        some++;
    return some;
}

static size_t measure_tags(struct search_tag_range *ranges, size_t count,
                           struct search_tag_hits *hits)
{
    size_t some;

    for (size_t i = 0; i < count; i += some) {
        uint32_t near[RANGES], any = 0;
        some = count_short_ranges(ranges + i, count - i);
        if (some == 0) {
            int is_finished = ranges[i].stop - ranges[i].start > TAGS
                                  ? measure_long_range(&ranges[i], i, hits)
                                  : measure_range(&ranges[i], i, hits);
            if (!is_finished)
                return i;
            some = 1;
            continue;
        }
        for (size_t j = 0; j < some; j++) {
            near[j] = near_of_short(&ranges[i + j]);
            any |= (uint32_t)(near[j] != 0) << j;
        }
        for (; any != 0; any &= any - 1) {
            size_t j = (unsigned)__builtin_ctz(any);
            if (!add_tags(hits, &ranges[i + j], i + j, ranges[i + j].start, near[j]))
                return i + j;
        }
    }
    return count;
}

#else

static size_t measure_tags(struct search_tag_range *ranges, size_t count,
                           struct search_tag_hits *hits)
{
    for (size_t i = 0; i < count; i++)
        if (!measure_range(&ranges[i], i, hits))
            return i;
    return count;
}

#endif

#endif
