/* Lines of files: count them, look at their first bytes, and read ranges of them again. */

#ifndef SIMDB_LINES_H
#define SIMDB_LINES_H

#include <stddef.h>
#include <stdint.h>

/* Return the number of line feeds. */
int64_t arrange_count_feeds(const uint8_t *content, int64_t size);

/* Write the first byte of each of `count` texts; 0 if its length is not positive. */
void arrange_first_bytes(const uint64_t *addresses, const int64_t *lengths, int64_t count,
                         uint8_t *firsts);

/* Ranges with at most this many bytes between them are read, gap included, by one system call. */
#define ARRANGE_GAP 32768

/* Read ascending ranges of an open file into `out`, back to back.  Return the number of bytes read,
   which is smaller if the file ends within a range, or -1 for an error, with its number in errno.
   `gap` has room for ARRANGE_GAP bytes, where the bytes between ranges go. */
int64_t arrange_read_ranges(int descriptor, const int64_t *starts, const int64_t *stops,
                            int64_t count, uint8_t *out, uint8_t *gap);

#endif
