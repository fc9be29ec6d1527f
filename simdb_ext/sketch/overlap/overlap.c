#include "overlap.h"

#include <string.h>

#include "mix.h"

/* The fewest slots for each feature: half of the slots are free, so that a search ends soon. */
#define SLOTS_EACH 2
#define SLOTS_LEAST 8

/* A hash table over the features of one document: a slot has the position of a feature plus 1, or
   0.  The number of a slot is the highest bits of a product of the hash, because hashes that a user
   gives need not be spread evenly. */
struct table {
    const uint64_t *hashes;
    uint32_t *slots;
    uint64_t last;
    int shift;
};

static inline uint64_t first_slot(const struct table *table, uint64_t hash)
{
    return hash * MIX_SECOND_WORD >> table->shift;
}

int64_t overlap_slots(int64_t count)
{
    int64_t slots = SLOTS_LEAST;

    while (slots < SLOTS_EACH * count)
        slots *= 2;
    return slots;
}

/* Enter the features of one document. */
static void fill(struct table *table, const uint64_t *hashes, int64_t count)
{
    int64_t slots = overlap_slots(count);

    table->hashes = hashes;
    table->last = (uint64_t)slots - 1;
    table->shift = 64 - __builtin_ctzll((unsigned long long)slots);
    memset(table->slots, 0, (size_t)slots * sizeof *table->slots);
    for (int64_t i = 0; i < count; i++) {
        uint64_t slot = first_slot(table, hashes[i]);

        while (table->slots[slot] != 0)
            slot = (slot + 1) & table->last;
        table->slots[slot] = (uint32_t)i + 1;
    }
}

/* Return the position of a feature, or -1. */
static inline int64_t find(const struct table *table, uint64_t hash)
{
    uint64_t slot = first_slot(table, hash);

    while (table->slots[slot] != 0) {
        if (table->hashes[table->slots[slot] - 1] == hash)
            return (int64_t)table->slots[slot] - 1;
        slot = (slot + 1) & table->last;
    }
    return -1;
}

/* Count the features that are in the table, until more than `missing_most` are not. */
static int64_t count_common(const struct table *table, const uint64_t *hashes, int64_t count,
                            int64_t missing_most)
{
    int64_t common = 0;

    for (int64_t i = 0; i < count && i - common <= missing_most; i++)
        common += find(table, hashes[i]) >= 0;
    return common;
}

static double sum_common(const struct table *table, const float *own, const uint64_t *hashes,
                         const float *weights, int64_t count, int is_least)
{
    double sum = 0;

    for (int64_t i = 0; i < count; i++) {
        int64_t at = find(table, hashes[i]);

        if (at < 0)
            continue;
        if (is_least)
            sum += own[at] < weights[i] ? own[at] : weights[i];
        else
            sum += (double)own[at] * (double)weights[i];
    }
    return sum;
}

void overlap_sums(const struct overlap_documents *documents, int is_least, int64_t missing_most,
                  const int64_t *left, const int64_t *right, int64_t pairs, uint32_t *slots,
                  double *sums)
{
    const int64_t *offsets = documents->offsets;
    struct table table = {.slots = slots};

    for (int64_t i = 0; i < pairs; i++) {
        int64_t own = offsets[left[i]], other = offsets[right[i]];
        int64_t count = offsets[right[i] + 1] - other;

        if (i == 0 || left[i] != left[i - 1])
            fill(&table, documents->hashes + own, offsets[left[i] + 1] - own);
        if (documents->weights == NULL)
            sums[i] =
                (double)count_common(&table, documents->hashes + other, count, missing_most);
        else
            sums[i] = sum_common(&table, documents->weights + own, documents->hashes + other,
                                 documents->weights + other, count, is_least);
    }
}
