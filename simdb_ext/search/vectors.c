#include "vectors.h"

#include <string.h>

#include "few_bits.h"
#include "kernel.h"

enum {
    BLOCK = 64, /* vectors whose memory is fetched together */
    TILE = 256, /* vectors that fit the first-level cache while all queries are compared */
    REPEATED = 8 /* least comparisons with one vector for which unpacking it pays */
};

static const float LEAST = -2; /* below every similarity */

/* Return `width` rounded up to whole vector registers of 64 bytes. */
static size_t padded(size_t width)
{
    return (width + 63) / 64 * 64;
}

size_t search_weights_size(size_t width)
{
    return 2 * padded(width);
}

struct search_weights search_unpack(const uint8_t *vector, size_t width, int8_t *scratch)
{
    int8_t *low = scratch, *high = scratch + padded(width);
    struct search_weights weights = {low, high, 0, 0};

    memset(scratch, 0, search_weights_size(width));
    for (size_t i = 0; i < width; i++) {
        low[i] = (int8_t)(2 * (vector[i] & 15) - 15);
        high[i] = (int8_t)(2 * (vector[i] >> 4) - 15);
        weights.sum += low[i] + high[i];
        weights.norm += low[i] * low[i] + high[i] * high[i];
    }
    return weights;
}

const uint8_t *search_vector_at(const struct search_vectors *vectors, uint32_t ordinal,
                                size_t *near)
{
    const struct search_segment *segments = vectors->segments;
    size_t start = 0, stop = vectors->segment_count;

    if (stop == 0)
        return NULL;
    if (ordinal < segments[*near].first || ordinal >= segments[*near].stop) {
        while (stop - start > 1) {
            size_t middle = start + (stop - start) / 2;
            if (segments[middle].first <= ordinal)
                start = middle;
            else
                stop = middle;
        }
        if (ordinal < segments[start].first || ordinal >= segments[start].stop)
            return NULL;
        *near = start;
    }
    return segments[*near].vectors + (ordinal - segments[*near].first) * vectors->width;
}

size_t search_find_all(const struct search_vectors *vectors, const uint32_t *ordinals,
                       size_t count, size_t *near, const uint8_t **places)
{
    for (size_t i = 0; i < count; i++) {
        places[i] = search_vector_at(vectors, ordinals[i], near);
        if (places[i] == NULL)
            return i;
        __builtin_prefetch(places[i]);
        if (((uintptr_t)places[i] & 63) + vectors->width > 64)
            __builtin_prefetch(places[i] + vectors->width - 1);
    }
    return count;
}

int search_offsets_divide(const int64_t *offsets, size_t count, size_t total)
{
    for (size_t i = 0; i < count; i++)
        if (offsets[i] > offsets[i + 1])
            return 0;
    return offsets[0] == 0 && offsets[count] == (int64_t)total;
}

/* Return whether enough neighbours have the same vector on the left that unpacking it pays. */
static int is_repeated(const uint8_t *const *lefts, size_t count)
{
    size_t changes = 1;

    for (size_t i = 1; i < count; i++)
        changes += lefts[i] != lefts[i - 1];
    return changes * REPEATED <= count;
}

/* Write the similarities of a block of pairs; unpack weights if that pays. */
static void weigh_block(const uint8_t *const *lefts, const uint8_t *const *rights, size_t count,
                        size_t width, int8_t *scratch, float *similarities)
{
    if (!is_repeated(lefts, count)) {
        search_kernel->weigh_pairs(lefts, rights, count, width, similarities);
        return;
    }
    for (size_t start = 0, stop; start < count; start = stop) {
        struct search_weights weights = search_unpack(lefts[start], width, scratch);
        for (stop = start + 1; stop < count && lefts[stop] == lefts[start]; stop++)
            ;
        search_kernel->weigh(&weights, rights + start, stop - start, width,
                             similarities + start);
    }
}

