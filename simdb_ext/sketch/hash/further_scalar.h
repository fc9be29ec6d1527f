/* The definition of `further`. */

#ifndef SIMDB_FURTHER_SCALAR_H
#define SIMDB_FURTHER_SCALAR_H

#include "mix.h"

static void further_scalar(const uint64_t *first, int64_t count, uint64_t *third,
                           uint64_t *fourth)
{
    for (int64_t i = 0; i < count; i++) {
        third[i] = mix_final(first[i] ^ MIX_THIRD_WORD);
        fourth[i] = mix_final(first[i] ^ MIX_FOURTH_WORD);
    }
}

#endif
