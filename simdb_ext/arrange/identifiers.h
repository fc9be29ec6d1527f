/* Stored forms of ids: one tag byte and the content. */

#ifndef SIMDB_IDENTIFIERS_H
#define SIMDB_IDENTIFIERS_H

#include <stdint.h>

#define ARRANGE_ID_BYTES_MAX 1023 /* of content */
#define ARRANGE_INT_BYTES 8

/* The ids of the ordinals first .. first + count - 1, one after the other. */
struct arrange_segment {
    int64_t first;
    int64_t count;
    const uint32_t *offsets; /* count + 1 */
    const uint8_t *content;
    int64_t size;
};

enum arrange_outcome {
    ARRANGE_FOUND,
    ARRANGE_MISSING, /* no segment has the ordinal */
    ARRANGE_TORN     /* the offsets do not lie within the content */
};

/* Where the id of one ordinal is.  Segments are sorted and disjoint. */
enum arrange_outcome arrange_locate_one(const struct arrange_segment *segments,
                                        int64_t segment_count, int64_t ordinal,
                                        const uint8_t **form, int64_t *length);

/* Where the ids of many are, and offsets[count + 1] of their copies one after the other.  Returns
   -1, or the first i that was not ARRANGE_FOUND and in *outcome why. */
int64_t arrange_locate(const struct arrange_segment *segments, int64_t segment_count,
                       const uint32_t *ordinals, int64_t count, const uint8_t **forms,
                       int64_t *offsets, enum arrange_outcome *outcome);

/* The copies themselves. */
void arrange_gather(const uint8_t *const *forms, const int64_t *offsets, int64_t count,
                    uint8_t *content);

/* is_equal[i] = 1 where the located id i is given[given_offsets[i] .. given_offsets[i + 1]]. */
void arrange_equal(const uint8_t *const *forms, const int64_t *offsets, int64_t count,
                   const int64_t *given_offsets, const uint8_t *given, uint8_t *is_equal);

/* hashes[i] = first word of MurmurHash3_x64_128, seed 0, of id i. */
void arrange_hash(const uint8_t *content, const int64_t *offsets, int64_t count,
                  uint64_t *hashes);

/* Whether 0 <= offsets[0] <= offsets[1] <= ... <= offsets[count] <= size. */
int arrange_are_within(const int64_t *offsets, int64_t count, int64_t size);

/* Write one stored form; returns the bytes written. */
int64_t arrange_put(uint8_t *out, char tag, const void *content, int64_t length);
int64_t arrange_put_int(uint8_t *out, char tag, uint64_t number);

/* The number of a stored form of an int. */
uint64_t arrange_take_int(const uint8_t *content);

#endif
