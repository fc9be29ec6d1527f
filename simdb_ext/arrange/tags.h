/* Tags: the part of its keys that a table of headers stores.  The rest is in the fingerprints,
   which are stored by ordinal. */

#ifndef SIMDB_TAGS_H
#define SIMDB_TAGS_H

#include <stdint.h>

/* Write the 16 bits of each key after its first `header_bits` bits, at most 48. */
void arrange_tags(const uint64_t *keys, int64_t count, int header_bits, uint16_t *out);

/* Write the fingerprint of each ordinal.  The `stored` fingerprints, starting at ordinal `start`,
   lie in segments of 2**segment_bits.  Return -1, or the position of the first ordinal without
   one. */
int64_t arrange_fingerprints(const uint32_t *ordinals, int64_t count, uint64_t start,
                             const uint64_t *const *segments, int segment_bits, uint64_t stored,
                             uint64_t *out);

#endif
