/* In how many places two signatures agree. */

#ifndef SIMDB_AGREE_H
#define SIMDB_AGREE_H

#include <stdint.h>

/* Write to agreeing[i] in how many of `width` places row i of `right` equals row i of `left`, or
   the only row of `left` if `is_one`.  Minima have 1 or 4 bytes. */
typedef void agree_function(const void *left, int is_one, const void *right, int64_t count,
                            int width, uint16_t *agreeing);

struct agree_functions {
    agree_function *narrow; /* minima of 1 byte */
    agree_function *wide;   /* minima of 4 bytes */
};

#endif
