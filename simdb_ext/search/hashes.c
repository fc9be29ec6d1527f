#include "hashes.h"

enum {
    BLOCK = 32, /* pairs whose memory is fetched while the block before is compared */
    TILE = 256  /* hashes that fit the first-level cache while all queries are compared with them */
};

/* The addresses of the hashes of some pairs. */
struct block {
    const uint8_t *lefts[BLOCK], *rights[BLOCK];
    size_t wanted;
    size_t found; /* pairs before the first one with a missing hash */
};

/* Positions in the walk through all pairs. */
struct walk {
    size_t query, near_left, near_right;
};

/* Find and prefetch the pairs starting at `start`. */
static void find_block(const struct search_vectors *vectors, const struct search_hash_pairs *pairs,
                       size_t start, struct walk *walk, struct block *block)
{
    size_t found;

    start = start < pairs->count ? start : pairs->count;
    block->wanted = pairs->count - start < BLOCK ? pairs->count - start : BLOCK;
    block->found = search_find_all(vectors, pairs->right + start, block->wanted,
                                   &walk->near_right, block->rights);
    if (pairs->queries == NULL) {
        found = search_find_all(vectors, pairs->left + start, block->wanted, &walk->near_left,
                                block->lefts);
        block->found = found < block->found ? found : block->found;
        return;
    }
    for (size_t i = 0; i < block->wanted; i++) {
        while ((int64_t)(start + i) >= pairs->offsets[walk->query + 1])
            walk->query++;
        block->lefts[i] = pairs->queries + walk->query * vectors->width;
    }
}

size_t search_differing(const struct search_vectors *vectors,
                        const struct search_hash_pairs *pairs, uint16_t *distances)
{
    struct block blocks[2];
    struct walk walk = {0, 0, 0};

    find_block(vectors, pairs, 0, &walk, &blocks[0]);
    for (size_t i = 0; i < pairs->count; i += BLOCK) {
        const struct block *block = &blocks[i / BLOCK % 2];

        if (block->found < block->wanted)
            return i + block->found;
        find_block(vectors, pairs, i + BLOCK, &walk, &blocks[(i / BLOCK + 1) % 2]);
        search_kernel->differ_pairs(block->lefts, block->rights, block->wanted, vectors->width,
                                    distances + i);
    }
    return pairs->count;
}

/* Up to TILE consecutive hashes. */
struct tile {
    size_t segment;
    uint64_t first;
    size_t count;
    const uint8_t *hashes;
};

/* Move to the next tile and return 1, or return 0 after the last tile.  Start with a zeroed
   tile. */
static int next_tile(const struct search_vectors *vectors, struct tile *tile)
{
    tile->first += tile->count;
    for (; tile->segment < vectors->segment_count; tile->segment++) {
        const struct search_segment *segment = &vectors->segments[tile->segment];

        if (tile->first < segment->first)
            tile->first = segment->first;
        if (tile->first < segment->stop) {
            uint64_t left = segment->stop - tile->first;

            tile->count = left < TILE ? left : TILE;
            tile->hashes = segment->vectors + (tile->first - segment->first) * vectors->width;
            return 1;
        }
    }
    return 0;
}

/* Find at most `most` matches of a query in a tile; return their number. */
static size_t within_tile(const struct search_hash_request *request, size_t width, size_t query,
                          const struct tile *tile, size_t most, struct search_found *found)
{
    uint32_t near[TILE];
    size_t taken = 0, count = search_kernel->near_hashes(
        request->queries + query * width, tile->hashes, tile->count, width, request->distance,
        near);

    for (size_t i = 0; i < count && taken < most; i++) {
        uint32_t ordinal = (uint32_t)tile->first + (near[i] & 0xFFFF);

        if ((request->after != NULL && ordinal <= request->after[query])
            || search_is_left_out(&request->filter, ordinal))
            continue;
        search_add(found, (uint32_t)query, near[i] >> 16, ordinal);
        taken++;
    }
    return taken;
}

void search_within(const struct search_vectors *vectors,
                   const struct search_hash_request *request, struct search_found *found)
{
    size_t left[SEARCH_SCAN_MAX], open = request->count;
    struct tile tile = {0};

    found->count = 0;
    for (size_t query = 0; query < request->count; query++)
        left[query] = request->enough > 0 ? request->enough : SIZE_MAX;
    while (open > 0 && next_tile(vectors, &tile))
        for (size_t query = 0; query < request->count; query++) {
            if (left[query] == 0 || (request->after != NULL
                                     && tile.first + tile.count - 1 <= request->after[query]))
                continue;
            left[query] -= within_tile(request, vectors->width, query, &tile, left[query], found);
            open -= left[query] == 0;
        }
}

/* Return whether the search may keep a document of a tile; always 1 if codes are ignored. */
static int may_find(const struct search_hash_request *request, const struct tile *tile)
{
    for (size_t i = 0; request->filter.codes != NULL && i < tile->count; i++)
        if (!search_is_left_out(&request->filter, (uint32_t)(tile->first + i)))
            return 1;
    return request->filter.codes == NULL;
}

void search_closest(const struct search_vectors *vectors,
                    const struct search_hash_request *request, struct search_best *best)
{
    uint32_t near[TILE];
    struct tile tile = {0};

    while (next_tile(vectors, &tile)) {
        if (!may_find(request, &tile))
            continue;
        for (size_t query = 0; query < request->count; query++) {
            size_t count = search_kernel->near_hashes(
                request->queries + query * vectors->width, tile.hashes, tile.count,
                vectors->width, search_reach(&best[query]), near);

            for (size_t i = 0; i < count; i++) {
                uint32_t ordinal = (uint32_t)tile.first + (near[i] & 0xFFFF);

                if (!search_is_left_out(&request->filter, ordinal))
                    search_offer(&best[query], (uint64_t)(near[i] >> 16) << 32 | ordinal);
            }
        }
    }
}
