/* Compare every variant of the C functions with the scalar one, on random arguments: for processors
   on which Python is not at hand.  `test_parity.py` compiles and runs it.

   parity [SEED]    prints the variants and exits with 0, or prints what differs and exits with 1 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel.h"
#include "polytope.h"
#include "text/unicode.h"
#include "variants.h"

#define ROUNDS 300
#define ROOM 4096

static uint64_t state;

static uint64_t draw(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static size_t below(size_t limit) { return draw() % limit; }

/* Small sizes are the most frequent, and 0 and 1 are among them. */
static size_t draw_size(size_t limit) { return below(below(4) ? limit / 16 + 2 : limit + 1); }

static void fill(void *place, size_t size)
{
    for (size_t i = 0; i < size; i++)
        ((uint8_t *)place)[i] = (uint8_t)(draw() >> 24);
}

static void compare(const void *one, const void *other, size_t size, const char *what,
                    const char *variant)
{
    if (size > 0 && memcmp(one, other, size) != 0) {
        printf("%s of %s differs from the scalar one\n", what, variant);
        exit(1);
    }
}

static void compare_numbers(size_t one, size_t other, const char *what, const char *variant)
{
    compare(&one, &other, sizeof one, what, variant);
}

/* Draw keys of which some are near `key`. */
static void draw_keys(uint64_t *keys, size_t count, uint64_t key)
{
    for (size_t i = 0; i < count; i++) {
        keys[i] = below(3) ? draw() : key;
        for (size_t flips = below(12); flips > 0; flips--)
            keys[i] ^= (uint64_t)1 << below(64);
    }
}

/* Draw which bits count: all, most, half or few. */
static uint64_t draw_counted(void)
{
    uint64_t counted = draw();

    switch (below(4)) {
    case 0:
        return ~(uint64_t)0;
    case 1:
        return counted | draw();
    case 2:
        return counted;
    default:
        return counted & draw() & draw();
    }
}

/* Draw how many of them may differ: always as many, or another number. */
static uint32_t draw_most(unsigned distance)
{
    return below(4) ? distance : (uint32_t)below(70);
}

/* Measure all buckets, and resume whenever the hits have no more room. */
static size_t measured(const struct search_kernel *kernel, const struct search_bucket *buckets,
                       size_t count, size_t capacity, struct search_hit *all)
{
    static struct search_bucket left[64];
    struct search_hit list[64];
    size_t total = 0, finished = 0;

    memcpy(left, buckets, count * sizeof *buckets);
    while (finished < count) {
        struct search_hits hits = {list, 0, capacity};
        size_t before = finished;
        finished += kernel->measure(left + finished, count - finished, &hits);
        for (size_t i = 0; i < hits.count; i++, total++) {
            memset(&all[total], 0, sizeof all[total]);
            all[total].place = list[i].place;
            all[total].distance = list[i].distance;
            all[total].bucket = list[i].bucket + (uint32_t)before;
        }
    }
    return total;
}

static void check_measure(const struct search_kernel *scalar, const struct search_kernel *other)
{
    static uint64_t keys[ROOM];
    static struct search_hit expected[64 * 256], found[64 * 256];
    struct search_bucket buckets[64];
    size_t count = draw_size(64);
    unsigned distance = (unsigned)(below(8) ? below(12) : below(70));
    uint64_t key = draw();

    draw_keys(keys, ROOM, key);
    for (size_t i = 0; i < count; i++) {
        size_t start = below(ROOM - 256);
        buckets[i] = (struct search_bucket){keys + start, keys + start + draw_size(250),
                                            {key, draw_counted(), draw_most(distance)}, NULL, 0};
    }
    size_t capacity = SEARCH_HITS_MIN + below(50);
    size_t hits = measured(scalar, buckets, count, capacity, expected);
    compare_numbers(hits, measured(other, buckets, count, capacity, found), "measure",
                    other->name);
    compare(expected, found, hits * sizeof *found, "measure", other->name);
}

