/* Lines of files: where they end, how they begin, and ranges of them read again. */

#ifndef SIMDB_LINES_H
#define SIMDB_LINES_H

#include <stddef.h>
#include <stdint.h>

/* Return how many line feeds there are. */
int64_t arrange_count_feeds(const uint8_t *content, int64_t size);

/* Write the first byte of each of `count` texts, 0 of one whose length is not positive. */
void arrange_first_bytes(const uint64_t *addresses, const int64_t *lengths, int64_t count,
                         uint8_t *firsts);

/* Ranges that are no further apart are read by one call of the system, with what is between. */
#define ARRANGE_GAP 32768

/* Read ranges of an open file, which ascend, into `out`, one after the other.  Return how many
   bytes there are; fewer than asked if the file ends in a range; -1 for an error, see errno.
   `gap` has room for ARRANGE_GAP bytes that nobody needs. */
int64_t arrange_read_ranges(int descriptor, const int64_t *starts, const int64_t *stops,
                            int64_t count, uint8_t *out, uint8_t *gap);

#endif
