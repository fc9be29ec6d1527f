/* The two programs that Sood & Loguinov 2011 compare, as the paper describes them: BPHS with a
   binary search in every table, and PSM with VOSH, a header table and one copy of the data.
   Scalar code; nothing of simdb is used.

   Both have the same means against waiting for memory.  The look-ups of a query do not need each
   other's answers, so all of them make a step before any makes the next one, and what a step will
   read is asked for before.  This is also the fastest way to find the first match only. */

#include <stdint.h>
#include <stdlib.h>

static int distance_of(uint64_t left, uint64_t right) {
    return __builtin_popcountll(left ^ right);
}

/* Brings the pieces of x into the order of one table: piece i goes from bit from[i] to to[i]. */
static uint64_t permuted(uint64_t x, int blocks, const int32_t *from, const int32_t *to,
                         const uint64_t *masks) {
    uint64_t key = 0;
    for (int i = 0; i < blocks; i++) key |= ((x >> from[i]) & masks[i]) << to[i];
    return key;
}

void permute_all(const uint64_t *x, int64_t n, int blocks, const int32_t *from, const int32_t *to,
                 const uint64_t *masks, uint64_t *out) {
    for (int64_t i = 0; i < n; i++) out[i] = permuted(x[i], blocks, from, to, masks);
}

enum { TOGETHER = 64, LINE = 8 }; /* look-ups at most; keys of a line of the cache */

/* Finds in `count` sorted tables of n keys the first key from each header on.  There are no branches
   that nobody can predict.  Either half has its middle asked for before it is known which is left. */
static void search_tables(const uint64_t *const *tables, int64_t n, int count, int shift,
                          const uint64_t *headers, int64_t *found) {
    for (int t = 0; t < count; t++) found[t] = 0;
    for (int64_t length = n; length > 0; length /= 2) {
        const int64_t half = length - length / 2, quarter = length / 2 - length / 4;
        for (int t = 0; t < count; t++) {
            __builtin_prefetch(tables[t] + found[t] + quarter - 1);
            __builtin_prefetch(tables[t] + found[t] + half + quarter - 1);
        }
        for (int t = 0; t < count; t++)
            found[t] += tables[t][found[t] + half - 1] >> shift < headers[t] ? half : 0;
    }
    for (int t = 0; t < count; t++) __builtin_prefetch(tables[t] + found[t] + LINE);
}

/* Looks m queries up in T <= TOGETHER sorted tables of n keys.  Writes for each query the number of
   matches, counted once even if several tables reach them; or, with `first`, 1 after the first match.
   masks_of[t * T + s]: the leading bits of table s, in the order of table t. */
void bphs(const uint64_t *const *tables, int64_t n, int table_count, int blocks,
          const int32_t *from, const int32_t *to, const uint64_t *masks, const uint64_t *masks_of,
          int header_bits, int distance, int first, const uint64_t *queries, int64_t m,
          uint32_t *found) {
    const int shift = 64 - header_bits;
    uint64_t x[TOGETHER], headers[TOGETHER];
    int64_t starts[TOGETHER];
    for (int64_t q = 0; q < m; q++) {
        uint32_t matches = 0;
        for (int t = 0; t < table_count; t++) {
            const int at = t * blocks;
            x[t] = permuted(queries[q], blocks, from + at, to + at, masks + at);
            headers[t] = x[t] >> shift;
        }
        search_tables(tables, n, table_count, shift, headers, starts);
        for (int t = 0; t < table_count && !(first && matches); t++) {
            for (int64_t at = starts[t]; at < n; at++) {
                const uint64_t differing = tables[t][at] ^ x[t];
                if (differing >> shift) break;
                if (__builtin_popcountll(differing) > distance) continue;
                int known = 0;
                for (int s = 0; s < t; s++)
                    known |= (differing & masks_of[t * table_count + s]) == 0;
                matches += !known;
                if (first) break;
            }
        }
        found[q] = first ? matches != 0 : matches;
    }
}

/* VOSH: the flip sets of one query, by a heap of sets.  A set is one number, so that the heap
   compares numbers: its cost in the upper half, in units of 2^-24; then its size; then the ranks of
   its bits, the most volatile has rank 0. */
