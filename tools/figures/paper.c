/* The two programs that Sood & Loguinov 2011 compare, as the paper describes them: BPHS with a
   binary search in every table, and PSM with VOSH, a header table and one copy of the data.
   Scalar code on one thread.  Nothing of simdb is used. */

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

/* Looks m queries up in one sorted array of n keys with a header table of 2^t + 1 entries.
   levels[q * 64 + bit]: how far a bit is from flipping; prices[level]: log((1 - p) / p).
   Tries the header itself and then `attempts` flip sets of up to `distance` bits.
   `ranks` (or NULL): ranks[r] counts the matches that attempt r reached; with `first`, only the
   first match of a query.  `found` is as for bphs. */
int psm(const uint64_t *keys, int64_t n, const uint32_t *headers, int t, int distance, int first,
        const uint64_t *queries, const uint8_t *levels, const double *prices, int64_t m,
        int64_t attempts, uint32_t *found, uint64_t *ranks) {
    const int shift = 64 - t;
    Node *heap = malloc(sizeof(Node) * (size_t)(2 * attempts + 2 * MOST));
    if (!heap) return 0;
    for (int64_t q = 0; q < m; q++) {
        const uint64_t x = queries[q];
        double costs[64];
        int bits[64];
        int64_t count = 0;
        uint32_t matches = 0;
        for (int64_t rank = 0; rank <= attempts; rank++) {
            uint64_t header = x >> shift;
            if (rank == 1) { /* the heap is not needed for the first look-up */
                for (int i = 0; i < t; i++) {
                    const double price = prices[levels[q * 64 + 63 - i]];
                    int at = i;
                    for (; at > 0 && costs[at - 1] > price; at--) {
                        costs[at] = costs[at - 1];
                        bits[at] = bits[at - 1];
                    }
                    costs[at] = price;
                    bits[at] = 63 - i;
                }
                for (int size = 1; size <= distance && size <= t && size <= MOST; size++) {
                    Node root = {.size = size};
                    for (int i = 0; i < size; i++) root.ranks[i] = (uint8_t)i;
                    root.cost = cost_of(&root, costs);
                    push(heap, &count, root);
                }
            }
            if (rank > 0) {
                if (count == 0) break;
                const Node node = pop(heap, &count);
                push_children(heap, &count, &node, costs, t);
                for (int i = 0; i < node.size; i++)
                    header ^= (uint64_t)1 << (bits[node.ranks[i]] - shift);
            }
            const uint32_t stop = headers[header + 1];
            for (uint32_t i = headers[header]; i < stop; i++) {
                if (distance_of(keys[i], x) > distance) continue;
                matches++;
                if (ranks) ranks[rank]++;
                if (first) break;
            }
            if (first && matches) break;
        }
        found[q] = matches;
    }
    free(heap);
    return 1;
}

/* Fills the header table of sorted keys: headers[h] is the position of the first key from h on. */
void fill_headers(const uint64_t *keys, int64_t n, int t, uint32_t *headers) {
    int64_t at = 0;
    for (uint64_t header = 0; header <= (uint64_t)1 << t; header++) {
        while (at < n && keys[at] >> (64 - t) < header) at++;
        headers[header] = (uint32_t)at;
    }
}
