/* Checking that keys are sorted. */

#ifndef SIMDB_DESCENT_H
#define SIMDB_DESCENT_H

#include <stdint.h>

/* Return the position of the first key that is smaller than the key before it, or -1 if the keys
   ascend. */
typedef int64_t arrange_descent_function(const uint64_t *keys, int64_t count);

#endif
