/* The inner loops that have a variant per instruction set, and which of them is in use.

   Variants differ in speed only.  The scalar one is the definition. */
#ifndef SIMDB_SEARCH_KERNEL_H
#define SIMDB_SEARCH_KERNEL_H

#include <stddef.h>
#include <stdint.h>

/* A range of keys, each to be compared with one key. */
struct search_bucket {
    const uint64_t *start;
    const uint64_t *stop;
    uint64_t key;
    const struct search_column *column; /* what the range is of; not used by the comparison */
    uint32_t query;                     /* number of the query; likewise */
};

struct search_hit {
    const uint64_t *place;
    uint32_t bucket;   /* its number among those given */
    uint32_t distance; /* Hamming */
};

struct search_hits {
    struct search_hit *list;
    size_t count;
    size_t capacity; /* at least SEARCH_HITS_MIN */
};

enum { SEARCH_HITS_MIN = 8 };

/* One packed vector, unpacked for measuring others against it. */
struct search_weights {
    const int8_t *low;  /* weights of the low halves, `stride` of them; 0 beyond the width */
    const int8_t *high; /* of the high halves, likewise */
    int32_t sum;        /* of all weights */
    int32_t norm;       /* squared */
};

/* What flipping bits costs, and how far to go. */
struct search_flips {
    const uint8_t *costs; /* of each of 256 levels; SEARCH_NEVER: not at all */
    int32_t theta;        /* of all bits that are flipped together; at most SEARCH_THETA_MAX */
    size_t cap;           /* sets of bits, at least 1 */
};

enum {
    SEARCH_NEVER = 255,
    SEARCH_THETA_MAX = 64 * 254, /* no set costs more */
    SEARCH_CAP_MAX = 65536
};

/* Room for the sets of one header. */
static inline size_t search_sets_room(size_t cap)
{
    return 2 * cap + 8;
}

struct search_kernel {
    const char *name;

    /* keys[i] is fingerprints[i] with the bits of `mask` moved to the front. */
    void (*permute)(const uint64_t *fingerprints, size_t count, uint64_t mask, uint64_t *keys);

    /* The word whose key under `mask` is `key`. */
    uint64_t (*restore)(uint64_t key, uint64_t mask);

    /* Append to `hits`, in order, all keys within `distance` of their bucket's key.  Returns how
       many buckets are finished.  When `hits` has no room that is fewer than `count`, and the
       next bucket has been cut off at the start by what was looked at. */
    size_t (*measure)(struct search_bucket *buckets, size_t count, unsigned distance,
                      struct search_hits *hits);

    /* The same where all buckets have one range, of any length, when none has been cut off; then
       one of them may be as well.  Faster where they are many. */
    size_t (*measure_crowd)(struct search_bucket *buckets, size_t count, unsigned distance,
                            struct search_hits *hits);

    /* similarities[i] is the cosine of the query and the packed vector at places[i]. */
    void (*weigh)(const struct search_weights *query, const uint8_t *const *places, size_t count,
                  size_t width, float *similarities);

    /* The same of the packed vectors at lefts[i] and rights[i]. */
    void (*weigh_pairs)(const uint8_t *const *lefts, const uint8_t *const *rights, size_t count,
                        size_t width, float *similarities);

    /* Sets of header bits that may be flipped, the empty one first, the others in any order; each
       is what it costs << 32 | its bits.  The header is of the first `width` (at most 32) bits of
       a key; `order` says which weight is behind each, `levels` has the level of each weight.
       Returns how many sets there are; `limit` is theta, lowered so far that they are at most
       `cap`, or -1 where the empty set is the only one that need not be left out. */
    size_t (*flip)(const struct search_flips *flips, const uint8_t *levels, const uint8_t *order,
                   unsigned width, uint64_t *sets, int32_t *limit);

    /* The levels of the first 64 of `dimensions` weights of each of `count` rows. */
    void (*level_floats)(const float *weights, size_t count, size_t dimensions, uint8_t *levels);
    void (*level_wholes)(const int32_t *weights, size_t count, size_t dimensions, uint8_t *levels);

    /* The same of packed vectors of `width` (at least 32) bytes. */
    void (*level_packed)(const uint8_t *vectors, size_t count, size_t width, uint8_t *levels);
};

/* The variant in use; the fastest that the processor can run, until another is selected. */
extern const struct search_kernel *search_kernel;

/* Variant number `index` that this processor can run, the slowest first; NULL beyond the last. */
const struct search_kernel *search_variant(size_t index);

#endif
