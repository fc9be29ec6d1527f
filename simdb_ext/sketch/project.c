#include "project.h"

#include <string.h>

#include "murmur.h"
#include "unicode.h"

static void begin(struct sketch_scratch *scratch)
{
    memset(scratch->ones, 0, sizeof scratch->ones);
    scratch->held = 0;
    scratch->features = 0;
}

/* Count the features of `length` tokens each that the held hashes make; the rest stays held. */
static void count_features(struct sketch_scratch *scratch, int length)
{
    int64_t count = scratch->held - length + 1;

    if (count <= 0)
        return;
    if (length > 1) {
        sketch_shingles(scratch->first, count, length);
        sketch_shingles(scratch->second, count, length);
    }
    sketch_counts(scratch->first, scratch->second, count, scratch->ones);
    scratch->features += count;
    scratch->held = length - 1;
    memmove(scratch->first, scratch->first + count, 8 * (size_t)scratch->held);
    memmove(scratch->second, scratch->second + count, 8 * (size_t)scratch->held);
}

/* A text that is shorter than a shingle has one feature: all its tokens. */
static enum sketch_outcome finish(struct sketch_scratch *scratch, int32_t *weights,
                                  int64_t *features)
{
    if (scratch->features == 0 && scratch->held > 0)
        count_features(scratch, (int)scratch->held);
    *features = scratch->features;
    if (scratch->features > SKETCH_FEATURES_MAX)
        return SKETCH_TOO_MANY;
    for (int j = 0; j < SKETCH_DIMENSIONS; j++)
        weights[j] = (int32_t)(2 * scratch->ones[j] - (uint32_t)scratch->features);
    return SKETCH_DONE;
}

static void hold(struct sketch_scratch *scratch, const struct sketch_murmur *hash)
{
    scratch->first[scratch->held] = hash->first;
    scratch->second[scratch->held++] = hash->second;
}

static void hold_tokens(struct sketch_scratch *scratch, int64_t count, uint32_t seed)
{
    sketch_hash(scratch->copy, scratch->starts, scratch->stops, count, seed,
                scratch->first + scratch->held, scratch->second + scratch->held);
    scratch->held += count;
}

static void hold_letters(struct sketch_scratch *scratch, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        scratch->first[scratch->held + i] = scratch->letters[scratch->copy[i]][0];
        scratch->second[scratch->held + i] = scratch->letters[scratch->copy[i]][1];
    }
    scratch->held += count;
}

/* A word that is longer than a window is hashed as it is read; returns where it ends. */
static int64_t hold_long_word(struct sketch_scratch *scratch, const struct sketch_text *text,
                              int64_t position, const struct sketch_settings *settings)
{
    struct sketch_murmur hash;
    int64_t size = 0;

    sketch_murmur_begin(&hash, settings->seed);
    for (; position < text->length; position++) {
        uint32_t code = character_at(text, position);
        if (unicode_class(code) != CLASS_WORD)
            break;
        code = settings->is_lowercase ? unicode_lower(code) : code;
        size += unicode_encode(code, scratch->copy + size);
        if (size >= SKETCH_WINDOW) {
            sketch_murmur_blocks(&hash, scratch->copy, size / 16);
            memcpy(scratch->copy, scratch->copy + size / 16 * 16, (size_t)(size % 16));
            size %= 16;
        }
    }
    sketch_murmur_blocks(&hash, scratch->copy, size / 16);
    sketch_murmur_end(&hash, scratch->copy + size / 16 * 16, size % 16);
    hold(scratch, &hash);
    return position;
}

