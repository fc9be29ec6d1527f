#include "bag.h"

#include <string.h>

static void clear_slots(struct sketch_bag *bag, uint64_t places)
{
    bag->slot_mask = places - 1;
    memset(bag->slots, 0, places * sizeof *bag->slots);
}

void sketch_bag_clear(struct sketch_bag *bag, int64_t expected)
{
    uint64_t places = 2 * BAG_LEAST;

    while (places < 2 * (uint64_t)expected && places < 2 * (uint64_t)bag->room)
        places *= 2;
    bag->count = 0;
    clear_slots(bag, places);
}

/* Return the place of a feature, or the empty place for it. */
static inline uint64_t place_of(const struct sketch_bag *bag, uint64_t first, uint64_t second)
{
    uint64_t place = first & bag->slot_mask;

    for (uint32_t number; (number = bag->slots[place]) != 0;
         place = (place + 1) & bag->slot_mask)
        if (bag->first[number - 1] == first && bag->second[number - 1] == second)
            break;
    return place;
}

/* Double the places; there are never more than half as many features as places. */
static void widen(struct sketch_bag *bag)
{
    clear_slots(bag, 2 * (bag->slot_mask + 1));
    for (int64_t i = 0; i < bag->count; i++)
        bag->slots[place_of(bag, bag->first[i], bag->second[i])] = (uint32_t)(i + 1);
}

int sketch_bag_add(struct sketch_bag *bag, const uint64_t *first, const uint64_t *second,
                   int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        uint64_t place = place_of(bag, first[i], second[i]);

        if (bag->slots[place] != 0) {
            bag->counts[bag->slots[place] - 1]++;
            continue;
        }
        if (bag->count == bag->room)
            return 0;
        bag->first[bag->count] = first[i];
        bag->second[bag->count] = second[i];
        bag->counts[bag->count] = 1;
        bag->slots[place] = (uint32_t)++bag->count;
        if (2 * (uint64_t)bag->count > bag->slot_mask)
            widen(bag);
    }
    return 1;
}
