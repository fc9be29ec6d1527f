#include "distinct.h"

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

/* Double the places; at most half of the places are taken. */
static void widen_bag(struct sketch_bag *bag)
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
            widen_bag(bag);
    }
    return 1;
}

/* The fewest places for each member; with fewer, too many members would collide. */
#define LOAD 4

/* Return the key of a word; 0 marks an empty place, so it cannot be a key. */
static inline uint64_t key_of(uint64_t word) { return word | (word == 0); }

static uint64_t place_beyond(const struct sketch_set *set, uint64_t key, uint64_t place)
{
    while (set->places[place] != 0 && set->places[place] != key)
        place = (place + 1) & set->mask;
    return place;
}

/* Use enough places for about `expected` features; all places are empty. */
static void take_places(struct sketch_set *set, int64_t expected)
{
    int64_t most = expected < set->room ? expected : set->room;

    while ((int64_t)set->mask < LOAD * most)
        set->mask = 2 * set->mask + 1;
}

void sketch_set_begin(struct sketch_set *set, int64_t expected)
{
    set->count = 0;
    set->mask = SET_PLACES * SET_LEAST - 1;
    take_places(set, expected);
}

void sketch_set_end(struct sketch_set *set)
{
    memset(set->places, 0, (set->mask + 1) * sizeof *set->places);
    set->count = 0;
}

/* Double the places; `members` holds the keys in the meantime. */
static void widen_set(struct sketch_set *set)
{
    int64_t count = 0;

    for (uint64_t place = 0; place <= set->mask; place++) {
        set->members[count] = set->places[place];
        count += set->places[place] != 0;
    }
    sketch_set_end(set);
    set->mask = 2 * set->mask + 1;
    for (int64_t i = 0; i < count; i++)
        set->places[place_beyond(set, set->members[i], set->members[i] & set->mask)] =
            set->members[i];
    set->count = count;
}

/* Return whether a place holds another key.  Taking a minimum needs one branch, `&&` would need
   two, and whether a feature is new cannot be predicted. */
static inline int is_taken(uint64_t there, uint64_t key)
{
    uint64_t differing = there ^ key;

    return (there < differing ? there : differing) != 0;
}

/* Move the new features of first[start .. stop) after the `kept` earlier ones, and return the new
   number.  A feature moves without a branch; a place taken by another feature is rare. */
static int64_t keep_some(struct sketch_set *set, uint64_t *first, uint64_t *second,
                         int64_t start, int64_t stop, int64_t kept)
{
    const struct sketch_set now = *set;
    int64_t before = kept;

    for (int64_t i = start; i < stop; i++) {
        uint64_t word = first[i], other = second[i], key = word;
        uint64_t place = word & now.mask, there = now.places[place];

        if (is_taken(there, word) || word == 0) {
            key = key_of(word);
            place = place_beyond(&now, key, key & now.mask);
            there = now.places[place];
        }
        now.places[place] = key;
        first[kept] = word;
        second[kept] = other;
        kept += there == 0;
    }
    set->count += kept - before;
    return kept;
}

int64_t sketch_set_keep_new(struct sketch_set *set, uint64_t *first, uint64_t *second,
                            int64_t count)
{
    int64_t kept = 0;

    if (set->count == 0)
        take_places(set, count);
    /* Add no more features between two checks of the load than it leaves room for. */
    for (int64_t start = 0, stop; start < count; start = stop) {
        int64_t left = (int64_t)((set->mask + 1) / LOAD) - set->count;
        if (left <= 0) {
            if ((int64_t)(set->mask + 1) >= SET_PLACES * set->room)
                return -1;
            widen_set(set);
            left = (int64_t)((set->mask + 1) / LOAD) - set->count;
        }
        stop = count - start < left ? count : start + left;
        kept = keep_some(set, first, second, start, stop, kept);
    }
    return kept;
}
