#include "project.h"

#include <string.h>

#include "mix.h"
#include "text/marks.h"
#include "text/unicode.h"
#include "variants.h"

/* Given tokens of at most this many bytes are hashed together, longer ones one by one. */
#define GIVEN_SHORT 1024

#define REPLACEMENT '?' /* Python writes this for a lone surrogate */

static void hold(struct sketch_scratch *scratch, uint64_t first, uint64_t second)
{
    scratch->first[scratch->held] = first;
    scratch->second[scratch->held++] = second;
}

/* Hold the hash of an unknown token; record the token unless it is empty or too long. */
static void hold_unknown(struct sketch_scratch *scratch, uint64_t first, uint64_t second,
                         const uint8_t *content, int64_t length)
{
    hold(scratch, first, second);
    if (length == 0 || length > VOCABULARY_TOKEN_MAX)
        return;
    scratch->is_incomplete = 1;
    sketch_unknown_add(&scratch->unknown, content, length);
}

/* Return the place of a token, given the first word of its hash; usually the first place tried. */
static inline uint64_t place_of(const struct sketch_vocabulary *vocabulary, uint64_t first)
{
    uint64_t place = first & vocabulary->mask, key = vocabulary->keys[place];

    return key == first || key == 0 ? place : sketch_vocabulary_place(vocabulary, first);
}

/* Hold the tokens that are not in the vocabulary.  A processor cannot predict which tokens these
   are, so the loop has no branch.  Writing never overtakes reading. */
static void hold_others(struct sketch_scratch *scratch, int64_t count,
                        const struct sketch_vocabulary *vocabulary)
{
    const struct sketch_vocabulary known = *vocabulary;
    uint64_t *first = scratch->first + scratch->held, *second = scratch->second + scratch->held;
    int64_t kept = 0;

    for (int64_t i = 0; i < count; i++) {
        uint64_t own_first = first[i];
        int is_kept = known.keys[place_of(&known, own_first)] == 0;

        second[kept] = second[i];
        first[kept] = own_first;
        kept += is_kept;
    }
    scratch->held += kept;
}

/* Hold the replacement of each token; writing never overtakes reading. */
static void hold_meanings(struct sketch_scratch *scratch, int64_t count,
                          const struct sketch_vocabulary *vocabulary)
{
    const struct sketch_vocabulary known = *vocabulary;
    const uint64_t *first = scratch->first + scratch->held;
    const uint64_t *second = scratch->second + scratch->held;

    for (int64_t i = 0; i < count; i++) {
        uint64_t place = place_of(&known, first[i]);
        struct sketch_meaning meaning = known.meanings[place];

        if (known.keys[place] == 0) {
            hold_unknown(scratch, first[i], second[i], scratch->copy + scratch->starts[i],
                         (int64_t)scratch->stops[i] - scratch->starts[i]);
            continue;
        }
        scratch->first[scratch->held] = meaning.first;
        scratch->second[scratch->held] = meaning.second;
        scratch->held += (meaning.first | meaning.second) != 0;
    }
}

/* Hash the tokens that were cut, after the hashes that are held. */
static void hash_tokens(struct sketch_scratch *scratch, int64_t count, uint32_t seed)
{
    sketch_operations->hash(scratch->copy, scratch->starts, scratch->stops, count, seed,
                            scratch->first + scratch->held, scratch->second + scratch->held);
}

/* Return whether a character beyond ASCII is a decimal digit (Unicode, Nd) of the basic plane. */
static int is_other_digit(uint32_t code)
{
    static const uint16_t zeros[] = {
        0x0660, 0x06F0, 0x07C0, 0x0966, 0x09E6, 0x0A66, 0x0AE6, 0x0B66, 0x0BE6, 0x0C66,
        0x0CE6, 0x0D66, 0x0DE6, 0x0E50, 0x0ED0, 0x0F20, 0x1040, 0x1090, 0x17E0, 0x1810,
        0x1946, 0x19D0, 0x1A80, 0x1A90, 0x1B50, 0x1BB0, 0x1C40, 0x1C50, 0xA620, 0xA8D0,
        0xA900, 0xA9D0, 0xA9F0, 0xAA50, 0xABF0, 0xFF10,
    };
    int found = 0;

    if ((code >= 0x2000 && code < 0xA620) || (code >= 0xAC00 && code < 0xFF10))
        return 0;
    for (size_t i = 0; i < sizeof zeros / sizeof zeros[0]; i++)
        found |= code - zeros[i] < 10;
    return found;
}

