#include "polytope.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernel.h"
#include "mix.h"

enum {
    CHUNK = 64, /* vectors whose keys are written table by table */
    RATE = 4,   /* a vertex that costs 1 / RATE standard deviations more is e times less likely */
    PLACES = 3  /* places of polytope_shares for 1 / RATE standard deviations */
};

/* The ratios are 256 sqrt(ln 2 d / ln 256), rounded, in d dimensions. */
const struct polytope_slice polytope_slices[POLYTOPE_SLICES] = {
    {0, 64, 7, 239}, {64, 32, 6, 222}, {96, 16, 5, 202}, {112, 8, 4, 181},
};

/* 255 exp(-i / PLACES), rounded, and 0. */
const uint8_t polytope_shares[16] = {
    255, 183, 131, 94, 67, 48, 35, 25, 18, 13, 9, 7, 5, 3, 2, 0,
};

uint64_t polytope_signs[POLYTOPE_TABLES_MAX + 1][2];
uint64_t polytope_choices[POLYTOPE_TABLES_MAX / 2][2];

struct polytope_orders polytope_orders;

/* Return the coordinate at a place of the AVX2 registers between both transforms; the next function
   does it for AVX-512.  polytope_avx2.h and polytope_avx512.h do these exchanges of bits. */
static unsigned coordinate_avx2(unsigned place)
{
    unsigned row = place >> 4, half = place >> 3 & 1, word = place & 7;

    return half | (row & 6) | (row & 1) << 3 | word << 4;
}

static unsigned coordinate_avx512(unsigned place)
{
    unsigned row = place >> 5, quarter = place >> 3 & 3, pair = place >> 1 & 3, word = place & 1;

    return (row & 1) | word << 1 | (row & 2) << 1 | pair << 3 | quarter << 5;
}

static int bit_of(const uint64_t *words, unsigned coordinate)
{
    return words[coordinate / 64] >> (coordinate & 63) & 1;
}

/* Make the words that are not constants: first of signs, then of choices. */
static void make_words(void)
{
    uint64_t number = 0;

    for (unsigned i = 0; i < 2 * (POLYTOPE_TABLES_MAX + 1); i++)
        polytope_signs[i / 2][i & 1] = mix_final(++number * MIX_SECOND_WORD);
    for (unsigned i = 0; i < POLYTOPE_TABLES_MAX; i++)
        polytope_choices[i / 2][i & 1] = mix_final(++number * MIX_SECOND_WORD);
}

void polytope_prepare(void)
{
    make_words();
    for (unsigned round = 0; round <= POLYTOPE_TABLES_MAX; round++)
        for (unsigned place = 0; place < POLYTOPE_COORDINATES; place++) {
            unsigned one = round == 0 ? place : coordinate_avx2(place);
            unsigned other = round == 0 ? place : coordinate_avx512(place);
            polytope_orders.avx2[round][place] = bit_of(polytope_signs[round], one) ? -1 : 1;
            polytope_orders.avx512[round][place / 32] |=
                (uint32_t)bit_of(polytope_signs[round], other) << place % 32;
        }
    for (unsigned pair = 0; pair < POLYTOPE_TABLES_MAX / 2; pair++)
        for (unsigned place = 0; place < POLYTOPE_COORDINATES; place++) {
            const uint64_t *words = polytope_choices[pair];
            int one = bit_of(words, coordinate_avx2(place));
            int other = bit_of(words, coordinate_avx512(place));
            polytope_orders.avx2_choices[pair][place] = (int16_t)-one;
            polytope_orders.avx512_choices[pair][place / 32] |= (uint32_t)other << place % 32;
        }
    for (unsigned place = 0; place < 32; place++)
        polytope_orders.places[place] = (uint8_t)place;
    for (unsigned mask = 0; mask < 256; mask++)
        for (unsigned lane = 0, count = 0; lane < 8; lane++)
            if (mask >> lane & 1)
                polytope_orders.lanes[mask] |= (uint64_t)lane << 8 * count++;
}

unsigned polytope_slice_count(unsigned width)
{
    unsigned bits = 0;

    for (unsigned s = 0; s < POLYTOPE_SLICES; s++) {
        bits += polytope_slices[s].bits;
        if (bits == width)
            return s + 1;
    }
    return 0;
}

static const uint64_t EACH = 0x0101010101010101u; /* 1 in each of eight bytes */