static size_t sifted(const struct search_kernel *kernel, const struct search_stretch *stretches,
                     size_t count, const struct search_wanted *wanted,
                     struct search_sifted *all)
{
    struct search_stretch left[32];
    struct search_sifted list[40];
    size_t total = 0, finished = 0;

    memcpy(left, stretches, count * sizeof *left);
    while (finished < count) {
        size_t some;
        finished += kernel->sift(left + finished, count - finished, wanted, list, 40, &some);
        for (size_t i = 0; i < some; i++, total++) {
            memset(&all[total], 0, sizeof all[total]);
            all[total].key = list[i].key;
            all[total].place = list[i].place;
        }
    }
    return total;
}

static void check_sift(const struct search_kernel *scalar, const struct search_kernel *other)
{
    static uint64_t keys[ROOM];
    static struct search_sifted expected[32 * 64], found[32 * 64];
    struct search_stretch stretches[32];
    enum { WANTED = 100 };
    uint64_t tags[WANTED], key = draw();
    struct search_wanted wanted[WANTED];
    size_t count = draw_size(32);
    unsigned distance = (unsigned)below(66);

    draw_keys(keys, ROOM, key);
    draw_keys(tags, WANTED, key);
    for (size_t i = 0; i < WANTED; i++)
        wanted[i] = (struct search_wanted){tags[i], draw_counted(), draw_most(distance)};
    for (size_t i = 0; i < count; i++)
        stretches[i] = (struct search_stretch){keys + below(ROOM - 64), (uint32_t)draw_size(60),
                                               (uint32_t)below(WANTED)};
    size_t total = sifted(scalar, stretches, count, wanted, expected);
    compare_numbers(total, sifted(other, stretches, count, wanted, found), "sift",
                    other->name);
    compare(expected, found, total * sizeof *found, "sift", other->name);
}

static void check_drop_flipped(const struct search_kernel *scalar,
                               const struct search_kernel *other)
{
    struct search_near near[2][64];
    struct search_wanted wanted = {draw(), draw_counted(), 64};
    uint64_t keys[64];
    uint8_t sizes[64];
    size_t count = draw_size(64);
    uint32_t most = (uint32_t)below(below(2) ? 40 : 64 * 16);

    draw_keys(keys, 64, wanted.key);
    for (size_t i = 0; i < 64; i++) {
        sizes[i] = (uint8_t)below(16);
        near[0][i] = (struct search_near){keys[i], (uint32_t)draw(), (uint32_t)i};
    }
    memcpy(near[1], near[0], sizeof near[0]);
    size_t kept = scalar->drop_flipped(near[0], count, &wanted, sizes, most);
    compare_numbers(kept, other->drop_flipped(near[1], count, &wanted, sizes, most),
                    "drop_flipped", other->name);
    compare(near[0], near[1], kept * sizeof near[0][0], "drop_flipped", other->name);
}

/* Measure all ranges of tags, and resume whenever the hits have no more room. */
static size_t measured_tags(const struct search_kernel *kernel,
                            const struct search_tag_range *ranges, size_t count, size_t capacity,
                            struct search_tag_hit *all)
{
    static struct search_tag_range left[64];
    struct search_tag_hit list[64];
    size_t total = 0, finished = 0;

    memcpy(left, ranges, count * sizeof *ranges);
    while (finished < count) {
        struct search_tag_hits hits = {list, 0, capacity};
        size_t before = finished;
        finished += kernel->measure_tags(left + finished, count - finished, &hits);
        for (size_t i = 0; i < hits.count; i++, total++) {
            memset(&all[total], 0, sizeof all[total]);
            all[total].place = list[i].place;
            all[total].range = list[i].range + (uint32_t)before;
        }
    }
    return total;
}

