#include "ngrams.h"

#include "mix.h"

#define HASHED 1024 /* n-grams that are hashed together; their hashes stay in the cache */
#define AHEAD 16    /* hashes between the request for a word of the filter and its use */

/* Return a word in which the two bits are set that a hash has in its word of the filter. */
static inline uint64_t filter_bits(uint64_t hash)
{
    return (uint64_t)1 << (hash >> 32 & 63) | (uint64_t)1 << (hash >> 38 & 63);
}

int64_t ngrams_hash(const uint64_t *words, int64_t count, int n, uint64_t *hashes)
{
    unsigned last_turn = MIX_ROTATION * (unsigned)n % 64;
    uint64_t run = 0;

    if (count < n)
        return 0;
    for (int64_t i = 0; i < n; i++)
        run = mix_rotate(run, MIX_ROTATION) ^ words[i];
    hashes[0] = mix_final(run);
    for (int64_t i = n; i < count; i++) {
        run = mix_rotate(run, MIX_ROTATION) ^ words[i] ^ mix_rotate(words[i - n], last_turn);
        hashes[i - n + 1] = mix_final(run);
    }
    return count - n + 1;
}

void ngrams_filter(const uint64_t *hashes, int64_t count, uint64_t *filter, uint64_t last_word)
{
    for (int64_t i = 0; i < count; i++)
        filter[hashes[i] & last_word] |= filter_bits(hashes[i]);
}

static inline uint64_t slot_of(const struct ngram_table *table, uint64_t hash)
{
    return table->shift < 64 ? hash >> table->shift : 0;
}

/* Return the place of a hash in the table, or -1. */
static inline int64_t place_of(const struct ngram_table *table, uint64_t hash)
{
    uint64_t slot = slot_of(table, hash);
    uint32_t stop = table->directory[slot + 1];

    for (uint32_t i = table->directory[slot]; i < stop; i++)
        if (table->hashes[i] == hash)
            return i;
    return -1;
}

/* Write the positions of the hashes that the filter lets pass; return their number.  Words of the
   filter and of the table are requested a few hashes before they are read, since they are not in
   the cache. */
static int64_t filter_hashes(const struct ngram_table *table, const uint64_t *hashes,
                             int64_t count, int32_t *passed)
{
    int64_t kept = 0;

    for (int64_t i = 0; i < count; i++) {
        uint64_t hash = hashes[i], bits = filter_bits(hash);
        if (i + AHEAD < count)
            __builtin_prefetch(&table->filter[hashes[i + AHEAD] & table->last_word]);
        passed[kept] = (int32_t)i;
        kept += (table->filter[hash & table->last_word] & bits) == bits;
    }
    for (int64_t i = 0; i < kept; i++)
        __builtin_prefetch(&table->directory[slot_of(table, hashes[passed[i]])]);
    for (int64_t i = 0; i < kept; i++)
        __builtin_prefetch(&table->hashes[table->directory[slot_of(table, hashes[passed[i]])]]);
    return kept;
}

int64_t ngrams_find(const struct ngram_table *table, const uint64_t *words,
                    const int64_t *offsets, int64_t documents, const int32_t *lengths,
                    int length_count, struct ngram_hit *hits, int64_t room)
{
    uint64_t hashes[HASHED];
    int32_t passed[HASHED];
    int64_t found = 0;

    for (int64_t d = 0; d < documents; d++)
        for (int k = 0; k < length_count; k++) {
            int n = lengths[k];
            for (int64_t first = offsets[d]; first + n <= offsets[d + 1]; first += HASHED) {
                int64_t left = offsets[d + 1] - first, most = HASHED + n - 1;
                int64_t count = ngrams_hash(words + first, left < most ? left : most, n, hashes);
                int64_t kept = filter_hashes(table, hashes, count, passed);

                for (int64_t i = 0; i < kept; i++) {
                    int64_t entry = place_of(table, hashes[passed[i]]);
                    if (entry < 0)
                        continue;
                    if (found < room)
                        hits[found] = (struct ngram_hit){
                            (int32_t)d, (int32_t)(first - offsets[d] + passed[i]),
                            (uint32_t)entry};
                    found++;
                }
            }
        }
    return found;
}
