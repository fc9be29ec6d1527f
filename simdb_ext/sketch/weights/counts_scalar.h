/* The definition of `counts`. */

#ifndef SIMDB_COUNTS_SCALAR_H
#define SIMDB_COUNTS_SCALAR_H

#include <stdint.h>

static void counts_scalar(const uint64_t *first, const uint64_t *second, int64_t count,
                          uint32_t *ones)
{
    for (int64_t i = 0; i < count; i++)
        for (int j = 0; j < 64; j++) {
            ones[j] += first[i] >> j & 1;
            ones[64 + j] += second[i] >> j & 1;
        }
}

#endif
