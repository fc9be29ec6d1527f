/* Stored forms of ids (one tag byte, then the content), and packed forms of ids that are integers.

   Packed integers are a head of 24 bytes and `width` bytes for each id:

       tag u8 | width u8 | six zeros | first u64 | step u64 | numbers, little-endian.

   The form of id i is the tag ('i' or 'u') and first + i * step + number i, modulo 2^64.

   Width 0 has no numbers and means a row.  All ids of a row differ: with two or more, its step, as
   a signed number, is not 0 and is small enough.  Any other width has the step 0. */

#ifndef SIMDB_IDENTIFIERS_H
#define SIMDB_IDENTIFIERS_H

#include <stdint.h>

#define ARRANGE_ID_BYTES_MAX 1023 /* bytes of content, without the tag */
#define ARRANGE_INT_BYTES 8
#define ARRANGE_FORM_BYTES 9 /* bytes of the stored form of an int */
#define ARRANGE_HEAD_BYTES 24 /* bytes before the numbers of packed integers */
#define ARRANGE_KEY_BYTES 16 /* bytes of the key of the hash */

/* The stored ids of the ordinals first .. first + count - 1, back to back in `content`; packed
   integers if `offsets` is NULL. */
struct arrange_segment {
    int64_t first;
    int64_t count;
    const uint32_t *offsets; /* count + 1 offsets */
    const uint8_t *content;
    int64_t size;
};

/* One id: the address of its stored form; if that is NULL, the tag and number of an int. */
struct arrange_form {
    const uint8_t *stored;
    uint64_t number;
    uint8_t tag;
};

/* The head of packed integers. */
struct arrange_integers {
    uint64_t first;
    uint64_t step;
    uint8_t tag;
    uint8_t width;
};

/* A row: the ids of the ordinals start .. start + count - 1; see above. */
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

/* Find the ids of `count` ordinals: write them to `forms`.  Write to offsets[0 .. count] where each
   stored form begins once they are copied back to back.  Return -1, or the first i that was not
   ARRANGE_FOUND, with the reason in *outcome. */
int64_t arrange_locate(const struct arrange_segment *segments, int64_t segment_count,
                       const uint32_t *ordinals, int64_t count, struct arrange_form *forms,
                       int64_t *offsets, enum arrange_outcome *outcome);

/* Copy the stored forms of located ids back to back into `content`. */
void arrange_gather(const struct arrange_form *forms, const int64_t *offsets, int64_t count,
                    uint8_t *content);

/* For each of `count` given ids, write to found[q] the last of its candidates that has this id, or
   -1.  Id q is given[given_offsets[q] .. given_offsets[q + 1]], its candidates are
   ordinals[starts[q] .. starts[q + 1]], and starts[0] is 0.  No form is copied.  Return -1, or the
   first candidate that was not ARRANGE_FOUND, with the reason in *outcome. */
int64_t arrange_find(const struct arrange_segment *segments, int64_t segment_count,
                     const uint32_t *ordinals, const int64_t *starts, int64_t count,
                     const int64_t *given_offsets, const uint8_t *given, int64_t *found,
                     enum arrange_outcome *outcome);

/* Return whether `count` stored forms of 9 bytes each are ints with one tag.  If so, write the head
   with which they are packed. */
int arrange_are_integers(const uint8_t *content, int64_t count, struct arrange_integers *out);

/* Return whether `count` stored forms of 9 bytes each are ints, with any tags. */
int arrange_are_ints(const uint8_t *content, int64_t count);

/* Pack `count` stored forms into the 24 + count * width bytes of `out`. */
void arrange_pack(const uint8_t *content, int64_t count, struct arrange_integers how,
                  uint8_t *out);

/* Return the head of packed integers. */
struct arrange_integers arrange_head(const uint8_t *packed);

/* Write the stored forms of `count` packed integers back to back into `content`. */
void arrange_unpack(const uint8_t *packed, int64_t count, uint8_t *content);

/* For each of `count` given ids with a negative found[q], write its ordinal in the rows there.  Ids
   in no row, and ordinals in the bitmap `dead` of `dead_size` bytes, are skipped. */
void arrange_find_in_rows(const struct arrange_row *rows, int64_t row_count,
                          const int64_t *given_offsets, const uint8_t *given, int64_t count,
                          const uint8_t *dead, int64_t dead_size, int64_t *found);

/* A table of `size` ordinals sorted by hash, which does not hold the hashes: header h has the
   ordinals[directory[h] .. directory[h + 1]]. */
struct arrange_bare_table {
    const uint32_t *ordinals;
    int64_t size;
    const uint32_t *directory;
    int header_bits;
};

/* Write starts[0 .. count]: the candidates of hash q are entries starts[q] to starts[q + 1] of
   `out`, the ordinals of its header that are not in the bitmap.  If `out` is NULL, only `starts` is
   written. */
void arrange_candidates(const struct arrange_bare_table *table, const uint64_t *hashes,
                        int64_t count, const uint8_t *dead, int64_t dead_size, int64_t *starts,
                        uint32_t *out);

/* Write to hashes[i] the SipHash-1-3 of id i under the 16 bytes of `key`.  If `key` is NULL, write
   the first word of its MurmurHash3_x64_128, seed 0. */
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
