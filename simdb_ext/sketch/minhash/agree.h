/* In how many places signatures have the same minima. */

#ifndef SIMDB_AGREE_H
#define SIMDB_AGREE_H

#include <stdint.h>

/* agreeing[i] = in how many of `width` places row i of `right` and row i of `left` (the one row of
   `left` where is_one) are equal; minima of 1 or 4 bytes. */
typedef void agree_function(const void *left, int is_one, const void *right, int64_t count,
                            int width, uint16_t *agreeing);

struct agree_functions {
    agree_function *narrow; /* minima of 1 byte */
    agree_function *wide;   /* of 4 bytes */
};

#endif
