/* The inner loops that have a variant for each instruction set, and which variant is in use.

   Variants differ in speed only; the scalar variant is the definition. */
#ifndef SIMDB_SEARCH_KERNEL_H
#define SIMDB_SEARCH_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#include "candidates.h"

/* A key; another key is near if at most `most` of the bits `counted` differ. */
struct search_wanted {
    uint64_t key;
    uint64_t counted;
    uint32_t most;
};

/* Return whether a key with this difference from the wanted one is near. */
static inline int search_is_near(uint64_t difference, const struct search_wanted *wanted)
{
    return (uint32_t)__builtin_popcountll(difference & wanted->counted) <= wanted->most;
}

/* A range of keys, all to be compared with one key. */
struct search_bucket {
    const uint64_t *start;
    const uint64_t *stop;
    struct search_wanted wanted;
    const struct search_column *column; /* column of the range; ignored by the comparison */
    uint32_t query;                     /* number of the query; ignored by the comparison */
};

struct search_hit {
    const uint64_t *place;
    uint32_t bucket;   /* index of its bucket among those measured */
    uint32_t distance; /* Hamming distance of all bits */
};

struct search_hits {
    struct search_hit *list;
    size_t count;
    size_t capacity; /* at least SEARCH_HITS_MIN */
};

enum { SEARCH_HITS_MIN = 8 };

/* Neighbouring tags of a table of headers, all to be compared with one tag. */
struct search_tag_range {
    const uint16_t *start;
    const uint16_t *stop;
    const uint16_t *first; /* the first tag of the column */
    const uint16_t *last;  /* the last 16 tags of the column; NULL if it has fewer */
    const struct search_column *column; /* ignored by the comparison */
    uint32_t query;                     /* ignored by the comparison */
    uint16_t tag;
    uint16_t most; /* bits in which a near tag may differ */
};

struct search_tag_hit {
    const uint16_t *place;
    uint32_t range; /* index of its range among those measured */
};

struct search_tag_hits {
    struct search_tag_hit *list;
    size_t count;
    size_t capacity; /* at least 1 */
};

/* One packed vector, unpacked so that others can be compared with it. */
struct search_weights {
    const int8_t *low;  /* weights of the low halves, padded with 0 to whole registers */
    const int8_t *high; /* weights of the high halves, padded in the same way */
    int32_t sum;        /* of all weights */
    int32_t norm;       /* sum of the squares of all weights */
};

/* Neighbouring keys of a table of cross-polytope keys, to be compared with one query. */
struct search_stretch {
    const uint64_t *keys;
    uint32_t count;
    uint32_t place; /* index of the column * SEARCH_SIFTING + index of the query */
};

/* A key that is near enough. */
struct search_sifted {
    const uint64_t *key;
    uint32_t place; /* of its stretch */
};

/* A near key that waits until several are measured together. */
struct search_near {
    uint64_t key;
    uint32_t entry; /* position in its column */
    uint32_t place;
};

enum {
    SEARCH_SIFTING = 1 << 14, /* the largest number of queries whose keys are compared together */
    SEARCH_SIFTED_MIN = 16    /* keys for which `sift` needs room before each stretch */
};

/* The costs of flipping bits, and limits on them. */
struct search_flips {
    const uint8_t *costs; /* one for each of 256 levels; SEARCH_NEVER: never flipped */
    int32_t theta;        /* limit on the total cost of a set; at most SEARCH_THETA_MAX */
    size_t cap;           /* limit on the number of sets, at least 1 */
};

enum {
    SEARCH_SETS_MORE = 32, /* sets beyond 2 * cap that trigger a choice of the first */
    SEARCH_SETS_OVER = 8,  /* words that may be overwritten after the last set */
    SEARCH_NEVER = 255,
    SEARCH_THETA_MAX = 64 * 254, /* no set of bits costs more */
    SEARCH_CAP_MAX = 65536
};

/* Return the number of sets for which `flip` and `flip_first` need room. */
static inline size_t search_sets_room(size_t cap)
{
    return 2 * (4 * cap + 2 * SEARCH_SETS_MORE + SEARCH_SETS_OVER);
}

/* Return whether at most `flips` of the bits of `mask` are set in `difference`; always 0 if flips
   is negative. */
static inline int search_is_reached(uint64_t difference, uint64_t mask, int flips)
{
    for (uint64_t word = difference & mask; word != 0 && flips >= 0; word &= word - 1)
        flips--;
    return flips >= 0;
}

struct search_kernel {
    const char *name;

    /* Write to keys[i] fingerprints[i] with the bits of `mask` moved to the front. */
    void (*permute)(const uint64_t *fingerprints, size_t count, uint64_t mask, uint64_t *keys);

    /* Return the fingerprint whose key under `mask` is `key`. */
    uint64_t (*restore)(uint64_t key, uint64_t mask);

    /* Return the first of the tables `table` .. `count` that reaches a key with this difference
       from the query, or `count` if none does.  The key is one of `table`.  Table t reaches a key
       if at most flips[t] of the bits masks[t] of the fingerprint differ; a negative flips[t]
       reaches nothing. */
    size_t (*first_reached)(uint64_t difference, const uint64_t *masks, const int8_t *flips,
                            size_t table, size_t count);

    /* Append to `hits`, in order, all keys that are near the key of their bucket; return the number
       of finished buckets.  If `hits` fills up, that number is below `count`, and the start of the
       next bucket has moved past the keys that were compared. */
    size_t (*measure)(struct search_bucket *buckets, size_t count, struct search_hits *hits);

