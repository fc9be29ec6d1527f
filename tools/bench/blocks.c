/* Look-ups in one sorted table of n keys, in the forms that `blocks.py` compares.

   A query looks up SETS headers of t bits each and finds the keys whose other 64 - t bits differ
   from its own in at most DISTANCE bits.  In every form all look-ups of a query make a step before
   any makes the next, and what a step will read is asked for before.  Scalar code, little-endian. */

#include <stdint.h>
#include <string.h>

enum { SETS = 16, DISTANCE = 3, PEEKED = 10, LINE = 64, AHEAD = 4 * LINE, ROOM = 4096 };
enum { COUNT_AT = 8 + 4, HEAD = COUNT_AT + 1, KEYS_MOST = 255 };

typedef struct {
    int64_t n, t;
    const uint64_t *keys, *whole; /* sorted; by ordinal */
    const uint32_t *ordinals, *directory; /* of the sorted keys; 2^t + 1 positions */
    const uint16_t *tags;
    const uint8_t *packed; /* 64 - t bits of each key */
} Table;

/* Huffman's code of the highest bit in which neighbouring keys differ, 0 is the first of a key.  A
   code is the highest bits of a number; peek[next bits]: symbol | length << 8, or 0 if longer. */
typedef struct {
    uint64_t codes[64];
    uint8_t lengths[64], ranked[64]; /* ranked: all symbols, by code */
    uint16_t peek[1 << PEEKED];
} Code;

/* A block has its first key whole, this key's position, the number of keys, and for each other key a
   code and the bits behind the bit that the code says.  last[block]: the last key;
   directory[header of `bits` bits]: the first block that may have keys with this header. */
typedef struct {
    int64_t size, count, bits;
    uint8_t *bytes;
    uint64_t *last;
    const uint32_t *directory;
    const Code *code;
} Blocks;

typedef struct { uint64_t query, mask, starts[SETS]; } Asked;
typedef struct { uint32_t count, places[ROOM]; } Found;

static inline uint64_t bits_at(const uint8_t *from, uint64_t at) {
    uint64_t word;
    memcpy(&word, from + at / 8, 8);
    return __builtin_bswap64(word) << at % 8 | (uint64_t)from[at / 8 + 8] >> (8 - at % 8);
}

static uint64_t put(uint8_t *to, uint64_t at, uint64_t value, int width) {
    for (int taken, left = width; left > 0; left -= taken, at += taken) {
        taken = left < 32 ? left : 32;
        uint64_t word, piece = value >> (left - taken) & (((uint64_t)1 << taken) - 1);
        memcpy(&word, to + at / 8, 8);
        word |= __builtin_bswap64(piece << (64 - at % 8 - taken));
        memcpy(to + at / 8, &word, 8);
    }
    return at;
}

void pack(const uint64_t *keys, int64_t n, int width, uint8_t *packed) {
    for (int64_t i = 0; i < n; i++) put(packed, (uint64_t)(i * width), keys[i], width);
}

void fill_blocks(const uint64_t *keys, int64_t n, Blocks *blocks) {
    const Code *code = blocks->code;
    for (int64_t i = 0; i < n; blocks->last[blocks->count++] = keys[i - 1]) {
        uint8_t *block = blocks->bytes + blocks->count * blocks->size;
        const int64_t start = i;
        memcpy(block, &keys[i], 8);
        memcpy(block + 8, &start, 4);
        uint64_t at = 8 * HEAD;
        for (i++; i < n && i - start < KEYS_MOST; i++) {
            const int symbol = __builtin_clzll(keys[i] ^ keys[i - 1]);
            const int length = code->lengths[symbol], rest = 63 - symbol;
            if (at + (uint64_t)(length + rest) > 8 * (uint64_t)blocks->size) break;
            at = put(block, at, code->codes[symbol] >> (64 - length), length);
            at = put(block, at, keys[i], rest);
        }
        block[COUNT_AT] = (uint8_t)(i - start);
    }
}

static inline uint64_t next_key(const Code *code, const uint8_t *block, uint64_t *at, uint64_t key) {
    uint64_t word = bits_at(block, *at);
    int known = code->peek[word >> (64 - PEEKED)], rank = 1;
    if (!known) {
        while (rank < 64 && code->codes[code->ranked[rank]] <= word) rank++;
        known = code->ranked[rank - 1] | code->lengths[code->ranked[rank - 1]] << 8;
    }
    const int symbol = known & 63, length = known >> 8, rest = 63 - symbol;
    word = length + rest > 64 ? bits_at(block, *at + (uint64_t)length) : word << length;
    *at += (uint64_t)(length + rest);
    const uint64_t bit = (uint64_t)1 << rest; /* 0 in the key before, which is smaller */
    return (key & -bit) | bit | word >> 1 >> symbol;
}

static inline int is_near(const Asked *asked, uint64_t key) {
    return __builtin_popcountll((key ^ asked->query) & asked->mask) <= DISTANCE;
}

static inline void keep(const Table *table, Found *found, uint64_t place) {
    if (found->count == ROOM) __builtin_trap();
    __builtin_prefetch(&table->ordinals[place]);
    found->places[found->count++] = (uint32_t)place;
}

