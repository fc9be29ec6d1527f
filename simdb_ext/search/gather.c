#include "gather.h"

#include <string.h>

void search_gather_sort(const struct search_gathering *gathering, unsigned width)
{
    uint32_t places[(size_t)1 << GATHER_BITS], place = 0;
    unsigned bits = width < GATHER_BITS ? width : GATHER_BITS;
    unsigned shift = 32 + width - bits;

    memset(places, 0, sizeof *places << bits);
    for (size_t i = 0; i < gathering->count; i++)
        places[gathering->probes[i] >> shift]++;
    for (size_t value = 0; value < (size_t)1 << bits; value++) {
        uint32_t entries = places[value];
        places[value] = place;
        place += entries;
    }
    for (size_t i = 0; i < gathering->count; i++)
        gathering->sorted[places[gathering->probes[i] >> shift]++] = gathering->probes[i];
}

void search_partition(const uint64_t *keys, size_t count, uint64_t *sorted, uint32_t *numbers,
                      uint32_t *places)
{
    unsigned bits = 63 - (unsigned)__builtin_clzll(count | 1);
    uint32_t place = 0;

    bits = bits < 1 ? 1 : bits < PARTITION_BITS ? bits : PARTITION_BITS;
    memset(places, 0, sizeof *places << bits);
    for (size_t i = 0; i < count; i++)
        places[keys[i] >> (64 - bits)]++;
    for (size_t value = 0; value < (size_t)1 << bits; value++) {
        uint32_t entries = places[value];
        places[value] = place;
        place += entries;
    }
    for (size_t i = 0; i < count; i++)
        numbers[places[keys[i] >> (64 - bits)]++] = (uint32_t)i;
    /* Reading from places all over memory costs less than writing there. */
    for (size_t i = 0; i < count; i++)
        sorted[i] = keys[numbers[i]];
}