    /* Do what `measure` does for buckets that share one range, of any length; faster for many
       buckets.  Only the start of the first bucket may have moved before. */
    size_t (*measure_crowd)(struct search_bucket *buckets, size_t count,
                            struct search_hits *hits);

    /* Write to similarities[i] the cosine of the query and the packed vector at places[i]. */
    void (*weigh)(const struct search_weights *query, const uint8_t *const *places, size_t count,
                  size_t width, float *similarities);

    /* Write to similarities[i] the cosine of the packed vectors at lefts[i] and rights[i]. */
    void (*weigh_pairs)(const uint8_t *const *lefts, const uint8_t *const *rights, size_t count,
                        size_t width, float *similarities);

    /* Write the number of bits in which the hashes at lefts[i] and rights[i] differ.  The width is
       a multiple of 4 bytes. */
    void (*differ_pairs)(const uint8_t *const *lefts, const uint8_t *const *rights, size_t count,
                         size_t width, uint16_t *distances);

    /* Write to `near`, in order, the neighbouring hashes that differ from the query in at most
       `most` bits, as distance << 16 | index.  There are at most 65,536 hashes, and `near` has room
       for all.  Return the number written. */
    size_t (*near_hashes)(const uint8_t *query, const uint8_t *hashes, size_t count, size_t width,
                          uint32_t most, uint32_t *near);

    /* Enumerate the sets of header bits that may be flipped, each as cost << 32 | bits: the empty
       set first, the rest in any order.  Return their number.  A header is the first `width` (at
       most 32) bits of a key.  `order` gives the weight behind each bit, `levels` the level of each
       weight.  `limit` becomes theta, lowered until at most `cap` sets cost no more; -1 means that
       only the empty set is left. */
    size_t (*flip)(const struct search_flips *flips, const uint8_t *levels, const uint8_t *order,
                   unsigned width, uint64_t *sets, int32_t *limit);

    /* Enumerate the first `flips->cap` sets of at most `candidates->distance` bits in the order of
       VOSH (vosh.h), in the form of `flip`.  Bits of equal cost are ranked from the front of the
       header.  `limit` becomes a cost that no set exceeds.  The candidates are for the same cap, or
       there are none. */
    size_t (*flip_first)(const struct search_flips *flips,
                         const struct search_candidates *candidates, const uint8_t *levels,
                         const uint8_t *order, unsigned width, uint64_t *sets, int32_t *limit);

    /* Write the levels of the first 64 of `dimensions` weights of each of `count` rows. */
    void (*level_floats)(const float *weights, size_t count, size_t dimensions, uint8_t *levels);
    void (*level_wholes)(const int32_t *weights, size_t count, size_t dimensions, uint8_t *levels);

    /* Write the levels of packed vectors of `width` (at least 32) bytes. */
    void (*level_packed)(const uint8_t *vectors, size_t count, size_t width, uint8_t *levels);

    /* Rotate a packed vector for the tables start .. stop of cross-polytope keys: write 128
       coordinates for each table.  `rotated` is aligned to 64 bytes. */
    void (*rotate)(const uint8_t *vector, size_t width, size_t start, size_t stop,
                   int16_t *rotated);

    /* Return the code of a rotated vector. */
    uint32_t (*encode)(const int16_t *rotated);

    /* Return the product, over the first slices, of the sum of the shares of their vertices, in
       1/255.  For each coordinate, the nearer of its two vertices counts.  Its share is in
       polytope_shares at (distance to the largest * steps[slice] + 2^14) >> 15, or last. */
    uint64_t (*add_shares)(const int16_t *rotated, unsigned slice_count, const int16_t *steps);

    /* Write the headers of `width` bits whose vertices cost at most `cut`, in any order; return
       their number.  While there are more than POLYTOPE_PROBES_MAX, the cut becomes cut - cut / 8 -
       1.  A cut below 0 leaves the vector's own header.  `headers` has room for
       POLYTOPE_HEADERS_ROOM. */
    size_t (*near_headers)(const int16_t *rotated, unsigned width, int32_t cut,
                           uint32_t *headers);

    /* Write to `list` the keys of some stretches that are near wanted[place % SEARCH_SIFTING]; set
       `sifted` to their number.  Return the number of finished stretches.  If `list` fills up, that
       is below `count`, and the start of the next stretch has moved past the keys that were
       compared. */
    size_t (*sift)(struct search_stretch *stretches, size_t count,
                   const struct search_wanted *wanted, struct search_sifted *list, size_t room,
                   size_t *sifted);

    /* Keep the keys that differ from the wanted one in small weights only: the sizes of all counted
       bits that differ add up to at most `most`.  Return the number of kept keys. */
    size_t (*drop_flipped)(struct search_near *list, size_t count,
                           const struct search_wanted *wanted, const uint8_t *sizes,
                           uint32_t most);

    /* Append to `hits` all tags that are near the tag of their range, as `measure` does. */
    size_t (*measure_tags)(struct search_tag_range *ranges, size_t count,
                           struct search_tag_hits *hits);
};

/* The variant in use: the scalar one, until the Python module selects the fastest at import. */
extern const struct search_kernel *search_kernel;

/* Return variant number `index` among the variants that this processor can run, in ascending order
   of speed; NULL beyond the last. */
const struct search_kernel *search_variant(size_t index);

#endif
