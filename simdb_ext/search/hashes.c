#include "hashes.h"

enum { BLOCK = 32 /* pairs whose memory is fetched while those before them are compared */ };

/* Where the hashes of some pairs are. */
struct block {
    const uint8_t *lefts[BLOCK], *rights[BLOCK];
    size_t wanted;
    size_t found; /* pairs before the first of which a hash is missing */
};

/* Positions in the walk through all pairs. */
struct walk {
    size_t query, near_left, near_right;
};

/* Find and prefetch the pairs from `start` on. */
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
