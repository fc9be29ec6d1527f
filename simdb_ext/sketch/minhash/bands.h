/* Keys of the bands of signatures. */

#ifndef SIMDB_BANDS_H
#define SIMDB_BANDS_H

#include <stdint.h>

/* Write to keys[i * bands + b] the hash of b and of the minima b * rows .. b * rows + rows - 1 of
   signature i.  Minima have `size` bytes, 1 or 4; signatures lie `width` minima apart. */
void bands_keys(const void *minima, int size, int64_t count, int width, int bands, int rows,
                uint64_t *keys);

#endif
