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
