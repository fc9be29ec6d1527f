/* The two programs that Sood & Loguinov 2011 compare, as the paper describes them: BPHS with a
   binary search in every table, and PSM with VOSH, a header table and one copy of the data.
   Scalar code; several threads may call a function at once, each with its own part of the queries.
   Nothing of simdb is used. */

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

/* Looks m queries up in T sorted tables of n keys.  Writes for each query the number of matches,
   counted once even if several tables reach them; or, with `first`, 1 after the first match.
   masks_of[t * T + s]: the leading bits of table s, in the order of table t. */
void bphs(const uint64_t *const *tables, int64_t n, int table_count, int blocks,
          const int32_t *from, const int32_t *to, const uint64_t *masks, const uint64_t *masks_of,
          int header_bits, int distance, int first, const uint64_t *queries, int64_t m,
          uint32_t *found) {
    for (int64_t q = 0; q < m; q++) {
        uint32_t matches = 0;
        for (int t = 0; t < table_count; t++) {
            const uint64_t *keys = tables[t];
            const uint64_t x =
                permuted(queries[q], blocks, from + t * blocks, to + t * blocks,
                         masks + t * blocks);
            const int shift = 64 - header_bits;
            const uint64_t header = x >> shift;
            int64_t low = 0, high = n;
            while (low < high) {
                const int64_t middle = low + (high - low) / 2;
                if (keys[middle] >> shift < header) low = middle + 1;
                else high = middle;
            }
            for (; low < n && keys[low] >> shift == header; low++) {
                if (distance_of(keys[low], x) > distance) continue;
                const uint64_t differing = keys[low] ^ x;
                int known = 0;
                for (int s = 0; s < t; s++)
                    known |= (differing & masks_of[t * table_count + s]) == 0;
                matches += !known;
                if (first) break;
            }
            if (first && matches) break;
        }
        found[q] = first ? matches != 0 : matches;
    }
}

/* Sets of bits to flip: a heap of nodes by cost, each with the ranks of its bits. */
enum { MOST = 8 };
typedef struct {
    double cost;
    int32_t size;
    uint8_t ranks[MOST];
} Node;

static void push(Node *heap, int64_t *count, Node node) {
    int64_t at = (*count)++;
    while (at > 0 && heap[(at - 1) / 2].cost > node.cost) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = node;
}

static Node pop(Node *heap, int64_t *count) {
    const Node top = heap[0], last = heap[--*count];
    int64_t at = 0;
    for (;;) {
        int64_t child = 2 * at + 1;
        if (child >= *count) break;
        if (child + 1 < *count && heap[child + 1].cost < heap[child].cost) child++;
        if (heap[child].cost >= last.cost) break;
        heap[at] = heap[child];
        at = child;
    }
    if (*count) heap[at] = last;
    return top;
}

static double cost_of(const Node *node, const double *costs) {
    double sum = 0;
    for (int i = 0; i < node->size; i++) sum += costs[node->ranks[i]];
    return sum;
}

/* Algorithm 2: at most two children, each with one rank moved on by one. */
static void push_children(Node *heap, int64_t *count, const Node *node, const double *costs,
                          int bits) {
    if (node->ranks[node->size - 1] + 1 < bits) {
        Node left = *node;
        left.ranks[left.size - 1]++;
        left.cost = cost_of(&left, costs);
        push(heap, count, left);
    }
    for (int j = node->size - 2; j >= 0; j--) {
        const int gap = node->ranks[j + 1] - node->ranks[j];
        if (gap == 2) {
            Node right = *node;
            right.ranks[j]++;
            right.cost = cost_of(&right, costs);
            push(heap, count, right);
        }
        if (gap >= 2) break;
    }
}

/* The flip sets of one query in the order of VOSH. */
typedef struct {
    Node *heap;
    int64_t count;
    int sorted; /* of the t bits of the header, so many of the most volatile ones are sorted */
    double costs[64];
    uint32_t flips[64];
} Vosh;

/* A set whose last rank is r has r + 1 - size sets above it in its tree.  So the first `attempts`
   sets touch no bit beyond the first attempts + distance - 1, and the others need not be sorted. */
