#include "partition.h"

enum { DIGIT_VALUES = 256, LOWER = 48, UPPER = 56 };

static void turn_to_places(uint32_t *counts)
{
    uint32_t place = 0;

    for (size_t value = 0; value < DIGIT_VALUES; value++) {
        uint32_t entries = counts[value];
        counts[value] = place;
        place += entries;
    }
}

void search_partition(uint64_t *keys, size_t count, uint32_t *numbers, uint64_t *spare_keys,
                      uint32_t *spare_numbers)
{
    uint32_t lower[DIGIT_VALUES] = {0}, upper[DIGIT_VALUES] = {0};

    for (size_t i = 0; i < count; i++) {
        lower[keys[i] >> LOWER & 255]++;
        upper[keys[i] >> UPPER]++;
    }
    turn_to_places(lower);
    turn_to_places(upper);
    for (size_t i = 0; i < count; i++) {
        uint32_t place = lower[keys[i] >> LOWER & 255]++;
        spare_keys[place] = keys[i];
        spare_numbers[place] = (uint32_t)i;
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t place = upper[spare_keys[i] >> UPPER]++;
        keys[place] = spare_keys[i];
        numbers[place] = spare_numbers[i];
    }
}