size_t search_similarity(const struct search_vectors *vectors, const uint8_t *queries,
                         size_t query_count, const int64_t *offsets, const uint32_t *ordinals,
                         int8_t *scratch, float *similarities)
{
    size_t width = vectors->width, count = (size_t)offsets[query_count], query = 0, near = 0;
    const uint8_t *lefts[BLOCK], *rights[BLOCK];

    for (size_t i = 0; i < count; i += BLOCK) {
        size_t some = count - i < BLOCK ? count - i : BLOCK;
        size_t found = search_find_all(vectors, ordinals + i, some, &near, rights);
        if (found < some)
            return i + found;
        for (size_t k = 0; k < some; k++) {
            while (i + k >= (size_t)offsets[query + 1])
                query++;
            lefts[k] = queries + query * width;
        }
        weigh_block(lefts, rights, some, width, scratch, similarities + i);
    }
    return count;
}

size_t search_between(const struct search_vectors *vectors, const uint32_t *left,
                      const uint32_t *right, size_t count, int8_t *scratch, float *similarities)
{
    const uint8_t *lefts[BLOCK], *rights[BLOCK];
    size_t near_left = 0, near_right = 0;

    for (size_t i = 0; i < count; i += BLOCK) {
        size_t some = count - i < BLOCK ? count - i : BLOCK;
        size_t found = search_find_all(vectors, left + i, some, &near_left, lefts);
        size_t other = search_find_all(vectors, right + i, some, &near_right, rights);
        if (found < some || other < some)
            return i + (found < other ? found : other);
        weigh_block(lefts, rights, some, vectors->width, scratch, similarities + i);
    }
    return count;
}

static uint32_t agree_narrow(const uint8_t *left, const uint8_t *right, size_t width)
{
    uint32_t agreeing = 0;

    for (size_t i = 0; i < width; i++)
        agreeing += left[i] == right[i];
    return agreeing;
}

static uint32_t agree_wide(const uint8_t *left, const uint8_t *right, size_t width)
{
    uint32_t agreeing = 0, first, second;

    for (size_t i = 0; i + 4 <= width; i += 4) {
        memcpy(&first, left + i, sizeof first);
        memcpy(&second, right + i, sizeof second);
        agreeing += first == second;
    }
    return agreeing;
}

static uint32_t agree_in(const uint8_t *left, const uint8_t *right, size_t width, int bits)
{
    if (bits == 1)
        return few_bits_equal(left, right, width, 1);
    if (bits == 2)
        return few_bits_equal(left, right, width, 2);
    return bits == 8 ? agree_narrow(left, right, width) : agree_wide(left, right, width);
}

size_t search_agreements(const struct search_vectors *vectors, const uint8_t *query, int bits,
                         const uint32_t *ordinals, size_t count, uint32_t *agreeing)
{
    const uint8_t *places[BLOCK];
    size_t near = 0;

    for (size_t i = 0; i < count; i += BLOCK) {
        size_t some = count - i < BLOCK ? count - i : BLOCK;
        size_t found = search_find_all(vectors, ordinals + i, some, &near, places);
        if (found < some)
            return i + found;
        for (size_t k = 0; k < some; k++)
            agreeing[i + k] = agree_in(query, places[k], vectors->width, bits);
    }
    return count;
}

size_t search_gather(const struct search_vectors *vectors, const uint32_t *ordinals, size_t count,
                     uint8_t *copies)
{
    const uint8_t *places[BLOCK];
    size_t near = 0, width = vectors->width;

    for (size_t i = 0; i < count; i += BLOCK) {
        size_t some = count - i < BLOCK ? count - i : BLOCK;
        size_t found = search_find_all(vectors, ordinals + i, some, &near, places);
        for (size_t k = 0; k < found; k++)
            memcpy(copies + (i + k) * width, places[k], width);
        if (found < some)
            return i + found;
    }
    return count;
}

/* Documents of a segment that are measured together. */
struct tile {
    const uint8_t *places[TILE];
    uint32_t ordinals[TILE];
    size_t count;
};

