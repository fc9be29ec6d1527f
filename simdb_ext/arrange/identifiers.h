/* Stored forms of ids: one tag byte, then the content. */

#ifndef SIMDB_IDENTIFIERS_H
#define SIMDB_IDENTIFIERS_H

#include <stdint.h>

#define ARRANGE_ID_BYTES_MAX 1023 /* bytes of content, without the tag */
#define ARRANGE_INT_BYTES 8
#define ARRANGE_KEY_BYTES 16 /* of the key of the hash */

/* The stored ids of the ordinals first .. first + count - 1, back to back in `content`. */
struct arrange_segment {
    int64_t first;
    int64_t count;
    const uint32_t *offsets; /* count + 1 of them */
    const uint8_t *content;
    int64_t size;
};

enum arrange_outcome {
    ARRANGE_FOUND,
    ARRANGE_MISSING, /* no segment has the ordinal */
    ARRANGE_TORN     /* the offsets of the id do not lie within the content */
};

/* Find the stored id of one ordinal: write its address to `form` and its length to `length`.
    Segments are sorted and disjoint. */
enum arrange_outcome arrange_locate_one(const struct arrange_segment *segments,
                                        int64_t segment_count, int64_t ordinal,
                                        const uint8_t **form, int64_t *length);

/* Find the stored ids of `count` ordinals: write their addresses to `forms`, and to offsets[0 ..
   count] where each id lies once they are copied back to back.  Return -1; or the first i that was
   not ARRANGE_FOUND, with the reason in *outcome. */
int64_t arrange_locate(const struct arrange_segment *segments, int64_t segment_count,
                       const uint32_t *ordinals, int64_t count, const uint8_t **forms,
                       int64_t *offsets, enum arrange_outcome *outcome);

/* Copy located ids back to back into `content`. */
void arrange_gather(const uint8_t *const *forms, const int64_t *offsets, int64_t count,
                    uint8_t *content);

/* Write to found[q], for each of `count` given ids, the last of its candidates that has this id, or
   -1.  Id q is given[given_offsets[q] .. given_offsets[q + 1]], its candidates are
   ordinals[starts[q] .. starts[q + 1]], and starts[0] is 0.  Each is compared where it lies.
   Return -1; or the first candidate that was not ARRANGE_FOUND, with the reason in *outcome. */
int64_t arrange_find(const struct arrange_segment *segments, int64_t segment_count,
                     const uint32_t *ordinals, const int64_t *starts, int64_t count,
                     const int64_t *given_offsets, const uint8_t *given, int64_t *found,
                     enum arrange_outcome *outcome);

/* Write to hashes[i] SipHash-1-3 of id i under the 16 bytes of `key`; if that is NULL, the first
   word of MurmurHash3_x64_128, seed 0. */
void arrange_hash(const uint8_t *content, const int64_t *offsets, int64_t count,
                  const uint8_t *key, uint64_t *hashes);

/* Return whether 0 <= offsets[0] <= offsets[1] <= ... <= offsets[count] <= size. */
int arrange_are_within(const int64_t *offsets, int64_t count, int64_t size);

/* Write one stored id and return the number of bytes written. */
int64_t arrange_put(uint8_t *out, char tag, const void *content, int64_t length);
int64_t arrange_put_int(uint8_t *out, char tag, uint64_t number);

/* Return the number in the content of a stored int. */
uint64_t arrange_take_int(const uint8_t *content);

#endif