/* Hold the words of the window [start, stop); returns where the next window begins. */
static int64_t hold_words(struct sketch_scratch *scratch, const struct sketch_text *text,
                          int64_t start, int64_t stop, const struct sketch_settings *settings)
{
    struct sketch_tokens tokens = {scratch->copy, scratch->starts, scratch->stops};
    int64_t count, open = stop;

    if (text->is_ascii) {
        count = sketch_words((const uint8_t *)text->characters + start, stop - start,
                             settings->is_lowercase, tokens.copy, tokens.starts, tokens.stops);
        if (count > 0 && tokens.stops[count - 1] == stop - start)
            open = start + tokens.starts[count - 1];
    } else {
        count = sketch_cut(text, start, stop, settings->is_lowercase, &tokens, &open);
    }
    if (open == stop || stop == text->length) {
        hold_tokens(scratch, count, settings->seed);
        return stop;
    }
    /* The last word may go on beyond the window: it is left to the next. */
    if (open == start)
        return hold_long_word(scratch, text, start, settings);
    hold_tokens(scratch, count - 1, settings->seed);
    return open;
}

static int64_t hold_characters(struct sketch_scratch *scratch, const struct sketch_text *text,
                               int64_t start, int64_t stop, struct sketch_space *space,
                               const struct sketch_settings *settings)
{
    struct sketch_tokens tokens = {scratch->copy, scratch->starts, scratch->stops};

    if (text->is_ascii) {
        const uint8_t *content = (const uint8_t *)text->characters + start;
        hold_letters(scratch, sketch_fold(content, stop - start, settings->is_lowercase, space,
                                          tokens.copy));
    } else {
        hold_tokens(scratch, sketch_fold_any(text, start, stop, settings->is_lowercase, space,
                                             &tokens), settings->seed);
    }
    return stop;
}

static void project_text(const struct sketch_text *text, const struct sketch_settings *settings,
                         struct sketch_scratch *scratch)
{
    struct sketch_space space = {0, 0};
    int64_t position = 0;

    begin(scratch);
    while (position < text->length) {
        int64_t stop = text->length - position <= SKETCH_WINDOW ? text->length
                                                                : position + SKETCH_WINDOW;
        if (settings->is_characters)
            position = hold_characters(scratch, text, position, stop, &space, settings);
        else
            position = hold_words(scratch, text, position, stop, settings);
        count_features(scratch, settings->shingle);
    }
}

enum sketch_outcome sketch_project_texts(const struct sketch_text *texts, int64_t count,
                                         const struct sketch_settings *settings,
                                         struct sketch_scratch *scratch, int32_t *weights,
                                         int64_t *features, int64_t *done)
{
    enum sketch_outcome outcome = SKETCH_DONE;

    for (int i = 0; i < 128; i++) {
        struct sketch_murmur hash;
        uint8_t letter = (uint8_t)i;
        sketch_murmur(&hash, &letter, 1, settings->seed);
        scratch->letters[i][0] = hash.first;
        scratch->letters[i][1] = hash.second;
    }
    for (*done = 0; *done < count; ++*done) {
        const struct sketch_text *text = &texts[*done];
        if (!settings->is_replaced && sketch_has_surrogate(text))
            return SKETCH_SURROGATE;
        project_text(text, settings, scratch);
        outcome = finish(scratch, weights + SKETCH_DIMENSIONS * *done, &features[*done]);
        if (outcome != SKETCH_DONE)
            break;
    }
    return outcome;
}

enum sketch_outcome sketch_project_tokens(const struct sketch_token *tokens,
                                          const int64_t *offsets, int64_t count,
                                          const struct sketch_settings *settings,
                                          struct sketch_scratch *scratch, int32_t *weights,
                                          int64_t *features, int64_t *done)
{
    enum sketch_outcome outcome = SKETCH_DONE;

    for (*done = 0; *done < count && outcome == SKETCH_DONE; ++*done) {
        begin(scratch);
        for (int64_t i = offsets[*done]; i < offsets[*done + 1]; i++) {
            struct sketch_murmur hash;
            sketch_murmur(&hash, tokens[i].content, tokens[i].length, settings->seed);
            hold(scratch, &hash);
            if (scratch->held >= SKETCH_WINDOW)
                count_features(scratch, settings->shingle);
        }
        count_features(scratch, settings->shingle);
        outcome = finish(scratch, weights + SKETCH_DIMENSIONS * *done, &features[*done]);
        if (outcome != SKETCH_DONE)
            break;
    }
    return outcome;
}