/* Return the marks of a word in UTF-8 that does not begin with an ASCII character. */
static uint64_t marks_of(const uint8_t *word, int64_t size)
{
    uint32_t code = word[0];
    int64_t length = code < 0xE0 ? 2 : code < 0xF0 ? 3 : 4;

    code = code & (0xFF >> (length + 1));
    for (int64_t i = 1; i < length; i++)
        code = code << 6 | (word[i] & 0x3F);
    if (is_other_digit(code))
        return SKETCH_NUMBER;
    return size == length && (unicode_class(code) & CLASS_ALONE_MASK) == CLASS_SINGLE
               ? SKETCH_SINGLE : 0;
}

/* Set the marks in the hashes of the tokens that were cut. */
static void mark_tokens(struct sketch_scratch *scratch, int64_t count)
{
    uint64_t *first = scratch->first + scratch->held;

    for (int64_t i = 0; i < count; i++) {
        const uint8_t *word = scratch->copy + scratch->starts[i];
        uint64_t marks = (uint32_t)*word - '0' < 10 ? SKETCH_NUMBER : 0;
        if (*word >= 0x80)
            marks = marks_of(word, (int64_t)scratch->stops[i] - scratch->starts[i]);
        first[i] = (first[i] & ~(uint64_t)SKETCH_MARKS) | marks;
    }
}

/* Hold the tokens that were cut, or their replacements. */
static void hold_tokens(struct sketch_scratch *scratch, int64_t count,
                        const struct sketch_settings *settings)
{
    hash_tokens(scratch, count, settings->seed);
    if (settings->is_marked)
        mark_tokens(scratch, count);
    if (settings->vocabulary == NULL)
        scratch->held += count;
    else if (settings->vocabulary->is_complete)
        hold_others(scratch, count, settings->vocabulary);
    else
        hold_meanings(scratch, count, settings->vocabulary);
}

static void hold_letters(struct sketch_scratch *scratch, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        scratch->first[scratch->held + i] = scratch->letters[scratch->copy[i]][0];
        scratch->second[scratch->held + i] = scratch->letters[scratch->copy[i]][1];
    }
    scratch->held += count;
}

/* Return whether a token of several characters may contain this character. */
static int is_inside(uint32_t code, enum sketch_unit unit)
{
    int class = unicode_class(code);

    if (unit == SKETCH_WHITESPACE)
        return class != CLASS_SPACE;
    return class == CLASS_WORD || (class == CLASS_SPACELESS && unit == SKETCH_WORDS);
}

/* The kinds of characters: outside words, part of a word, or a word alone. */
enum { OUTSIDE, INSIDE, ALONE };

static void kinds_of(enum sketch_unit unit, uint8_t *kinds)
{
    memset(kinds, unit == SKETCH_WHITESPACE ? INSIDE : OUTSIDE, CLASS_MASK + 1);
    kinds[CLASS_SPACE] = OUTSIDE;
    kinds[CLASS_WORD] = INSIDE;
    if (unit != SKETCH_WHITESPACE)
        kinds[CLASS_SINGLE] = ALONE;
    if (unit != SKETCH_WHITESPACE)
        kinds[CLASS_SPACELESS] = unit == SKETCH_WORDS ? INSIDE : ALONE;
}

/* Inline, so that the width of the text is a constant. */
static inline int64_t place_words(struct sketch_text text, const uint8_t *kinds, int64_t *places)
{
    int64_t count = 0;
    int last = OUTSIDE;

    for (int64_t i = 0; i < text.length; i++) {
        uint32_t code = character_at(&text, i);
        int kind = kinds[unicode_class(unicode_is_surrogate(code) ? REPLACEMENT : code)];

        if (kind == last && kind != ALONE)
            continue;
        if (last != OUTSIDE)
            places[2 * count++ + 1] = i;
        if (kind != OUTSIDE)
            places[2 * count] = i;
        last = kind;
    }
    if (last != OUTSIDE)
        places[2 * count++ + 1] = text.length;
    return count;
}