static void check_measure_tags(const struct search_kernel *scalar,
                               const struct search_kernel *other)
{
    enum { TAGS = 512, LOADED = 16 };
    static struct search_tag_hit expected[64 * TAGS], found[64 * TAGS];
    uint16_t memory[TAGS + 64];
    struct search_tag_range ranges[64];
    size_t count = draw_size(64), stored = 1 + draw_size(TAGS - 1), most = below(18);
    const uint16_t *tags = memory + below(64);

    fill(memory, sizeof memory);
    for (size_t i = 0; i < count; i++) {
        size_t start = below(stored), room = stored - start;
        size_t length = below(4) ? below(room < 9 ? room + 1 : 9) : below(room + 1);
        ranges[i] = (struct search_tag_range){
            tags + start, tags + start + length, tags,
            stored < LOADED ? NULL : tags + stored - LOADED, NULL, 0, (uint16_t)draw(),
            (uint16_t)most,
        };
    }
    size_t capacity = 1 + below(50);
    size_t hits = measured_tags(scalar, ranges, count, capacity, expected);
    compare_numbers(hits, measured_tags(other, ranges, count, capacity, found), "measure_tags",
                    other->name);
    compare(expected, found, hits * sizeof *found, "measure_tags", other->name);
}

static void check_weigh(const struct search_kernel *scalar, const struct search_kernel *other)
{
    static uint8_t content[64 * 301 + 64];
    static int8_t low[384], high[384];
    const uint8_t *lefts[64], *rights[64];
    float expected[64], found[64];
    size_t width = 1 + draw_size(299), count = draw_size(63);
    struct search_weights query = {low, high, 0, 0};

    fill(content, sizeof content);
    memset(low, 0, sizeof low);
    memset(high, 0, sizeof high);
    for (size_t i = 0; i < width; i++) {
        low[i] = (int8_t)(2 * (int)below(16) - 15);
        high[i] = (int8_t)(2 * (int)below(16) - 15);
        query.sum += low[i] + high[i];
        query.norm += low[i] * low[i] + high[i] * high[i];
    }
    for (size_t i = 0; i < count; i++) {
        lefts[i] = content + below(sizeof content - width);
        rights[i] = content + below(sizeof content - width);
    }
    scalar->weigh(&query, lefts, count, width, expected);
    other->weigh(&query, lefts, count, width, found);
    compare(expected, found, count * sizeof *found, "weigh", other->name);
    scalar->weigh_pairs(lefts, rights, count, width, expected);
    other->weigh_pairs(lefts, rights, count, width, found);
    compare(expected, found, count * sizeof *found, "weigh_pairs", other->name);
}

static void check_differ(const struct search_kernel *scalar, const struct search_kernel *other)
{
    static uint8_t content[65 * 64];
    const uint8_t *lefts[64], *rights[64];
    uint16_t expected[64], found[64];
    size_t width = 4 * (1 + below(16)), count = draw_size(64);

    fill(content, sizeof content);
    for (size_t i = 0; i < count; i++) {
        lefts[i] = content + below(sizeof content - width);
        rights[i] = content + below(sizeof content - width);
    }
    scalar->differ_pairs(lefts, rights, count, width, expected);
    other->differ_pairs(lefts, rights, count, width, found);
    compare(expected, found, count * sizeof *found, "differ_pairs", other->name);
    const uint8_t *hashes = content + below(64);
    uint32_t near[2][64], most = (uint32_t)below(4 * width + below(4 * width) + 1);
    size_t hits = scalar->near_hashes(content, hashes, count, width, most, near[0]);
    compare_numbers(hits, other->near_hashes(content, hashes, count, width, most, near[1]),
                    "near_hashes", other->name);
    compare(near[0], near[1], hits * sizeof **near, "near_hashes", other->name);
}

/* Draw a character: mostly a word of ASCII, else anything up to `most`. */
static uint32_t draw_character(uint32_t most, unsigned rarity)
{
    static const char frequent[] = "abcdefghijklmnopqrstuvwxyz"
                                   "ABCDEFGHIJKLMNOPQRSTUVWXYZ0189_  .,-@[`{";

    return below(rarity) ? (uint32_t)frequent[below(sizeof frequent - 1)]
                         : (uint32_t)below(most);
}

