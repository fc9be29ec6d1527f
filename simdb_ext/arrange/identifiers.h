/* Stored forms of ids: one tag byte, then the content; and ids that are all integers, packed.

   Integers that follow each other are packed as a head of 24 bytes and `width` bytes for each:

       tag u8 | width u8 | six zeros | first u64 | step u64 | numbers, little-endian

   The form of id i is the tag ('i' or 'u') and first + i * step + number i, modulo 2^64.  A width
   of 0, with no numbers at all, is a row: its step, read as a signed number, is not 0 if there are
   two ids or more, and is so small that no two ids are equal.  Another width has the step 0. */

#ifndef SIMDB_IDENTIFIERS_H
#define SIMDB_IDENTIFIERS_H

#include <stdint.h>

#define ARRANGE_ID_BYTES_MAX 1023 /* bytes of content, without the tag */
#define ARRANGE_INT_BYTES 8
#define ARRANGE_FORM_BYTES 9 /* of a stored int */
#define ARRANGE_HEAD_BYTES 24 /* of packed integers, before their numbers */
#define ARRANGE_KEY_BYTES 16 /* of the key of the hash */

/* The stored ids of the ordinals first .. first + count - 1, back to back in `content`; or packed
   integers, if `offsets` is NULL. */
struct arrange_segment {
    int64_t first;
    int64_t count;
    const uint32_t *offsets; /* count + 1 of them */
    const uint8_t *content;
    int64_t size;
};

/* One id: where its stored form is, or if that is NULL, the tag and the number of an int. */
struct arrange_form {
    const uint8_t *stored;
    uint64_t number;
    uint8_t tag;
};

/* What is known of packed integers. */
struct arrange_integers {
    uint64_t first;
    uint64_t step;
    uint8_t tag;
    uint8_t width;
};

/* Ids that are a row: those of the ordinals start .. start + count - 1; see above. */
struct arrange_row {
    uint64_t start;
    uint64_t count;
    uint64_t tag;
    uint64_t first;
    uint64_t step;
};

enum arrange_outcome {
    ARRANGE_FOUND,
    ARRANGE_MISSING, /* no segment has the ordinal */
    ARRANGE_TORN     /* the offsets of the id do not lie within the content */
};

/* Find the id of one ordinal: write it to `form` and the length of its stored form to `length`.
    Segments are sorted and disjoint. */
enum arrange_outcome arrange_locate_one(const struct arrange_segment *segments,
                                        int64_t segment_count, int64_t ordinal,
                                        struct arrange_form *form, int64_t *length);

/* Find the ids of `count` ordinals: write them to `forms`, and to offsets[0 .. count] where each
   id lies once their stored forms are copied back to back.  Return -1; or the first i that was not
   ARRANGE_FOUND, with the reason in *outcome. */
int64_t arrange_locate(const struct arrange_segment *segments, int64_t segment_count,
                       const uint32_t *ordinals, int64_t count, struct arrange_form *forms,
                       int64_t *offsets, enum arrange_outcome *outcome);

/* Copy the stored forms of located ids back to back into `content`. */
void arrange_gather(const struct arrange_form *forms, const int64_t *offsets, int64_t count,
                    uint8_t *content);

/* Write to found[q], for each of `count` given ids, the last of its candidates that has this id, or
   -1.  Id q is given[given_offsets[q] .. given_offsets[q + 1]], its candidates are
   ordinals[starts[q] .. starts[q + 1]], and starts[0] is 0.  Each is compared where it lies.
   Return -1; or the first candidate that was not ARRANGE_FOUND, with the reason in *outcome. */
int64_t arrange_find(const struct arrange_segment *segments, int64_t segment_count,
                     const uint32_t *ordinals, const int64_t *starts, int64_t count,
                     const int64_t *given_offsets, const uint8_t *given, int64_t *found,
                     enum arrange_outcome *outcome);

/* Return whether `count` stored forms of 9 bytes each are ints with one tag; if so, write how they
   are packed. */
int arrange_are_integers(const uint8_t *content, int64_t count, struct arrange_integers *out);

/* Return whether `count` stored forms of 9 bytes each are ints, with any tags. */
int arrange_are_ints(const uint8_t *content, int64_t count);

/* Pack `count` stored forms into the 24 + count * width bytes of `out`. */
void arrange_pack(const uint8_t *content, int64_t count, struct arrange_integers how,
                  uint8_t *out);

/* Return what the head of packed integers says. */
struct arrange_integers arrange_head(const uint8_t *packed);

/* Write the stored forms of `count` packed integers back to back into `content`. */
void arrange_unpack(const uint8_t *packed, int64_t count, uint8_t *content);

/* Write to found[q], for each of `count` given ids whose found[q] is negative, its ordinal in the
   rows, unless it is in none or its bit is set in the bitmap of `dead_size` bytes. */
void arrange_find_in_rows(const struct arrange_row *rows, int64_t row_count,
                          const int64_t *given_offsets, const uint8_t *given, int64_t count,
                          const uint8_t *dead, int64_t dead_size, int64_t *found);

/* A table of `size` ordinals sorted by hash, without the hashes: those under the header h are
   ordinals[directory[h] .. directory[h + 1]]. */
struct arrange_bare_table {
    const uint32_t *ordinals;
    int64_t size;
    const uint32_t *directory;
    int header_bits;
};

/* Write to starts[q + 1], after starts[0] = 0, how many ordinals are under the headers of the first
   q + 1 hashes and not in the bitmap, and these ordinals to `out` unless it is NULL. */
void arrange_candidates(const struct arrange_bare_table *table, const uint64_t *hashes,
                        int64_t count, const uint8_t *dead, int64_t dead_size, int64_t *starts,
                        uint32_t *out);

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