enum { MOST = 4, RANK_BITS = 7, SIZE_AT = MOST * RANK_BITS, COST_AT = 32 };
typedef struct {
    uint64_t *heap;
    int64_t count;
    int sorted;         /* of the t bits of the header, so many of the most volatile ones */
    uint32_t flips[64]; /* of each rank: its bit in the header */
    uint64_t steps[64]; /* of each rank: what a set costs more with the next one instead */
} Vosh;

static void sift_up(uint64_t *heap, int64_t at, uint64_t set) {
    for (; at > 0 && heap[(at - 1) / 2] > set; at = (at - 1) / 2) heap[at] = heap[(at - 1) / 2];
    heap[at] = set;
}

static void sift_down(uint64_t *heap, int64_t count, uint64_t set) {
    int64_t at = 0;
    for (int64_t child; (child = 2 * at + 1) < count; at = child) {
        child += child + 1 < count && heap[child + 1] < heap[child];
        if (heap[child] >= set) break;
        heap[at] = heap[child];
    }
    heap[at] = set;
}

static int rank_of(uint64_t set, int place) {
    return (int)(set >> (RANK_BITS * place)) & ((1 << RANK_BITS) - 1);
}

/* A set whose last rank is r has r + 1 - size sets above it in its tree.  So the first `attempts`
   sets touch no bit beyond the first attempts + distance - 1, and the others need not be sorted. */
static void begin(Vosh *vosh, const uint8_t *levels, const uint64_t *costs, int t, int distance,
                  int64_t attempts) {
    const int most = attempts + distance - 1 < t ? (int)attempts + distance - 1 : t;
    const int sorted = most < 0 ? 0 : most;
    uint64_t bits[64]; /* cost, level and place of a bit in one number */
    for (int rank = 0; rank < sorted; rank++) bits[rank] = UINT64_MAX;
    for (int i = 0; i < t; i++) {
        uint64_t bit = costs[levels[63 - i]] | (uint64_t)i;
        for (int rank = 0; rank < sorted; rank++) { /* without branches that nobody can predict */
            const uint64_t less = bit < bits[rank] ? bit : bits[rank];
            bit = bit < bits[rank] ? bits[rank] : bit;
            bits[rank] = less;
        }
    }
    vosh->sorted = sorted;
    for (int i = 0; i < sorted; i++) {
        vosh->flips[i] = (uint32_t)1 << (t - 1 - (int)(bits[i] & 63));
        if (i > 0) vosh->steps[i - 1] = ((bits[i] >> 16) - (bits[i - 1] >> 16)) << COST_AT;
    }
    vosh->count = 0;
    uint64_t cost = 0, ranks = 0;
    for (int i = 0; i < distance && i < sorted && i < MOST; i++) {
        cost += bits[i] >> 16;
        ranks |= (uint64_t)i << (RANK_BITS * i);
        const uint64_t root = cost << COST_AT | (uint64_t)(i + 1) << SIZE_AT | ranks;
        sift_up(vosh->heap, vosh->count++, root);
    }
}

/* Returns the next flip set as bits of the header, or 0 if there is none.  Algorithm 2: a set has at
   most two children, each with one rank moved on by one. */
static uint32_t next(Vosh *vosh) {
    if (vosh->count == 0) return 0;
    const uint64_t set = vosh->heap[0];
    const int last = (int)(set >> SIZE_AT & 7) - 1;
    int rank = rank_of(set, last);
    uint32_t flipped = vosh->flips[rank];
    if (rank + 1 < vosh->sorted)
        sift_down(vosh->heap, vosh->count,
                  set + vosh->steps[rank] + ((uint64_t)1 << (RANK_BITS * last)));
    else if (--vosh->count) sift_down(vosh->heap, vosh->count, vosh->heap[vosh->count]);
    int is_ended = 0;
    for (int place = last - 1; place >= 0; place--) {
        const int own = rank_of(set, place), gap = rank - own;
        rank = own;
        flipped |= vosh->flips[own];
        if (gap == 2 && !is_ended)
            sift_up(vosh->heap, vosh->count++,
                    set + vosh->steps[own] + ((uint64_t)1 << (RANK_BITS * place)));
        is_ended |= gap >= 2;
    }
    return flipped;
}

/* levels[bit]: how far a bit is from flipping; prices[level]: log((1 - p) / p), 0 to 63. */
static void costs_of(const double *prices, uint64_t *costs) {
    for (uint64_t level = 0; level < 256; level++)
        costs[level] = (uint64_t)(prices[level] * (1 << 24)) << 16 | level << 8;
}