/* For each place of the asked headers, after its column has been asked for. */
#define EACH_PLACE(column, bits)                                                              \
    const uint32_t *positions[SETS];                                                          \
    for (int i = 0; i < SETS; i++) {                                                          \
        positions[i] = table->directory + (asked->starts[i] >> (64 - table->t));              \
        __builtin_prefetch(positions[i]);                                                     \
    }                                                                                         \
    for (int i = 0; i < SETS; i++)                                                            \
        __builtin_prefetch((const char *)(column) + *positions[i] * (uint64_t)(bits) / 8);    \
    for (int i = 0; i < SETS; i++)                                                            \
        for (uint64_t place = positions[i][0]; place < positions[i][1]; place++)

static void search_packed(const Table *table, const Asked *asked, Found *found) {
    const uint64_t width = (uint64_t)(64 - table->t);
    EACH_PLACE(table->packed, width)
        if (is_near(asked, bits_at(table->packed, place * width) >> table->t))
            keep(table, found, place);
}

static void search_tags(const Table *table, const Asked *asked, Found *found) {
    const uint16_t tag = (uint16_t)(asked->query >> (48 - table->t));
    EACH_PLACE(table->tags, 16)
        if (__builtin_popcount(table->tags[place] ^ tag) <= DISTANCE) keep(table, found, place);
    const uint32_t hits = found->count, *places = found->places;
    for (uint32_t i = 0; i < hits; i++)
        __builtin_prefetch(&table->whole[table->ordinals[places[i]]]);
    found->count = 0;
    for (uint32_t i = 0; i < hits; i++)
        if (is_near(asked, table->whole[table->ordinals[places[i]]])) keep(table, found, places[i]);
}

static void find_by_directory(const Blocks *blocks, const Asked *asked, int64_t *first) {
    const uint32_t *directory = blocks->directory;
    for (int i = 0; i < SETS; i++)
        __builtin_prefetch(&directory[asked->starts[i] >> (64 - blocks->bits)]);
    for (int i = 0; i < SETS; i++) first[i] = directory[asked->starts[i] >> (64 - blocks->bits)];
}

/* Guess, correct the guess twice by the keys found there, and walk the rest. */
static void find_by_interpolation(const Blocks *blocks, const Asked *asked, int64_t *first) {
    const double density = (double)blocks->count / 18446744073709551616.0;
    const uint64_t *last = blocks->last;
    const int64_t end = blocks->count - 1;
    for (int step = 0; step < 3; step++)
        for (int i = 0; i < SETS; i++) {
            const uint64_t start = asked->starts[i];
            const double off = step ? (double)(int64_t)(start - last[first[i]]) : (double)start;
            const int64_t guess = (step ? first[i] : 0) + (int64_t)(off * density);
            first[i] = guess < 0 ? 0 : guess > end ? end : guess;
            __builtin_prefetch(&last[first[i]]);
        }
    for (int i = 0; i < SETS; i++) {
        while (first[i] > 0 && last[first[i] - 1] >= asked->starts[i]) first[i]--;
        while (first[i] < end && last[first[i]] < asked->starts[i]) first[i]++;
    }
}

static inline uint64_t first_key(const uint8_t *block) {
    uint64_t key;
    memcpy(&key, block, 8);
    return key;
}

static void search_blocks(const Table *table, const Blocks *blocks, const Asked *asked,
                          const int64_t *first, Found *found) {
    const uint8_t *end = blocks->bytes + blocks->count * blocks->size;
    for (int i = 0; i < SETS; i++)
        for (int64_t byte = 0; byte < AHEAD && byte < blocks->size + LINE; byte += LINE)
            __builtin_prefetch(blocks->bytes + first[i] * blocks->size + byte);
    for (int i = 0; i < SETS; i++) {
        const uint64_t start = asked->starts[i], stop = start | asked->mask;
        const uint8_t *block = blocks->bytes + first[i] * blocks->size;
        while (block + blocks->size < end && first_key(block + blocks->size) <= start)
            block += blocks->size;
        for (uint64_t key = 0; block < end && key <= stop; block += blocks->size) {
            uint64_t at = 8 * HEAD;
            uint32_t place;
            key = first_key(block);
            memcpy(&place, block + 8, 4);
            for (int left = block[COUNT_AT]; key <= stop; place++) {
                if (key >= start && is_near(asked, key)) keep(table, found, place);
                if (--left == 0) break;
                key = next_key(blocks->code, block, &at, key);
            }
        }
    }
}

enum { TAGS, PACKED, BLOCKS_BY_LAST_KEYS, BLOCKS_BY_DIRECTORY };

/* Returns how many matches m queries have; xors these matches' ordinals into `sum`. */
int64_t look_up(const Table *table, const Blocks *blocks, int form, const uint64_t *queries,
                const uint64_t *flips, int64_t m, uint64_t *sum) {
    int64_t matches = 0, first[SETS];
    Found found;
    for (int64_t q = 0; q < m; q++, matches += found.count) {
        Asked asked = {.query = queries[q], .mask = UINT64_MAX >> table->t};
        for (int i = 0; i < SETS; i++)
            asked.starts[i] = (queries[q] ^ flips[q * SETS + i]) & ~asked.mask;
        found.count = 0;
        if (form == PACKED) search_packed(table, &asked, &found);
        if (form == TAGS) search_tags(table, &asked, &found);
        if (form == BLOCKS_BY_LAST_KEYS) find_by_interpolation(blocks, &asked, first);
        if (form == BLOCKS_BY_DIRECTORY) find_by_directory(blocks, &asked, first);
        if (form >= BLOCKS_BY_LAST_KEYS) search_blocks(table, blocks, &asked, first, &found);
        for (uint32_t i = 0; i < found.count; i++) *sum ^= table->ordinals[found.places[i]];
    }
    return matches;
}
