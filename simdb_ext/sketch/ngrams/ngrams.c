#include "ngrams.h"

#include "mix.h"

#define HASHED 1024 /* n-grams whose hashes are made at a time; they stay in the cache */

/* Return a word with the two bits of a hash in its word of the filter. */
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

/* Return the place of a hash in the table, -1 if it is not there. */
static inline int64_t place_of(const struct ngram_table *table, uint64_t hash)
{
    uint64_t slot = table->shift < 64 ? hash >> table->shift : 0;
    uint32_t stop = table->directory[slot + 1];

    for (uint32_t i = table->directory[slot]; i < stop; i++)
        if (table->hashes[i] == hash)
            return i;
    return -1;
}

int64_t ngrams_find(const struct ngram_table *table, const uint64_t *words,
                    const int64_t *offsets, int64_t documents, const int32_t *lengths,
                    int length_count, struct ngram_hit *hits, int64_t room)
{
    uint64_t hashes[HASHED];
    int64_t found = 0;

    for (int64_t d = 0; d < documents; d++)
        for (int k = 0; k < length_count; k++) {
            int n = lengths[k];
            for (int64_t first = offsets[d]; first + n <= offsets[d + 1]; first += HASHED) {
                int64_t left = offsets[d + 1] - first, most = HASHED + n - 1;
                int64_t count = ngrams_hash(words + first, left < most ? left : most, n, hashes);

                for (int64_t i = 0; i < count; i++) {
                    uint64_t hash = hashes[i], bits = filter_bits(hash);
                    int64_t entry;
                    if ((table->filter[hash & table->last_word] & bits) != bits ||
                        (entry = place_of(table, hash)) < 0)
                        continue;
                    if (found < room)
                        hits[found] = (struct ngram_hit){(int32_t)d,
                                                         (int32_t)(first - offsets[d] + i),
                                                         (uint32_t)entry};
                    found++;
                }
            }
        }
    return found;
}

#define CHANGES ((ALIGN_CHANGED + 1) * (ALIGN_CHANGED + 1) - 1)

/* How many words of the document and of the item to pass over, the smallest changes first. */
static const struct {
    int8_t document, item;
} CHANGE[CHANGES] = {
    {0, 1}, {1, 0}, {1, 1}, {0, 2}, {2, 0}, {1, 2}, {2, 1}, {2, 2},
    {0, 3}, {3, 0}, {1, 3}, {3, 1}, {2, 3}, {3, 2}, {3, 3},
};

static inline int is_equal(struct align_words document, struct align_words item, int64_t at,
                           int64_t own)
{
    return 0 <= at && at < document.count && 0 <= own && own < item.count &&
           document.words[at] == item.words[own];
}

static int is_equal_again(struct align_words document, struct align_words item, int64_t at,
                          int64_t own, int step)
{
    for (int i = 0; i < ALIGN_AGAIN; i++)
        if (!is_equal(document, item, at + i * step, own + i * step))
            return 0;
    return 1;
}

/* Follow equal words from two positions on, forwards or backwards, and over changes.  Mark them,
   and put the positions of the last of them into `at` and `own`, which stay if there are none. */
static void follow(struct align_words document, struct align_words item, int64_t *at, int64_t *own,
                   int step, uint8_t *equal)
{
    int64_t next = *at + step, next_own = *own + step;

    for (;;) {
        while (is_equal(document, item, next, next_own)) {
            equal[next_own] = 1;
            *at = next;
            *own = next_own;
            next += step;
            next_own += step;
        }
        int change = 0;
        while (change < CHANGES &&
               !is_equal_again(document, item, next + step * CHANGE[change].document,
                               next_own + step * CHANGE[change].item, step))
            change++;
        if (change == CHANGES)
            return;
        next += step * CHANGE[change].document;
        next_own += step * CHANGE[change].item;
    }
}

static int holds(const struct align_passage *passage, struct align_run run)
{
    return passage->document_start <= run.document &&
           run.document + run.length <= passage->document_stop &&
           passage->item_start <= run.item && run.item + run.length <= passage->item_stop;
}

int64_t align_grow(struct align_words document, struct align_words item,
                   const struct align_run *runs, int64_t count, int64_t pair,
                   struct align_passage *found, uint8_t *equal)
{
    int64_t passages = 0;

    for (int64_t i = 0; i < count; i++) {
        int64_t known = 0;
        while (known < passages && !holds(&found[known], runs[i]))
            known++;
        if (known < passages)
            continue;
        int64_t first = runs[i].document, first_own = runs[i].item;
        int64_t last = first + runs[i].length - 1, last_own = first_own + runs[i].length - 1;
        for (int64_t own = first_own; own <= last_own; own++)
            equal[own] = 1;
        follow(document, item, &last, &last_own, 1, equal);
        follow(document, item, &first, &first_own, -1, equal);
        found[passages++] =
            (struct align_passage){pair, first, last + 1, first_own, last_own + 1};
    }
    return passages;
}
