#include "nearest.h"

#include "found.h"
#include "kernel.h"

enum {
    TILE_FIRST = 64, /* keys of the first tile, all of which may be hits */
    TILE = 2048,     /* keys that stay in the first-level cache while all queries pass */
    HITS = 256
};

/* Compare one tile of a column with one query. */
static void compare_tile(const struct search_tables *tables, const struct search_column *column,
                         uint64_t start, uint64_t stop, uint64_t key, struct search_best *best)
{
    struct search_bucket bucket = {column->keys + start, column->keys + stop, key, column, 0};
    struct search_hit list[HITS];
    size_t finished;

    do {
        struct search_hits hits = {list, 0, HITS};
        uint32_t reach = search_reach(best);
        finished = search_kernel->measure(&bucket, 1, reach < 64 ? reach : 64, &hits);
        for (size_t i = 0; i < hits.count; i++) {
            uint32_t ordinal = column->ordinals[list[i].place - column->keys];
            if (!search_marked(tables->dead, tables->dead_bytes, ordinal))
                search_offer(best, (uint64_t)list[i].distance << 32 | ordinal);
        }
    } while (finished == 0);
}

/* The tiles grow: the more keys were compared, the fewer of the next are among the best. */
static void compare_column(const struct search_tables *tables, const struct search_column *column,
                           const uint64_t *keys, size_t count, struct search_best *best)
{
    uint64_t last = column->window.last, size = TILE_FIRST, stop;

    for (uint64_t start = column->window.first; start < last; start = stop) {
        stop = last - start < size ? last : start + size;
        for (size_t query = 0; query < count; query++)
            compare_tile(tables, column, start, stop, keys[query], &best[query]);
        size = size < TILE ? 2 * size : TILE;
    }
}

void search_nearest(const struct search_tables *tables, const uint64_t *queries, size_t count,
                    uint64_t *keys, struct search_best *best)
{
    compare_column(tables, &tables->delta, queries, count, best);
    search_kernel->permute(queries, count, tables->masks[0], keys);
    /* Each table has all entries. */
    for (size_t run = 0; run < tables->run_count; run++)
        compare_column(tables, &tables->columns[run * tables->table_count], keys, count, best);
}
