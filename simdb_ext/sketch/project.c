#include "project.h"

#include <math.h>
#include <string.h>

#include "variants.h"

#define UNIT 1024u /* weights that are not whole numbers are counted in 1/1024 */

/* Held hashes of given tokens at which shingles are made; another window still fits. */
#define SHINGLED (SKETCH_SHINGLE_MAX + 1)

#define WORD_CHARACTERS 6 /* of an average word in running text, with the character after it */

#define PREFETCHED 2048 /* bytes at the beginning of each text */
#define CACHE_LINE 64

/* A limit on the occurrences of a feature that count, so that its weight has few bits. */
#define COUNT_MAX 65535u

/* 1 + ln n in units, for small n, which are frequent. */
static uint32_t logarithms[256];

static uint32_t logarithm(uint32_t count)
{
    return (uint32_t)floor(UNIT * (1.0 + log(count)) + 0.5);
}

void sketch_project_begin(void)
{
    for (uint32_t i = 1; i < 256; i++)
        logarithms[i] = logarithm(i);
}

/* Return whether features are collected until the document ends, because their numbers of
   occurrences are needed. */
static int is_bagged(const struct sketch_settings *settings)
{
    return settings->counting == SKETCH_LOG_TF || settings->counting == SKETCH_COLLECT;
}

static int is_whole(const struct sketch_settings *settings)
{
    return !is_bagged(settings) && settings->idf == NULL;
}

/* Begin a document of about `expected` features. */
static void begin(struct sketch_scratch *scratch, const struct sketch_settings *settings,
                  int64_t expected)
{
    memset(scratch->ones, 0, (size_t)settings->dimensions * sizeof *scratch->ones);
    scratch->held = 0;
    scratch->features = 0;
    scratch->counted = 0;
    scratch->is_incomplete = 0;
    scratch->is_full = 0;
    scratch->total = 0;
    if (!is_whole(settings))
        memset(scratch->sums, 0, (size_t)settings->dimensions * sizeof *scratch->sums);
    if (is_bagged(settings))
        sketch_bag_clear(&scratch->bag, expected);
    if (settings->counting == SKETCH_BINARY)
        sketch_set_begin(&scratch->set, expected);
    if (settings->family != NULL)
        minima_begin(&scratch->minima, settings->family);
    scratch->sequence.count = scratch->sequence.done;
}

static int is_wide(const struct sketch_settings *settings)
{
    return settings->dimensions > SKETCH_DIMENSIONS;
}

/* Make the further words of some of `count` features, starting at `start`; return how many. */
static int64_t make_further(struct sketch_scratch *scratch, const uint64_t *first, int64_t start,
                            int64_t count)
{
    int64_t some = count - start < SKETCH_FURTHER ? count - start : SKETCH_FURTHER;

    sketch_operations->further(first + start, some, scratch->third, scratch->fourth);
    return some;
}

/* Add features that weigh 1 each. */
static void add_ones(struct sketch_scratch *scratch, const struct sketch_settings *settings,
                     int64_t count)
{
    sketch_operations->counts(scratch->first, scratch->second, count, scratch->ones);
    if (is_wide(settings))
        for (int64_t i = 0, some; i < count; i += some) {
            some = make_further(scratch, scratch->first, i, count);
            sketch_operations->counts(scratch->third, scratch->fourth, some,
                                      scratch->ones + SKETCH_DIMENSIONS);
        }
}

/* Add features with the weights scratch->units. */
static void add_units(struct sketch_scratch *scratch, const struct sketch_settings *settings,
                      const uint64_t *first, const uint64_t *second, int64_t count)
{
    sketch_operations->units(first, second, scratch->units, count, scratch->sums);
    if (is_wide(settings))
        for (int64_t i = 0, some; i < count; i += some) {
            some = make_further(scratch, first, i, count);
            sketch_operations->units(scratch->third, scratch->fourth, scratch->units + i, some,
                                     scratch->sums + SKETCH_DIMENSIONS);
        }
    for (int64_t i = 0; i < count; i++)
        scratch->total += scratch->units[i];
}

/* Append features to the sequence; return whether there was room for them. */
static int append_features(struct sketch_sequence *sequence, const uint64_t *first, int64_t count)
{
    if (count > sequence->room - sequence->count)
        return 0;
    memcpy(sequence->words + sequence->count, first, (size_t)count * sizeof *first);
    sequence->count += count;
    return 1;
}