int64_t sketch_place_words(const struct sketch_text *text, enum sketch_unit unit, int64_t *places)
{
    struct sketch_text narrow = *text, middle = *text, wide = *text;
    uint8_t kinds[CLASS_MASK + 1];

    kinds_of(unit, kinds);
    narrow.width = 1;
    middle.width = 2;
    wide.width = 4;
    if (text->width == 1)
        return place_words(narrow, kinds, places);
    return text->width == 2 ? place_words(middle, kinds, places)
                            : place_words(wide, kinds, places);
}

/* Hold a word that is longer than a window, hashed as it is read; return where it ends. */
static int64_t hold_long_word(struct sketch_scratch *scratch, const struct sketch_text *text,
                              int64_t position, const struct sketch_settings *settings)
{
    struct mix_stream hash = mix_begin(settings->seed);
    int64_t size = 0;

    for (; position < text->length; position++) {
        uint32_t code = character_at(text, position);
        if (!is_inside(code, settings->unit))
            break;
        code = settings->is_lowercase ? unicode_lower(code) : code;
        size += unicode_encode(code, scratch->copy + size);
        if (size >= SKETCH_WINDOW) {
            mix_blocks(&hash, scratch->copy, size / 16);
            memcpy(scratch->copy, scratch->copy + size / 16 * 16, (size_t)(size % 16));
            size %= 16;
        }
    }
    mix_blocks(&hash, scratch->copy, size / 16);
    mix_rest(&hash, scratch->copy + size / 16 * 16, size % 16);
    hold(scratch, settings->is_marked ? hash.first & ~(uint64_t)SKETCH_MARKS : hash.first,
         hash.second);
    return position;
}

/* Hold the words of the window [start, stop); return where the next window begins. */
static int64_t hold_words(struct sketch_scratch *scratch, const struct sketch_text *text,
                          int64_t start, int64_t stop, const struct sketch_settings *settings)
{
    const struct sketch_operations *now = sketch_operations;
    struct sketch_tokens tokens = {scratch->copy, scratch->starts, scratch->stops};
    int64_t count, open = stop;
    int lowercase = settings->is_lowercase;

    if (settings->unit == SKETCH_WHITESPACE) {
        count = now->cut_spaces(text, start, stop, lowercase, &tokens, &open);
    } else if (text->is_ascii) {
        count = now->words((const uint8_t *)text->characters + start, stop - start, lowercase,
                           tokens.copy, tokens.starts, tokens.stops);
        if (count > 0 && tokens.stops[count - 1] == stop - start)
            open = start + tokens.starts[count - 1];
    } else if (settings->unit == SKETCH_SPACELESS) {
        count = now->cut_spaceless(text, start, stop, lowercase, &tokens, &open);
    } else {
        count = now->cut(text, start, stop, lowercase, &tokens, &open);
    }
    if (open == stop || stop == text->length) {
        hold_tokens(scratch, count, settings);
        return stop;
    }
    /* The last word may continue beyond the window, so the next window takes it. */
    if (open == start)
        return hold_long_word(scratch, text, start, settings);
    hold_tokens(scratch, count - 1, settings);
    return open;
}

static int64_t put_token(const struct sketch_tokens *tokens, int64_t count, uint32_t *size,
                         uint32_t code)
{
    tokens->starts[count] = *size;
    *size += (uint32_t)unicode_encode(code, tokens->copy + *size);
    tokens->stops[count] = *size;
    return count + 1;
}

/* Fold the characters [start, stop) of any text, each as a token in UTF-8; return their number.
   For n characters, `tokens` has room for n + 1 tokens and 4 n + 4 bytes. */
static int64_t fold_any(const struct sketch_text *text, int64_t start, int64_t stop, int lowercase,
                        struct sketch_space *space, const struct sketch_tokens *tokens)
{
    uint32_t size = 0;
    int64_t count = 0;

    for (int64_t i = start; i < stop; i++) {
        uint32_t code = character_at(text, i);
        if (unicode_class(code) == CLASS_SPACE) {
            space->is_held = space->is_begun;
            continue;
        }
        if (space->is_held)
            count = put_token(tokens, count, &size, ' ');
        if (unicode_is_surrogate(code))
            code = REPLACEMENT;
        count = put_token(tokens, count, &size, lowercase ? unicode_lower(code) : code);
        space->is_held = 0;
        space->is_begun = 1;
    }
    return count;
}