static uint64_t *heap_for(int64_t attempts) {
    return malloc(sizeof(uint64_t) * (size_t)(attempts + 2 * MOST));
}

/* Writes the first `attempts` flip sets of up to `distance` bits of m queries, as bits of headers
   of t <= 32 bits; 0 where there are no more.  Returns 0 if there is no memory. */
int prepare(const uint8_t *levels, const double *prices, int t, int distance, int64_t m,
            int64_t attempts, uint32_t *sets) {
    Vosh vosh = {.heap = heap_for(attempts)};
    uint64_t costs[256];
    if (!vosh.heap) return 0;
    costs_of(prices, costs);
    for (int64_t q = 0; q < m; q++) {
        begin(&vosh, levels + q * 64, costs, t, distance, attempts);
        for (int64_t rank = 0; rank < attempts; rank++) sets[q * attempts + rank] = next(&vosh);
    }
    free(vosh.heap);
    return 1;
}

/* Looks queries up in one sorted array of keys with a header table of 2^t + 1 entries, t <= 32.
   asked[count]: which queries; with `first`, those that found a match are taken out of it.
   Returns the number of those that are left; -1 if there is no memory.
   Tries the header itself and then `attempts` flip sets of up to `distance` bits: those of
   `prepare`, or if `sets` is NULL, those that are found by `levels` and `prices`.  With `first`,
   the header itself is tried before they are found.  TOGETHER look-ups overlap at most.
   `ranks` (or NULL): ranks[r] counts the matches that attempt r reached; with `first`, only the
   first match of a query.  The matches of a query are added to its `found`. */
int64_t psm(const uint64_t *keys, const uint32_t *headers, int t, int distance, int first,
            const uint64_t *queries, const uint8_t *levels, const double *prices, uint32_t *asked,
            int64_t count, int64_t attempts, const uint32_t *sets, uint32_t *found,
            uint64_t *ranks) {
    Vosh vosh = {.heap = heap_for(attempts)};
    uint32_t *tried = malloc(sizeof(uint32_t) * (size_t)(attempts + 1)); /* headers */
    int64_t left = vosh.heap && tried ? 0 : -1;
    uint64_t costs[256];
    if (!sets) costs_of(prices, costs);
    for (int64_t i = 0; left >= 0 && i < count; i++) {
        const uint32_t q = asked[i];
        const uint64_t x = queries[q];
        uint32_t starts[TOGETHER], stops[TOGETHER], matches = 0;
        int64_t known = 1;
        tried[0] = (uint32_t)(x >> (64 - t));
        for (int64_t rank = 0, size; !(first && matches); rank += size) {
            if (rank == first) {
                if (!sets) begin(&vosh, levels + (int64_t)q * 64, costs, t, distance, attempts);
                for (uint32_t flipped; known <= attempts; known++) {
                    flipped = sets ? sets[(int64_t)q * attempts + known - 1] : next(&vosh);
                    if (!flipped) break;
                    tried[known] = tried[0] ^ flipped;
                }
            }
            size = known - rank < TOGETHER ? known - rank : TOGETHER;
            if (size <= 0) break;
            for (int64_t each = 0; each < size; each++)
                __builtin_prefetch(headers + tried[rank + each]);
            for (int64_t each = 0; each < size; each++) {
                starts[each] = headers[tried[rank + each]];
                stops[each] = headers[(uint64_t)tried[rank + each] + 1];
                __builtin_prefetch(keys + starts[each]);
            }
            for (int64_t each = 0; each < size && !(first && matches); each++) {
                for (uint32_t at = starts[each]; at < stops[each]; at++) {
                    if (distance_of(keys[at], x) > distance) continue;
                    matches++;
                    if (ranks) ranks[rank + each]++;
                    if (first) break;
                }
            }
        }
        found[q] += matches;
        if (!first || !matches) asked[left++] = q;
    }
    free(vosh.heap);
    free(tried);
    return left;
}

/* Fills the header table of sorted keys: headers[h] is the position of the first key from h on. */
void fill_headers(const uint64_t *keys, int64_t n, int t, uint32_t *headers) {
    int64_t at = 0;
    for (uint64_t header = 0; header <= (uint64_t)1 << t; header++) {
        while (at < n && keys[at] >> (64 - t) < header) at++;
        headers[header] = (uint32_t)at;
    }
}