static void add_features(struct sketch_scratch *scratch, int64_t count,
                         const struct sketch_settings *settings)
{
    uint64_t *first = scratch->first, *second = scratch->second;

    if (is_bagged(settings)) {
        scratch->is_full |= !sketch_bag_add(&scratch->bag, first, second, count);
        return;
    }
    if (settings->counting == SKETCH_SEQUENCE) {
        scratch->is_full |= !append_features(&scratch->sequence, first, count);
        return;
    }
    if (settings->counting == SKETCH_BINARY)
        count = sketch_set_keep_new(&scratch->set, first, second, count);
    if (count < 0) {
        scratch->is_full = 1;
        return;
    }
    scratch->counted += count;
    if (settings->counting != SKETCH_MINHASH && settings->idf == NULL) {
        add_ones(scratch, settings, count);
    } else if (settings->counting != SKETCH_MINHASH) {
        sketch_operations->idf(settings->idf, first, count, scratch->units);
        add_units(scratch, settings, first, second, count);
    }
    /* Last, because it overwrites the hashes. */
    if (settings->family != NULL)
        minima_add(&sketch_operations->minima, &scratch->minima, settings->family, first,
                   count);
}

/* Count the features that the held hashes make, of `length` tokens each; the rest stays held. */
static void count_features(struct sketch_scratch *scratch, int length,
                           const struct sketch_settings *settings)
{
    int64_t count = scratch->held - length + 1;

    if (count <= 0)
        return;
    if (length > 1) {
        sketch_operations->shingles(scratch->first, count, length);
        if (settings->counting != SKETCH_MINHASH)
            sketch_operations->shingles(scratch->second, count, length);
    }
    add_features(scratch, count, settings);
    scratch->features += count;
    scratch->held = length - 1;
    memmove(scratch->first, scratch->first + count, 8 * (size_t)scratch->held);
    memmove(scratch->second, scratch->second + count, 8 * (size_t)scratch->held);
}

/* Write the units of `count` features of the bag, starting at feature `start`. */
static void weigh_bag(struct sketch_scratch *scratch, int64_t start, int64_t count,
                      const struct sketch_settings *settings)
{
    const uint32_t *counts = scratch->bag.counts + start;
    uint32_t *units = scratch->units;

    if (settings->idf != NULL)
        sketch_operations->idf(settings->idf, scratch->bag.first + start, count, units);
    for (int64_t i = 0; i < count; i++) {
        uint32_t each = counts[i] < COUNT_MAX ? counts[i] : COUNT_MAX;
        uint64_t weight = each < 256 ? logarithms[each] : logarithm(each);
        units[i] = (uint32_t)(settings->idf ? (weight * units[i] + UNIT / 2) / UNIT : weight);
    }
}

static void add_bag(struct sketch_scratch *scratch, const struct sketch_settings *settings)
{
    const struct sketch_bag *bag = &scratch->bag;

    for (int64_t i = 0, count; i < bag->count; i += count) {
        count = bag->count - i < SKETCH_WINDOW ? bag->count - i : SKETCH_WINDOW;
        weigh_bag(scratch, i, count, settings);
        add_units(scratch, settings, bag->first + i, bag->second + i, count);
    }
}

/* Write the weights that one pair of words makes, starting at `first`. */
static void write_some(const struct sketch_scratch *scratch, int first, int32_t *whole,
                       float *weights)
{
    for (int j = 0; j < SKETCH_DIMENSIONS; j++)
        if (whole != NULL)
            whole[j] = (int32_t)(2 * scratch->ones[first + j] - (uint32_t)scratch->counted);
        else
            weights[j] = (float)((double)(int64_t)(2 * scratch->sums[first + j] - scratch->total)
                                 / UNIT);
}

/* Write the weights of document `at`. */
static void write_weights(const struct sketch_scratch *scratch,
                          const struct sketch_settings *settings, int64_t at, void *weights)
{
    int is_int = is_whole(settings);

    for (int j = 0; j < settings->dimensions; j += SKETCH_DIMENSIONS) {
        int64_t place = settings->dimensions * at + j;
        write_some(scratch, j, is_int ? (int32_t *)weights + place : NULL,
                   is_int ? NULL : (float *)weights + place);
    }
}

/* Write the signature of a document; without features all its bits are set. */
static void write_signature(struct sketch_scratch *scratch, const struct minima_family *family,
                            uint32_t *row)
{
    if (scratch->counted > 0)
        minima_end(&scratch->minima, family, row);
    else
        memset(row, 0xFF, (size_t)family->count * sizeof *row);
}

/* Finish a document and write its results.  A text with fewer tokens than a shingle has one
   feature, all its tokens. */