struct output {
    uint8_t copy[4 * 600 + 64];
    uint32_t starts[600 + 64], stops[600 + 64];
};

static void compare_tokens(const struct output *expected, const struct output *found,
                           int64_t count, const char *what, const char *variant)
{
    compare(expected->starts, found->starts, (size_t)count * 4, what, variant);
    compare(expected->stops, found->stops, (size_t)count * 4, what, variant);
    for (int64_t i = 0; i < count; i++)
        compare(expected->copy + expected->starts[i], found->copy + found->starts[i],
                expected->stops[i] - expected->starts[i], what, variant);
}

static void check_text(const struct sketch_operations *scalar,
                       const struct sketch_operations *other)
{
    static struct output expected, found;
    static uint8_t ascii[600], one[600];
    static uint16_t two[600];
    static uint32_t four[600];
    const void *const content[] = {one, two, four};
    size_t length = draw_size(599);
    unsigned rarity = below(2) ? 1000000 : 1 + (unsigned)below(60);
    int lowercase = (int)below(2);

    for (size_t i = 0; i < length; i++) {
        ascii[i] = (uint8_t)draw_character(0x80, 5);
        one[i] = (uint8_t)draw_character(0x100, rarity);
        two[i] = (uint16_t)draw_character(0xD800, rarity);
        four[i] = draw_character(CODE_POINTS, rarity);
    }
    int64_t count = scalar->words(ascii, (int64_t)length, lowercase, expected.copy,
                                  expected.starts, expected.stops);
    compare_numbers((size_t)count,
                    (size_t)other->words(ascii, (int64_t)length, lowercase, found.copy,
                                         found.starts, found.stops), "words", other->name);
    compare_tokens(&expected, &found, count, "words", other->name);
    for (int i = 0; i < 3; i++) {
        struct clean_settings settings = {SKETCH_CLEANED | (below(2) ? SKETCH_STRAYS : 0),
                                          lowercase};
        struct sketch_text text = {content[i], (int64_t)length, 1 << i, 0, 0};
        compare_numbers((size_t)scalar->clean(&text, settings),
                        (size_t)other->clean(&text, settings), "clean", other->name);
    }
    for (int i = 0; i < 3; i++)
        for (int alone = 0; alone < 2; alone++) {
            struct sketch_text text = {content[i], (int64_t)length, 1 << i, 0, 0};
            struct sketch_tokens tokens = {expected.copy, expected.starts, expected.stops};
            struct sketch_tokens others = {found.copy, found.starts, found.stops};
            int64_t start = (int64_t)below(length + 1), open, opened;
            count = (alone ? scalar->cut_spaceless : scalar->cut)(
                &text, start, (int64_t)length, lowercase, &tokens, &open);
            compare_numbers((size_t)count, (size_t)(alone ? other->cut_spaceless : other->cut)(
                &text, start, (int64_t)length, lowercase, &others, &opened), "cut", other->name);
            compare_numbers((size_t)open, (size_t)opened, "cut", other->name);
            compare_tokens(&expected, &found, count, "cut", other->name);
        }
}

static void check_sums(const struct sketch_operations *scalar,
                       const struct sketch_operations *other)
{
    static uint64_t first[9001], second[9001];
    static uint32_t units[9000];
    uint32_t ones[2][128];
    uint64_t sums[2][128];
    int64_t count = (int64_t)draw_size(9000);

    fill(first, sizeof first);
    fill(second, sizeof second);
    if (below(4) == 0)
        memset(first, 0xFF, sizeof first);
    for (int64_t i = 0; i < count; i++)
        units[i] = (uint32_t)below((size_t)1 << UNITS_BITS);
    fill(ones[0], sizeof ones[0]);
    memcpy(ones[1], ones[0], sizeof ones[0]);
    scalar->counts(first + 1, second, count, ones[0]);
    other->counts(first + 1, second, count, ones[1]);
    compare(ones[0], ones[1], sizeof ones[0], "counts", other->name);
    fill(sums[0], sizeof sums[0]);
    memcpy(sums[1], sums[0], sizeof sums[0]);
    scalar->units(first, second + 1, units, count, sums[0]);
    other->units(first, second + 1, units, count, sums[1]);
    compare(sums[0], sums[1], sizeof sums[0], "units", other->name);
}