static void begin(Vosh *vosh, const uint8_t *levels, const double *prices, int t, int distance,
                  int64_t attempts) {
    const int most = attempts + distance - 1 < t ? (int)attempts + distance - 1 : t;
    vosh->sorted = 0;
    for (int i = 0; i < t; i++) {
        const double price = prices[levels[63 - i]];
        int at = vosh->sorted;
        if (at < most) vosh->sorted++;
        else if (vosh->costs[--at] <= price) continue;
        for (; at > 0 && vosh->costs[at - 1] > price; at--) {
            vosh->costs[at] = vosh->costs[at - 1];
            vosh->flips[at] = vosh->flips[at - 1];
        }
        vosh->costs[at] = price;
        vosh->flips[at] = (uint32_t)1 << (t - 1 - i);
    }
    vosh->count = 0;
    for (int size = 1; size <= distance && size <= vosh->sorted && size <= MOST; size++) {
        Node root = {.size = size};
        for (int i = 0; i < size; i++) root.ranks[i] = (uint8_t)i;
        root.cost = cost_of(&root, vosh->costs);
        push(vosh->heap, &vosh->count, root);
    }
}

/* Returns the next flip set as bits of the header, or 0 if there is none. */
static uint32_t next(Vosh *vosh) {
    if (vosh->count == 0) return 0;
    const Node node = pop(vosh->heap, &vosh->count);
    push_children(vosh->heap, &vosh->count, &node, vosh->costs, vosh->sorted);
    uint32_t flipped = 0;
    for (int i = 0; i < node.size; i++) flipped |= vosh->flips[node.ranks[i]];
    return flipped;
}

/* Looks queries up in one sorted array of keys with a header table of 2^t + 1 entries, t <= 32.
   asked[count]: which queries; with `first`, those that found a match are taken out of it, and the
   number of those that are left is returned; -1 if there is no memory.
   levels[q * 64 + bit]: how far a bit is from flipping; prices[level]: log((1 - p) / p).
   Tries the header itself and then `attempts` flip sets of up to `distance` bits.
   `sets` (or NULL): sets[q * attempts + r] keeps the flip sets of a query for further arrays, such
   as the chunks of a file; for the first of these `is_begun` is 0, and the sets are found as they
   are needed; for the others it is 1, and they are read.
   `ranks` (or NULL): ranks[r] counts the matches that attempt r reached; with `first`, only the
   first match of a query.  The matches of a query are added to its `found`. */
int64_t psm(const uint64_t *keys, const uint32_t *headers, int t, int distance, int first,
            const uint64_t *queries, const uint8_t *levels, const double *prices, uint32_t *asked,
            int64_t count, int64_t attempts, uint32_t *sets, int is_begun, uint32_t *found,
            uint64_t *ranks) {
    Vosh vosh = {.heap = malloc(sizeof(Node) * (size_t)(2 * attempts + 2 * MOST))};
    int64_t left = 0;
    if (!vosh.heap) return -1;
    for (int64_t i = 0; i < count; i++) {
        const uint32_t q = asked[i];
        const uint64_t x = queries[q];
        uint32_t *own = sets ? sets + (int64_t)q * attempts : NULL;
        uint32_t matches = 0, flipped = 0;
        for (int64_t rank = 0; rank <= attempts; rank++) {
            if (rank > 0) {
                if (rank == 1 && !is_begun) begin(&vosh, levels + (int64_t)q * 64, prices, t,
                                                  distance, attempts);
                flipped = is_begun ? own[rank - 1] : next(&vosh);
                if (own && !is_begun) own[rank - 1] = flipped;
                if (!flipped) break;
            }
            const uint64_t header = (x >> (64 - t)) ^ flipped;
            const uint32_t stop = headers[header + 1];
            for (uint32_t at = headers[header]; at < stop; at++) {
                if (distance_of(keys[at], x) > distance) continue;
                matches++;
                if (ranks) ranks[rank]++;
                if (first) break;
            }
            if (first && matches) break;
        }
        found[q] += matches;
        if (!first || !matches) asked[left++] = q;
    }
    free(vosh.heap);
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