static enum sketch_outcome finish(struct sketch_scratch *scratch,
                                  const struct sketch_settings *settings, int64_t at,
                                  void *weights, int64_t *features)
{
    if (scratch->features == 0 && scratch->held > 0)
        count_features(scratch, (int)scratch->held, settings);
    if (settings->counting == SKETCH_BINARY)
        sketch_set_end(&scratch->set);
    if (scratch->is_full)
        return SKETCH_FULL;
    features[at] = scratch->is_incomplete ? -1 : scratch->features;
    if (scratch->features > SKETCH_FEATURES_MAX) {
        features[at] = scratch->features;
        return SKETCH_TOO_MANY;
    }
    if (scratch->is_incomplete)
        return SKETCH_DONE;
    if (settings->counting == SKETCH_SEQUENCE) {
        scratch->sequence.done = scratch->sequence.count;
        return SKETCH_DONE;
    }
    features[at] = is_bagged(settings) ? scratch->bag.count : scratch->counted;
    if (settings->counting == SKETCH_COLLECT)
        return SKETCH_DONE;
    if (settings->counting == SKETCH_MINHASH) {
        write_signature(scratch, settings->family,
                        (uint32_t *)weights + settings->family->count * at);
        return SKETCH_DONE;
    }
    if (is_bagged(settings))
        add_bag(scratch, settings);
    write_weights(scratch, settings, at, weights);
    if (settings->family != NULL)
        write_signature(scratch, settings->family,
                        scratch->signatures + settings->family->count * at);
    return SKETCH_DONE;
}

static void read_text(const struct sketch_text *text, const struct sketch_settings *settings,
                      struct sketch_scratch *scratch)
{
    struct sketch_space space = {0, 0};
    int is_characters = settings->unit == SKETCH_CHARACTERS;

    begin(scratch, settings, is_characters ? text->length : text->length / WORD_CHARACTERS);
    for (int64_t position = 0; position < text->length && !scratch->is_full;) {
        position = sketch_hold_window(scratch, text, position, &space, settings);
        count_features(scratch, settings->shingle, settings);
    }
}

/* Request the memory where a text begins, while the text before it is read, because each Python str
   lies elsewhere.  The processor itself requests what follows. */
static void prefetch_text(const struct sketch_text *text)
{
    const char *content = text->characters;
    int64_t size = text->length * text->width;

    for (int64_t i = 0; i < size && i < PREFETCHED; i += CACHE_LINE)
        __builtin_prefetch(content + i);
}

static void read_tokens(const struct sketch_token *tokens, int64_t count,
                        const struct sketch_settings *settings, struct sketch_scratch *scratch)
{
    begin(scratch, settings, count);
    for (int64_t i = 0; i < count && !scratch->is_full;) {
        i += sketch_hold_given(scratch, tokens + i, count - i, settings);
        if (scratch->held >= SHINGLED)
            count_features(scratch, settings->shingle, settings);
    }
    count_features(scratch, settings->shingle, settings);
}

enum sketch_outcome sketch_project_texts(const struct sketch_text *texts, int64_t count,
                                         const struct sketch_settings *settings,
                                         struct sketch_scratch *scratch, void *weights,
                                         int64_t *features, int64_t *done)
{
    const struct clean_settings clean = settings->clean;

    if (*done == 0)
        scratch->unknown.size = 0;
    for (; *done < count; ++*done) {
        const struct sketch_text *text = &texts[*done];
        if (*done + 1 < count)
            prefetch_text(text + 1);
        if (features[*done] >= 0)
            continue;
        if (!settings->is_replaced && sketch_operations->surrogate(text))
            return SKETCH_SURROGATE;
        if (clean.cleaning && !text->is_clean && sketch_operations->clean(text, clean))
            return SKETCH_UNCLEAN;
        read_text(text, settings, scratch);
        enum sketch_outcome outcome = finish(scratch, settings, *done, weights, features);
        if (outcome != SKETCH_DONE)
            return outcome;
    }
    return SKETCH_DONE;
}

enum sketch_outcome sketch_project_tokens(const struct sketch_token *tokens,
                                          const int64_t *offsets, int64_t count,
                                          const struct sketch_settings *settings,
                                          struct sketch_scratch *scratch, void *weights,
                                          int64_t *features, int64_t *done)
{
    scratch->unknown.size = 0;
    for (*done = 0; *done < count; ++*done) {
        if (features[*done] >= 0)
            continue;
        read_tokens(tokens + offsets[*done], offsets[*done + 1] - offsets[*done], settings,
                    scratch);
        enum sketch_outcome outcome = finish(scratch, settings, *done, weights, features);
        if (outcome != SKETCH_DONE)
            return outcome;
    }
    return SKETCH_DONE;
}