/* Fill a tile with the documents of a segment that are not omitted, starting at `first`. */
static void fill_tile(const struct search_segment *segment, const struct search_filter *filter,
                      size_t width, uint64_t first, struct tile *tile)
{
    uint64_t left = segment->stop - first, stop = first + (left < TILE ? left : TILE);

    tile->count = 0;
    for (uint64_t ordinal = first; ordinal < stop; ordinal++) {
        if (search_is_left_out(filter, (uint32_t)ordinal))
            continue;
        tile->places[tile->count] = segment->vectors + (ordinal - segment->first) * width;
        tile->ordinals[tile->count++] = (uint32_t)ordinal;
    }
}

/* Find the vectors of a tile that are similar enough to one query. */
static void scan_tile(const struct search_vector_request *request, size_t width, uint32_t query,
                      const struct search_weights *weights, const struct tile *tile,
                      struct search_found *found)
{
    float similarities[TILE];

    search_kernel->weigh(weights, tile->places, tile->count, width, similarities);
    for (size_t i = 0; i < tile->count; i++) {
        if (!(similarities[i] >= request->similarity)
            || (request->after != NULL && tile->ordinals[i] <= request->after[query]))
            continue;
        search_add(found, query, search_far_of(similarities[i]), tile->ordinals[i]);
    }
}

/* Unpack all queries into scratch memory. */
static void unpack_all(const struct search_vector_request *request, size_t width, int8_t *scratch,
                       struct search_weights *weights)
{
    for (size_t query = 0; query < request->count; query++)
        weights[query] = search_unpack(request->queries + query * width, width,
                                       scratch + query * search_weights_size(width));
}

void search_scan_vectors(const struct search_vectors *vectors,
                         const struct search_vector_request *request, int8_t *scratch,
                         struct search_found *found)
{
    struct search_weights weights[SEARCH_SCAN_MAX];
    struct tile tile;
    size_t width = vectors->width;

    found->count = 0;
    unpack_all(request, width, scratch, weights);
    for (size_t s = 0; s < vectors->segment_count; s++) {
        const struct search_segment *segment = &vectors->segments[s];
        for (uint64_t first = segment->first; first < segment->stop; first += TILE) {
            fill_tile(segment, &request->filter, width, first, &tile);
            for (size_t query = 0; query < request->count && tile.count > 0; query++)
                scan_tile(request, width, (uint32_t)query, &weights[query], &tile, found);
        }
    }
}
/* Offer the vectors of a tile to the best matches of one query. */
/* Offer the vectors of a tile to the best of one query. */
static void offer_tile(size_t width, const struct search_weights *weights, const struct tile *tile,
                       struct search_best *best)
{
    float similarities[TILE], least = LEAST;

    search_kernel->weigh(weights, tile->places, tile->count, width, similarities);
    if (best->count == best->most)
        least = search_similarity_of(search_reach(best));
    for (size_t i = 0; i < tile->count; i++) {
        if (!(similarities[i] >= least))
            continue;
        search_offer(best, (uint64_t)search_far_of(similarities[i]) << 32 | tile->ordinals[i]);
        if (best->count == best->most)
            least = search_similarity_of(search_reach(best));
    }
}

void search_nearest_vectors(const struct search_vectors *vectors,
                            const struct search_vector_request *request, int8_t *scratch,
                            struct search_best *best)
{
    struct search_weights weights[SEARCH_SCAN_MAX];
    struct tile tile;
    size_t width = vectors->width;

    unpack_all(request, width, scratch, weights);
    for (size_t s = 0; s < vectors->segment_count; s++) {
        const struct search_segment *segment = &vectors->segments[s];
        for (uint64_t first = segment->first; first < segment->stop; first += TILE) {
            fill_tile(segment, &request->filter, width, first, &tile);
            for (size_t query = 0; query < request->count && tile.count > 0; query++)
                offer_tile(width, &weights[query], &tile, &best[query]);
        }
    }
}
