/* Whether keys are sorted. */

#ifndef SIMDB_DESCENT_H
#define SIMDB_DESCENT_H

#include <stdint.h>

/* Position of the first key that is smaller than the one before it, or -1. */
typedef int64_t arrange_descent_function(const uint64_t *keys, int64_t count);

#endif
