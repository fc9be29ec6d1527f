/* A checksum of the entries of a table that does not depend on their order. */

#ifndef SIMDB_ENTRY_SUM_H
#define SIMDB_ENTRY_SUM_H

#include <stdint.h>

/* Each entry counts as key + (low + a * ordinal) * (high + b * ordinal), where low and high are the
   halves of its key, the two factors are taken modulo 2^32 and all else modulo 2^64.  Return the
   sum of all entries.  The sum of two tables is the sum of their sums. */
#define ENTRY_SUM_LOW 0x9E3779B1u
#define ENTRY_SUM_HIGH 0x85EBCA77u

typedef uint64_t arrange_entry_sum_function(const uint64_t *keys, const uint32_t *ordinals,
                                            int64_t count);

#endif
