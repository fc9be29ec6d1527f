#include "variants.h"

/* For each rotation to the left, collect the targets of the bits that it moves. */
static void collect(uint64_t mask, uint64_t by_turn[ARRANGE_WORD_BITS])
{
    int target = ARRANGE_WORD_BITS - 1;

    for (int is_leading = 1; is_leading >= 0; is_leading--)
        for (int bit = ARRANGE_WORD_BITS - 1; bit >= 0; bit--)
            if ((int)(mask >> bit & 1) == is_leading)
                by_turn[(target - bit) & 63] |= (uint64_t)1 << target, target--;
}

static void add(struct arrange_rotations *rotations, int turn, uint64_t targets)
{
    if (targets == 0)
        return;
    rotations->turns[rotations->count] = turn;
    rotations->targets[rotations->count] = targets;
    rotations->count++;
}

struct arrange_rotations arrange_leading(uint64_t mask)
{
    struct arrange_rotations rotations = {0};
    uint64_t by_turn[ARRANGE_WORD_BITS] = {0};

    collect(mask, by_turn);
    for (int turn = 0; turn < ARRANGE_WORD_BITS; turn++)
        add(&rotations, turn, by_turn[turn]);
    return rotations;
}

struct arrange_rotations arrange_trailing(uint64_t mask)
{
    struct arrange_rotations rotations = {0};
    uint64_t by_turn[ARRANGE_WORD_BITS] = {0};

    collect(mask, by_turn);
    for (int turn = 0; turn < ARRANGE_WORD_BITS; turn++) {
        uint64_t sources = by_turn[turn] >> turn | by_turn[turn] << (-turn & 63);

        add(&rotations, -turn & 63, sources);
    }
    return rotations;
}
