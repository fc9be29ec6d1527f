#include "tags.h"

enum { AHEAD = 32 }; /* ordinals between the request for a fingerprint and its use */

void arrange_tags(const uint64_t *keys, int64_t count, int header_bits, uint16_t *out)
{
    for (int64_t i = 0; i < count; i++)
        out[i] = (uint16_t)(keys[i] >> (48 - header_bits));
}

static const uint64_t *place_of(const uint64_t *const *segments, int segment_bits,
                                uint64_t number)
{
    return segments[number >> segment_bits] + (number & (((uint64_t)1 << segment_bits) - 1));
}

int64_t arrange_fingerprints(const uint32_t *ordinals, int64_t count, uint64_t start,
                             const uint64_t *const *segments, int segment_bits, uint64_t stored,
                             uint64_t *out)
{
    for (int64_t i = 0; i < count; i++) {
        uint64_t number = ordinals[i] - start;
        uint64_t ahead = ordinals[i + AHEAD < count ? i + AHEAD : i] - start;
        if (ahead < stored)
            __builtin_prefetch(place_of(segments, segment_bits, ahead));
        if (number >= stored)
            return i;
        out[i] = *place_of(segments, segment_bits, number);
    }
    return -1;
}
