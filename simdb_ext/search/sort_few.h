/* Sorting a few words in place by insertion; setting up any other method would take longer. */
#ifndef SIMDB_SEARCH_SORT_FEW_H
#define SIMDB_SEARCH_SORT_FEW_H

#include <stddef.h>
#include <stdint.h>

static inline void search_sort_few(uint64_t *words, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        uint64_t word = words[i];
        size_t j = i;
        for (; j > 0 && words[j - 1] > word; j--)
            words[j] = words[j - 1];
        words[j] = word;
    }
}

#endif
