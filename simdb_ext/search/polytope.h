/* Cross-polytope keys of packed vectors: Andoni, Indyk, Laarhoven, Razenshteyn & Schmidt 2015,
   "Practical and optimal LSH for angular distance".

   A vector is rotated at random.  In each slice of the rotated coordinates, the coordinate of the
   largest magnitude, with its sign, is the vertex of the vector.  The vertices of the slices are
   the leading bits of a key.  Stored keys depend on this definition, so it must never change.

   Input: The weights of a packed vector are padded with 0 to 128 coordinates x, or to 256 if there
     are more than 128 weights.
   Transform: H is the Walsh-Hadamard transform of 128 in natural order, without scaling.  The
     product S * x is taken coordinate by coordinate.  All numbers fit into 16 bits.
   Rotation: Table k sees z = H(S[k + 1] * H(S[0] * x)).
   Signs: Coordinate i of S[r] is -1 if bit i % 64 of word 2 r + i / 64 is set, else 1.
   Words: Word j is the finaliser of MurmurHash3_x64_128 of (j + 1) * 0x9E3779B97F4A7C15.
   Wide vectors: Each half of 256 coordinates goes through the first transform, y = H(S[0] * x).
     Tables 2 p and 2 p + 1 share the coordinates of both results.  Each sees z = H(S[k + 1] * c).
     Table 2 p has coordinate i of c from the second half where bit i % 64 of word 34 + 2 p + i / 64
     is set.  Elsewhere it has the first half.  Table 2 p + 1 has the opposite half.
   Slices: The coordinates of z are cut into 0 .. 64, 64 .. 96, 96 .. 112 and 112 .. 120.
   Vertices: Coordinate i of a slice has two, 2 i with the value z_i and 2 i + 1 with the value
     -z_i.  The vertex of the vector has the largest value.  Of equal values, the first coordinate
     is taken, and then the vertex 2 i.
   Code: The numbers of the four vertices, in 7, 6, 5 and 4 bits, are the 22 highest bits of a key.
     Its 42 lowest bits are from the fingerprint.
   Header: The first one, two, three or four vertices have 7, 13, 18 or 22 bits. */
#ifndef SIMDB_SEARCH_POLYTOPE_H
#define SIMDB_SEARCH_POLYTOPE_H

#include <stddef.h>
#include <stdint.h>

enum {
    POLYTOPE_COORDINATES = 128,
    POLYTOPE_HALF_WIDTH = POLYTOPE_COORDINATES / 2, /* bytes of a packed vector of 128 weights */
    POLYTOPE_WIDTH_MAX = 2 * POLYTOPE_HALF_WIDTH,
    POLYTOPE_NARROW_WIDTH = POLYTOPE_HALF_WIDTH / 2, /* here half of the coordinates are padding */
    POLYTOPE_TABLES_MAX = 16,
    POLYTOPE_SLICES = 4,
    POLYTOPE_CODE_BITS = 22,
    POLYTOPE_TAG_BITS = 64 - POLYTOPE_CODE_BITS, /* bits of the fingerprint in a key */
    POLYTOPE_PROBES_MAX = 16384, /* headers of one table that a query looks up */
    POLYTOPE_HEADERS_ROOM = POLYTOPE_PROBES_MAX + 64, /* with room for whole registers */
    POLYTOPE_CUT_MAX = 32767, /* limit on the cost of a header */
    POLYTOPE_VERTICES = 2 * 64 /* vertices of the largest slice */
};

/* Neighbouring coordinates that give one vertex. */
struct polytope_slice {
    int start;
    int dimensions;
    unsigned bits; /* of the number of a vertex */
    int32_t ratio; /* 256 sqrt(ln 2 d / ln 256) for d dimensions, which makes costs comparable;
                      a cost is (largest magnitude - value) * ratio >> 8 */
};

/* The share of a vertex, in 1/255, by its cost in twelfths of a standard deviation; 0 for costs of
   15 twelfths and more. */
extern const uint8_t polytope_shares[16];

extern const struct polytope_slice polytope_slices[POLYTOPE_SLICES];

/* The signs of the first round, and then of each table: bit i % 64 of word i / 64 is set if
   coordinate i is negated. */