static int64_t hold_characters(struct sketch_scratch *scratch, const struct sketch_text *text,
                               int64_t start, int64_t stop, struct sketch_space *space,
                               const struct sketch_settings *settings)
{
    struct sketch_tokens tokens = {scratch->copy, scratch->starts, scratch->stops};

    if (text->is_ascii) {
        const uint8_t *content = (const uint8_t *)text->characters + start;
        hold_letters(scratch, sketch_operations->fold(content, stop - start,
                                                      settings->is_lowercase, space,
                                                      tokens.copy));
    } else {
        hold_tokens(scratch, fold_any(text, start, stop, settings->is_lowercase, space, &tokens),
                    settings);
    }
    return stop;
}

void sketch_tokens_begin(struct sketch_scratch *scratch, const struct sketch_settings *settings)
{
    for (int i = 0; i < 128; i++) {
        uint8_t letter = (uint8_t)i;
        struct mix_stream hash = mix_whole(&letter, 1, settings->seed);
        scratch->letters[i][0] = hash.first;
        scratch->letters[i][1] = hash.second;
    }
}

int64_t sketch_hold_window(struct sketch_scratch *scratch, const struct sketch_text *text,
                           int64_t position, struct sketch_space *space,
                           const struct sketch_settings *settings)
{
    int64_t stop = text->length - position <= SKETCH_WINDOW ? text->length
                                                            : position + SKETCH_WINDOW;
    if (settings->unit == SKETCH_CHARACTERS)
        return hold_characters(scratch, text, position, stop, space, settings);
    return hold_words(scratch, text, position, stop, settings);
}

/* Hold the hash of one token, or of its replacement. */
static void hold_token(struct sketch_scratch *scratch, const struct sketch_token *token,
                       const struct sketch_settings *settings)
{
    const struct sketch_vocabulary *vocabulary = settings->vocabulary;
    struct mix_stream hash = mix_whole(token->content, token->length, settings->seed);
    uint64_t place = 0;

    if (vocabulary != NULL)
        place = sketch_vocabulary_place(vocabulary, hash.first);
    if (vocabulary == NULL || (vocabulary->keys[place] == 0 && vocabulary->is_complete))
        hold(scratch, hash.first, hash.second);
    else if (vocabulary->keys[place] == 0)
        hold_unknown(scratch, hash.first, hash.second, token->content, token->length);
    else if (vocabulary->meanings[place].first | vocabulary->meanings[place].second)
        hold(scratch, vocabulary->meanings[place].first, vocabulary->meanings[place].second);
}

/* Copy a token, without a call if it is short; nothing outside the token is read. */
static inline void copy_token(uint8_t *copy, const struct sketch_token *token)
{
    const uint8_t *content = token->content;
    int64_t length = token->length;

    if (length > 16 || length == 0) {
        memcpy(copy, content, (size_t)length);
    } else if (length >= 8) {
        memcpy(copy, content, 8);
        memcpy(copy + length - 8, content + length - 8, 8);
    } else if (length >= 4) {
        memcpy(copy, content, 4);
        memcpy(copy + length - 4, content + length - 4, 4);
    } else {
        copy[0] = content[0];
        copy[length / 2] = content[length / 2];
        copy[length - 1] = content[length - 1];
    }
}

int64_t sketch_hold_given(struct sketch_scratch *scratch, const struct sketch_token *tokens,
                          int64_t count, const struct sketch_settings *settings)
{
    uint32_t size = 0;
    int64_t taken = 0;

    if (tokens[0].length > GIVEN_SHORT || settings->vocabulary != NULL) {
        hold_token(scratch, &tokens[0], settings);
        return 1;
    }
    for (; taken < count && taken < SKETCH_WINDOW && size <= 3 * SKETCH_WINDOW; taken++) {
        if (tokens[taken].length > GIVEN_SHORT)
            break;
        copy_token(scratch->copy + size, &tokens[taken]);
        scratch->starts[taken] = size;
        size += (uint32_t)tokens[taken].length;
        scratch->stops[taken] = size;
    }
    hash_tokens(scratch, taken, settings->seed);
    scratch->held += taken;
    return taken;
}