/* Return the lowest bit of each of eight bytes; the first byte gives the lowest bit. */
static uint64_t lowest_bits(uint64_t bytes)
{
    return (bytes & EACH) * 0x0102040810204080u >> 56;
}

uint64_t polytope_fingerprint(const uint8_t *vector, size_t width)
{
    uint64_t fingerprint = 0;

    if (width >= 64) {
        for (unsigned i = 0; i < 64; i += 8)
            fingerprint |= lowest_bits(mix_load(vector + i) >> 3) << i;
        return fingerprint;
    }
    for (size_t i = 0; i < 2 * width && i < 64; i++) {
        unsigned half = i < width ? vector[i] & 15 : vector[i - width] >> 4;
        fingerprint |= (uint64_t)(half > 7) << i;
    }
    return fingerprint;
}

uint64_t polytope_firm(const uint8_t *vector, size_t width)
{
    uint64_t firm = 0;

    if (width >= 64) {
        for (unsigned i = 0; i < 64; i += 8) {
            /* Only the halves 7 and 8, of the weights -1 and 1, become 0 and leave bit 4 clear. */
            uint64_t halves = (mix_load(vector + i) & 15 * EACH) + EACH;
            firm |= lowest_bits((((halves & 14 * EACH) ^ 8 * EACH) + 14 * EACH) >> 4) << i;
        }
    }
    for (size_t i = 0; width < 64 && i < 2 * width && i < 64; i++) {
        unsigned half = i < width ? vector[i] & 15 : vector[i - width] >> 4;
        firm |= (uint64_t)(half - 7 > 1) << i;
    }
    return __builtin_popcountll(~firm) < 64 / 8 ? ~(uint64_t)0 : firm;
}

int polytope_is_usual(const uint8_t *vector, size_t width)
{
    uint32_t firm = 0;

    for (size_t i = 0; i < width; i++)
        firm += ((vector[i] & 15u) - 7 > 1) + ((vector[i] >> 4) - 7u > 1);
    return 8 * firm >= 5 * 2 * width;
}

struct polytope_unit polytope_unit_of(int32_t norm, size_t vector_width)
{
    /* A table sees half of the coordinates of a wide vector. */
    double seen = vector_width > POLYTOPE_HALF_WIDTH ? norm / 2.0 : norm;
    double deviation = sqrt((double)POLYTOPE_COORDINATES * seen);

    /* The coordinates of a narrow vector depend on each other; a similar vector is then farther. */
    struct polytope_unit unit = {
        deviation, vector_width > POLYTOPE_NARROW_WIDTH ? deviation : 1.05 * deviation, {0},
    };
    for (unsigned s = 0; s < POLYTOPE_SLICES; s++) {
        double step = 32768.0 * PLACES * RATE / 256 * polytope_slices[s].ratio / deviation;
        unit.steps[s] = step < INT16_MAX ? (int16_t)step : INT16_MAX;
    }
    return unit;
}

static struct polytope_unit unit_of(const uint8_t *vector, size_t vector_width)
{
    int32_t norm = 0;

    for (size_t i = 0; i < vector_width; i++) {
        int32_t low = 2 * (vector[i] & 15) - 15, high = 2 * (vector[i] >> 4) - 15;
        norm += low * low + high * high;
    }
    return polytope_unit_of(norm, vector_width);
}

/* Return a threshold in the unit of coordinates. */
static int32_t scaled(double threshold, const struct polytope_unit *unit)
{
    double limit = threshold * unit->threshold;

    return limit < POLYTOPE_CUT_MAX ? (int32_t)limit : POLYTOPE_CUT_MAX;
}

/* Return the normaliser of a rotated vector, ln z / RATE.  A similar vector has a vertex with
   probability exp(-RATE * cost) / z, so z is the sum of exp(-RATE * cost) over all vertices. */
static int32_t normaliser_of(const int16_t *rotated, unsigned slice_count,
                             const struct polytope_unit *unit)
{
    double sums = (double)search_kernel->add_shares(rotated, slice_count, unit->steps), ones = 1;

    for (unsigned s = 0; s < slice_count; s++)
        ones *= polytope_shares[0];
    return (int32_t)(log(sums / ones) / RATE * unit->deviation);
}

