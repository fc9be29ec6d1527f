#include "bands.h"

#include "probing.h"

enum { HELD = 64 }; /* lookups whose memory is requested together */

/* One key in one run of one band. */
struct lookup {
    const struct search_column *column;
    uint64_t key, first;
    struct search_range range;
};

static uint64_t entry_of(const struct search_column *column, uint64_t key)
{
    return (column->shift < 64 ? key >> column->shift : 0) << column->spread;
}

static void accept(const struct lookup *lookup, const struct search_filter *filter,
                   struct search_found *found)
{
    const struct search_column *column = lookup->column;

    for (uint64_t i = lookup->range.start; i < lookup->range.stop; i++) {
        if (column->keys[i] != lookup->key)
            continue;
        if (!search_is_left_out(filter, column->ordinals[i]))
            search_add(found, 0, 0, column->ordinals[i]);
        if (found->count > found->capacity)
            return;
    }
}

/* Finish some look-ups whose directory entries were requested. */
static void finish(struct lookup *lookups, size_t count, const struct search_filter *filter,
                   struct search_found *found)
{
    uint64_t fetched = UINT64_MAX;

    for (size_t i = 0; i < count; i++) {
        struct lookup *lookup = &lookups[i];
        lookup->range = search_range_at(lookup->column, lookup->first, lookup->column->spread);
        if (lookup->range.start < lookup->range.stop) {
            search_fetch(lookup->column, lookup->range, &fetched);
            __builtin_prefetch(lookup->column->ordinals + lookup->range.start);
        }
    }
    for (size_t i = 0; i < count && found->count <= found->capacity; i++)
        accept(&lookups[i], filter, found);
}

void search_bands(const struct search_tables *const *bands, const uint64_t *keys, size_t count,
                  const struct search_filter *filter, struct search_found *found)
{
    struct lookup lookups[HELD];
    size_t held = 0;

    found->count = 0;
    for (size_t band = 0; band < count; band++)
        for (size_t run = 0; run < bands[band]->run_count; run++) {
            const struct search_column *column =
                &bands[band]->columns[run * bands[band]->table_count];
            uint64_t first = entry_of(column, keys[band]);

            if (!search_is_inside(column, first))
                continue;
            __builtin_prefetch(column->directory + first);
            lookups[held++] = (struct lookup){column, keys[band], first, {0, 0}};
            if (held == HELD) {
                finish(lookups, held, filter, found);
                held = 0;
            }
        }
    finish(lookups, held, filter, found);
}

size_t search_distinct(struct search_found *found, uint64_t *spare, uint32_t *ordinals)
{
    size_t count = 0;

    search_sort(found->ranks, spare, found->count);
    for (size_t i = 0; i < found->count; i++)
        if (i == 0 || found->ranks[i] != found->ranks[i - 1])
            ordinals[count++] = (uint32_t)found->ranks[i];
    return count;
}
