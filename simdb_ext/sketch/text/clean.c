#include "clean.h"

#include <stdlib.h>
#include <string.h>

#include "clean_table.h"
#include "needs.h"

#define LENGTH(array) ((int)(sizeof(array) / sizeof(array)[0]))
#define SOFT_HYPHEN 0xAD
#define DOTTED_CAPITAL 0x130 /* capital of i in Turkish */
#define DOTLESS 0x131        /* its capital in Turkish is I */
#define DOT_ABOVE 0x307

/* The most characters that one character becomes. */
#define FOLDED_MOST 3

uint16_t clean_entries[CODE_POINTS];

void clean_unfold(void)
{
    for (int i = 0; i < LENGTH(IGNORABLE_RANGES); i++)
        for (int32_t j = 0; j < IGNORABLE_RANGES[i][1]; j++)
            clean_entries[IGNORABLE_RANGES[i][0] + j] |= CLEAN_UNSEEN;
    for (int i = 0; i < LENGTH(STRAY_RANGES); i++)
        for (int32_t j = 0; j < STRAY_RANGES[i][1]; j++)
            clean_entries[STRAY_RANGES[i][0] + j] |= CLEAN_STRAY;
    for (int i = 0; i < LENGTH(COMBINING_RANGES); i++)
        for (int32_t j = 0; j < COMBINING_RANGES[i][1]; j++)
            clean_entries[COMBINING_RANGES[i][0] + j] |= (uint16_t)COMBINING_RANGES[i][2];
    for (int i = 0; i < LENGTH(COMPOSING_RANGES); i++)
        for (int32_t j = 0; j < COMPOSING_RANGES[i][1]; j++)
            clean_entries[COMPOSING_RANGES[i][0] + j] |= CLEAN_COMPOSING;
    for (int i = 0; i < LENGTH(FOLDS); i++)
        clean_entries[FOLDS[i][0]] |= CLEAN_FOLDS;
    for (uint32_t code = 0; code < CODE_POINTS; code++)
        if (unicode_lower(code) != code)
            clean_entries[unicode_lower(code)] |= CLEAN_LOWER;
}

/* Return whether the character is a letter or mark of words. */
static int is_letter(uint32_t code)
{
    int class = unicode_class(code);

    return (class == CLASS_WORD || class == CLASS_SPACELESS) && !(code >= '0' && code <= '9');
}

static int is_blank(uint32_t code) { return code == ' ' || code == '\t'; }

int64_t clean_joined(const struct sketch_text *text, int64_t at)
{
    uint32_t code = character_at(text, at);
    int64_t next = at + 1;

    if (code != '-' && code != SOFT_HYPHEN)
        return 0;
    if (next < text->length && character_at(text, next) == '\r')
        next++;
    if (next < text->length && character_at(text, next) == '\n')
        next++;
    if (next == at + 1)
        return 0; /* no line end here */
    while (next < text->length && is_blank(character_at(text, next)))
        next++;
    if (next == text->length || !(clean_entries[character_at(text, next)] & CLEAN_LOWER))
        return 0;
    return at > 0 && is_letter(character_at(text, at - 1)) ? next : 0;
}

static int compare_folds(const void *key, const void *row)
{
    int32_t code = *(const int32_t *)key, other = ((const int32_t *)row)[0];

    return code < other ? -1 : code > other;
}

/* Return the bits of an entry that mark a character as dropped. */
static int dropped(struct clean_settings settings)
{
    return settings.cleaning & SKETCH_STRAYS ? CLEAN_UNSEEN | CLEAN_STRAY : CLEAN_UNSEEN;
}

/* Write the characters that one character becomes by itself; return their number. */
static int folded(uint32_t code, uint32_t before, struct clean_settings settings, uint32_t *out)
{
    uint16_t entry = clean_entries[code];

    out[0] = code;
    if (entry & dropped(settings))
        return 0;
    if (!settings.lowercase)
        return 1;
    if (settings.cleaning & SKETCH_TURKIC && code == 'I')
        out[0] = DOTLESS;
    else if (code == DOT_ABOVE && (before == 'i' || before == 'I' || before == DOTTED_CAPITAL))
        return 0;
    if (!(entry & CLEAN_FOLDS))
        return 1;
    const int32_t key = (int32_t)code;
    const int32_t *row = bsearch(&key, FOLDS, LENGTH(FOLDS), sizeof FOLDS[0], compare_folds);
    int count = 0;
    for (int i = 1; i <= FOLDED_MOST && row[i] != 0; i++)
        out[count++] = (uint32_t)row[i];
    return count;
}