int32_t polytope_cut(double threshold, const struct polytope_unit *unit, const int16_t *rotated,
                     unsigned width)
{
    int32_t limit = scaled(threshold, unit);
    int32_t rest = limit - normaliser_of(rotated, polytope_slice_count(width), unit);

    return rest > 0 ? rest : 0;
}

void polytope_keys(const uint8_t *vectors, size_t count, size_t vector_width, size_t first_table,
                   size_t table_count, uint64_t *keys)
{
    _Alignas(64) int16_t rotated[POLYTOPE_TABLES_MAX * POLYTOPE_COORDINATES];
    uint64_t held[POLYTOPE_TABLES_MAX][CHUNK];

    /* The keys of a chunk are kept, so that neighbouring keys are written together. */
    for (size_t start = 0; start < count; start += CHUNK) {
        size_t some = count - start < CHUNK ? count - start : CHUNK;
        for (size_t i = 0; i < some; i++) {
            const uint8_t *vector = vectors + (start + i) * vector_width;
            uint64_t tag = polytope_fingerprint(vector, vector_width) << POLYTOPE_CODE_BITS;
            search_kernel->rotate(vector, vector_width, first_table, first_table + table_count,
                                  rotated);
            for (size_t table = 0; table < table_count; table++) {
                uint64_t code = search_kernel->encode(rotated + table * POLYTOPE_COORDINATES);
                held[table][i] = code << POLYTOPE_TAG_BITS | tag >> POLYTOPE_CODE_BITS;
            }
        }
        for (size_t table = 0; table < table_count; table++)
            memcpy(keys + table * count + start, held[table], some * sizeof **held);
    }
}

/* Return the largest magnitude in a slice. */
static int32_t largest_in(const int16_t *rotated, const struct polytope_slice *slice)
{
    int32_t largest = 0;

    for (int i = slice->start; i < slice->start + slice->dimensions; i++) {
        int32_t value = rotated[i] < 0 ? -rotated[i] : rotated[i];
        largest = value > largest ? value : largest;
    }
    return largest;
}

/* Return the cost of a header, the first vertices of a code, seen from a rotated vector. */
static int32_t cost_of(const int16_t *rotated, unsigned slice_count,
                       const struct polytope_unit *unit, uint32_t code)
{
    int32_t cost = 0;
    unsigned shift = POLYTOPE_CODE_BITS;

    for (unsigned s = 0; s < slice_count; s++) {
        const struct polytope_slice *slice = &polytope_slices[s];
        shift -= slice->bits;
        uint32_t vertex = code >> shift & ((1u << slice->bits) - 1);
        int32_t value = rotated[slice->start + (int)(vertex / 2)];
        value = vertex & 1 ? -value : value;
        cost += (largest_in(rotated, slice) - value) * slice->ratio >> 8;
    }
    /* The nearest header is looked up under any threshold. */
    return cost > 0 ? cost + normaliser_of(rotated, slice_count, unit) : 0;
}

/* Return the least threshold at which a header that costs `cost` is looked up; infinity if there is
   none. */
static float least_threshold(int32_t cost, const struct polytope_unit *unit)
{
    float threshold = (float)(cost / unit->threshold);

    if (cost > POLYTOPE_CUT_MAX)
        return INFINITY;
    if (scaled(threshold, unit) < cost)
        return nextafterf(threshold, INFINITY);
    float lower = nextafterf(threshold, -INFINITY);
    return lower >= 0 && scaled(lower, unit) >= cost ? lower : threshold;
}

void polytope_costs(const uint8_t *left, const uint8_t *right, size_t count, size_t vector_width,
                    unsigned width, size_t table_count, float *costs)
{
    _Alignas(64) int16_t seen[POLYTOPE_TABLES_MAX * POLYTOPE_COORDINATES];
    _Alignas(64) int16_t other[POLYTOPE_TABLES_MAX * POLYTOPE_COORDINATES];
    unsigned slice_count = polytope_slice_count(width);

    for (size_t i = 0; i < count; i++, left += vector_width, right += vector_width) {
        struct polytope_unit unit = unit_of(left, vector_width);
        int32_t least = INT32_MAX;
        search_kernel->rotate(left, vector_width, 0, table_count, seen);
        search_kernel->rotate(right, vector_width, 0, table_count, other);
        for (size_t table = 0; table < table_count; table++) {
            uint32_t code = search_kernel->encode(other + table * POLYTOPE_COORDINATES);
            int32_t cost = cost_of(seen + table * POLYTOPE_COORDINATES, slice_count, &unit, code);
            least = cost < least ? cost : least;
        }
        costs[i] = least_threshold(least, &unit);
    }
}

