#include "sort.h"

#include <string.h>

#include "sort_part.h"

#define LINE_BYTES 64

/* Return `size` rounded up to whole cache lines. */
static size_t lines(size_t size) { return (size + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES; }

size_t arrange_sort_scratch(int64_t count)
{
    size_t entries = count > SORT_FEW ? (size_t)count : 0;

    return LINE_BYTES + lines(entries * sizeof(uint64_t)) + lines(entries * sizeof(uint32_t));
}

void arrange_sort(uint64_t *keys, uint32_t *ordinals, int64_t count, void *scratch)
{
    struct sort_part here = {keys, ordinals}, there;
    uint8_t *free = scratch;

    free += -(uintptr_t)free % LINE_BYTES;
    there.keys = (uint64_t *)free;
    free += lines((size_t)count * sizeof *keys);
    there.ordinals = (uint32_t *)free;
    sort_part(here, there, count, 64, 0);
}