extern uint64_t polytope_signs[POLYTOPE_TABLES_MAX + 1][2];

/* The choices of pairs of tables for vectors of more than 128 weights.  Table 2 p sees the second
   half in the coordinates whose bits of row p are set, and the first half elsewhere.  Table
   2 p + 1 sees the opposite halves. */
extern uint64_t polytope_choices[POLYTOPE_TABLES_MAX / 2][2];

/* The constants that the variants read from memory: signs and choices, in the order in which the
   coordinates lie in the registers of a variant, and orders of chosen lanes. */
struct polytope_orders {
    _Alignas(64) int16_t avx2[POLYTOPE_TABLES_MAX + 1][POLYTOPE_COORDINATES]; /* 1 or -1 */
    uint32_t avx512[POLYTOPE_TABLES_MAX + 1][4]; /* a bit for each coordinate */
    _Alignas(64) int16_t avx2_choices[POLYTOPE_TABLES_MAX / 2][POLYTOPE_COORDINATES]; /* -1 or 0 */
    uint32_t avx512_choices[POLYTOPE_TABLES_MAX / 2][4];
    _Alignas(32) uint8_t places[32]; /* 0 to 31 */
    uint64_t lanes[256]; /* for each mask of lanes: the numbers of these lanes, one in each byte */
};

extern struct polytope_orders polytope_orders;

/* Make the signs and orders.  Call this once, before any other function here. */
void polytope_prepare(void);

/* Return the number of slices of a header of `width` bits; 0 for any other width. */
unsigned polytope_slice_count(unsigned width);

/* Return the fingerprint of a packed vector; bits beyond its weights are 0. */
uint64_t polytope_fingerprint(const uint8_t *vector, size_t width);

/* Return a mask of the firm bits of the fingerprint of a packed vector: the signs of weights that
   are not 1 or -1, the least size.  The other signs often differ in a similar vector.  If fewer
   than an eighth are not firm, all bits are returned. */
uint64_t polytope_firm(const uint8_t *vector, size_t width);

/* Return whether at least five eighths of all weights are above the least size, as normally
   distributed weights nearly always are. */
int polytope_is_usual(const uint8_t *vector, size_t width);

/* Units of one vector: the standard deviation of its rotated coordinates, and the unit of its
   thresholds.  A step converts a distance in a slice to a place in polytope_shares. */
struct polytope_unit {
    double deviation, threshold;
    int16_t steps[POLYTOPE_SLICES]; /* in 2^-15 */
};

/* Return the units of a vector of `vector_width` bytes whose squared weights add up to `norm`. */
struct polytope_unit polytope_unit_of(int32_t norm, size_t vector_width);

/* Return the cut: the limit on the total cost of the vertices of a header of `width` bits.  It is
   max(0, threshold - n), where n is the normaliser of the rotated vector and the threshold is not
   negative. */
int32_t polytope_cut(double threshold, const struct polytope_unit *unit, const int16_t *rotated,
                     unsigned width);

/* Write keys[t * count + i] for each vector i in each of `table_count` tables, the first of which
   has the number `first_table`. */
void polytope_keys(const uint8_t *vectors, size_t count, size_t vector_width, size_t first_table,
                   size_t table_count, uint64_t *keys);

/* Write to costs[i] the least threshold that reaches right[i] from left[i] in some table. */
void polytope_costs(const uint8_t *left, const uint8_t *right, size_t count, size_t vector_width,
                    unsigned width, size_t table_count, float *costs);

/* The way in which one vector reaches another. */
struct polytope_reach {
    size_t table; /* the first that reaches it; the number of tables if none does */
    float cost;   /* the least threshold that reaches it there, ignoring the limit on probes */
    uint32_t own, probed; /* the headers of both vectors */
};

struct polytope_reach polytope_reached(const uint8_t *left, const uint8_t *right,
                                       size_t vector_width, unsigned width, size_t table_count,
                                       double threshold);

/* Write to counts[i * table_count + t] the number of headers that vector i looks up in table t.
   Unless `headers` is NULL, write the headers there, list after list, each ascending. */
void polytope_headers(const uint8_t *vectors, size_t count, size_t vector_width, unsigned width,
                      double threshold, size_t table_count, int64_t *counts, uint32_t *headers);

#endif