int clean_needs(const struct sketch_text *text, int64_t start, int64_t stop,
                struct clean_settings settings)
{
    const int drops = dropped(settings);
    int class = 0, needs = 0;

    for (int64_t i = start; i < stop; i++) {
        uint32_t code = character_at(text, i);
        uint16_t entry = clean_entries[code];
        int own = entry & CLEAN_CLASS;

        if (i == start && own && i > 0)
            class = clean_entries[character_at(text, i - 1)] & CLEAN_CLASS;
        if (entry & drops || (entry & CLEAN_FOLDS && settings.lowercase))
            needs |= CLEAN_REWRITE;
        if (entry & CLEAN_COMPOSING || (own && own < class))
            needs |= CLEAN_COMPOSE;
        if (code == DOT_ABOVE && i > 0 && settings.lowercase &&
            (character_at(text, i - 1) | 0x20) == 'i')
            needs |= CLEAN_REWRITE;
        if (code == 'I' && settings.cleaning & SKETCH_TURKIC && settings.lowercase)
            needs |= CLEAN_REWRITE;
        if (code == '-' && clean_joined(text, i))
            needs |= CLEAN_REWRITE;
        class = own;
    }
    return needs;
}

/* Copy characters, all of which fit the width. */
static inline void copy(const struct sketch_text *text, int64_t start, int64_t count, int width,
                        void *room, int64_t place)
{
    if (width == text->width)
        memcpy((uint8_t *)room + place * width,
               (const uint8_t *)text->characters + start * width, (size_t)(count * width));
    else
        for (int64_t i = 0; i < count; i++)
            put_character(room, width, place + i, character_at(text, start + i));
}

/* Return whether a character never changes, next to any other. */
static inline int is_plain(uint32_t code, int is_turkic)
{
    return !(clean_entries[code] & (CLEAN_UNSEEN | CLEAN_STRAY | CLEAN_FOLDS)) && code != '-' &&
           code != DOT_ABOVE && !(code == 'I' && is_turkic);
}

/* Clean a text into `room`, whose characters have the given width.  Return the number of characters
   written, or -1 if one is too wide. */
static inline __attribute__((always_inline)) int64_t
clean_into(const struct sketch_text *text, struct clean_settings settings, const int width,
           void *room)
{
    const int is_turkic = settings.cleaning & SKETCH_TURKIC;
    int64_t count = 0;
    uint32_t out[FOLDED_MOST];

    for (int64_t i = 0, tested = 0; i < text->length;) {
        if (i >= tested && !is_turkic && text->length - i > CLEAN_PART) {
            tested = i + CLEAN_PART;
            if (!clean_found(text, i) && is_plain(character_at(text, i), is_turkic)) {
                copy(text, i, CLEAN_PART, width, room, count);
                count += CLEAN_PART;
                i = tested;
                continue;
            }
        }
        uint32_t code = character_at(text, i);
        if (is_plain(code, is_turkic)) {
            put_character(room, width, count++, code);
            i++;
            continue;
        }
        int64_t next = clean_joined(text, i);
        if (next) {
            i = next;
            continue;
        }
        int made = folded(code, i > 0 ? character_at(text, i - 1) : 0, settings, out);
        for (int j = 0; j < made; j++) {
            if (width < 4 && out[j] >> (8 * width))
                return -1;
            put_character(room, width, count + j, out[j]);
        }
        count += made;
        i++;
    }
    return count;
}

void clean_write(struct sketch_text *text, struct clean_settings settings, void *room)
{
    int width = text->width;
    int64_t count = width == 1   ? clean_into(text, settings, 1, room)
                    : width == 2 ? clean_into(text, settings, 2, room)
                                 : clean_into(text, settings, 4, room);

    if (count < 0) { /* No character of two bytes folds to more. */
        width = 2;
        count = clean_into(text, settings, 2, room);
    }
    *text = (struct sketch_text){room, count, width, text->is_ascii && width == 1, 1};
}