/* Return the number of vertices of a slice that cost at most `cut`. */
static size_t count_vertices(const int16_t *rotated, const struct polytope_slice *slice,
                             int32_t cut)
{
    int32_t largest = largest_in(rotated, slice);
    size_t count = 0;

    for (int i = slice->start; i < slice->start + slice->dimensions; i++) {
        count += (largest - rotated[i]) * slice->ratio >> 8 <= cut;
        count += (largest + rotated[i]) * slice->ratio >> 8 <= cut;
    }
    return count;
}

/* Return whether a vector looks up a header whose vertices cost at most `cut`.  It does not if the
   cut is lowered too far because too many headers cost at most the cut. */
static int is_looked_up(const int16_t *rotated, unsigned width, int32_t cut, uint32_t header)
{
    uint32_t headers[POLYTOPE_HEADERS_ROOM];
    unsigned slice_count = polytope_slice_count(width);
    size_t count = 1;

    for (unsigned s = 0; s < slice_count; s++)
        count *= count_vertices(rotated, &polytope_slices[s], cut);
    if (count <= POLYTOPE_PROBES_MAX)
        return 1;
    count = search_kernel->near_headers(rotated, width, cut, headers);
    for (size_t i = 0; i < count; i++)
        if (headers[i] == header)
            return 1;
    return 0;
}

struct polytope_reach polytope_reached(const uint8_t *left, const uint8_t *right,
                                       size_t vector_width, unsigned width, size_t table_count,
                                       double threshold)
{
    _Alignas(64) int16_t seen[POLYTOPE_TABLES_MAX * POLYTOPE_COORDINATES];
    _Alignas(64) int16_t other[POLYTOPE_TABLES_MAX * POLYTOPE_COORDINATES];
    unsigned slice_count = polytope_slice_count(width), shift = POLYTOPE_CODE_BITS - width;
    struct polytope_unit unit = unit_of(left, vector_width);
    int32_t limit = scaled(threshold, &unit);

    search_kernel->rotate(left, vector_width, 0, table_count, seen);
    search_kernel->rotate(right, vector_width, 0, table_count, other);
    for (size_t table = 0; table < table_count; table++) {
        const int16_t *rotated = seen + table * POLYTOPE_COORDINATES;
        uint32_t code = search_kernel->encode(other + table * POLYTOPE_COORDINATES);
        int32_t cost = cost_of(rotated, slice_count, &unit, code);
        if (cost <= limit
            && is_looked_up(rotated, width, polytope_cut(threshold, &unit, rotated, width),
                            code >> shift))
            return (struct polytope_reach){
                table, least_threshold(cost, &unit), search_kernel->encode(rotated) >> shift,
                code >> shift,
            };
    }
    return (struct polytope_reach){table_count, INFINITY, 0, 0};
}

static int compare_headers(const void *left, const void *right)
{
    uint32_t one = *(const uint32_t *)left, other = *(const uint32_t *)right;
    return (one > other) - (one < other);
}

void polytope_headers(const uint8_t *vectors, size_t count, size_t vector_width, unsigned width,
                      double threshold, size_t table_count, int64_t *counts, uint32_t *headers)
{
    _Alignas(64) int16_t rotated[POLYTOPE_TABLES_MAX * POLYTOPE_COORDINATES];
    uint32_t list[POLYTOPE_HEADERS_ROOM];

    for (size_t i = 0; i < count; i++, vectors += vector_width) {
        struct polytope_unit unit = unit_of(vectors, vector_width);
        search_kernel->rotate(vectors, vector_width, 0, table_count, rotated);
        for (size_t table = 0; table < table_count; table++) {
            const int16_t *own = rotated + table * POLYTOPE_COORDINATES;
            int32_t cut = polytope_cut(threshold, &unit, own, width);
            size_t found = search_kernel->near_headers(own, width, cut, list);
            *counts++ = (int64_t)found;
            if (headers != NULL) {
                qsort(list, found, sizeof(uint32_t), compare_headers);
                memcpy(headers, list, found * sizeof(uint32_t));
                headers += found;
            }
        }
    }
}