static void check_minima(const struct sketch_operations *scalar,
                         const struct sketch_operations *other)
{
    static uint64_t multipliers[MINIMA_MOST], increments[MINIMA_MOST], features[300];
    static uint32_t values[2][MINIMA_MOST];
    static uint8_t left[8 * 4096 + 1], right[8 * 4096 + 1];
    struct minima_family family = {MINIMA_MULTIPLY_SHIFT,
                                   MINIMA_STEP * (1 + (int)draw_size(127)), 0, multipliers,
                                   increments};
    uint16_t agreeing[2][8];
    int64_t count = (int64_t)draw_size(300);
    int width = (int)draw_size(1024), is_one = (int)below(2);

    fill(multipliers, sizeof multipliers);
    fill(increments, sizeof increments);
    fill(features, sizeof features);
    memset(values, 0xFF, sizeof values);
    scalar->minima.shift(&family, features, count, values[0]);
    other->minima.shift(&family, features, count, values[1]);
    compare(values[0], values[1], sizeof values[0], "minima", other->name);
    for (int i = 0; i < MINIMA_MOST; i++)
        multipliers[i] &= ~(uint64_t)0xFFFF;
    memset(values, 0xFF, sizeof values);
    scalar->minima.stratified(&family, features, count, values[0]);
    other->minima.stratified(&family, features, count, values[1]);
    compare(values[0], values[1], sizeof values[0], "stratified minima", other->name);
    for (size_t i = 0; i < sizeof left; i++) {
        left[i] = (uint8_t)below(3);
        right[i] = (uint8_t)below(3);
    }
    scalar->agree_narrow(left + 1, is_one, right, 8, width, agreeing[0]);
    other->agree_narrow(left + 1, is_one, right, 8, width, agreeing[1]);
    compare(agreeing[0], agreeing[1], sizeof agreeing[0], "agree", other->name);
    scalar->agree_wide(left, is_one, right + 1, 8, width, agreeing[0]);
    other->agree_wide(left, is_one, right + 1, 8, width, agreeing[1]);
    compare(agreeing[0], agreeing[1], sizeof agreeing[0], "agree", other->name);
}

int main(int count, char **arguments)
{
    uint64_t seed = count > 1 ? strtoull(arguments[1], NULL, 10) : 1;
    size_t index;

    unicode_unfold();
    clean_unfold();
    printf("search: %s", search_variant(0)->name);
    for (index = 1; search_variant(index) != NULL; index++) {
        state = seed * 0x9E3779B97F4A7C15u | 1;
        printf(" %s", search_variant(index)->name);
        for (int round = 0; round < ROUNDS; round++) {
            check_measure(search_variant(0), search_variant(index));
            check_measure_tags(search_variant(0), search_variant(index));
            check_sift(search_variant(0), search_variant(index));
            check_drop_flipped(search_variant(0), search_variant(index));
            check_weigh(search_variant(0), search_variant(index));
            check_differ(search_variant(0), search_variant(index));
        }
    }
    printf("\nsketch: %s", sketch_variant(0)->name);
    for (index = 1; sketch_variant(index) != NULL; index++) {
        state = seed * 0x9E3779B97F4A7C15u | 1;
        printf(" %s", sketch_variant(index)->name);
        for (int round = 0; round < ROUNDS; round++) {
            check_text(sketch_variant(0), sketch_variant(index));
            check_sums(sketch_variant(0), sketch_variant(index));
            check_minima(sketch_variant(0), sketch_variant(index));
        }
    }
    printf("\n");
    return 0;
}
