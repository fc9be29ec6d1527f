#include "characters.h"

#include "unicode.h"

#define REPLACEMENT '?' /* what Python writes for a lone surrogate */

static inline uint32_t shown(uint32_t code, int lowercase)
{
    if (unicode_is_surrogate(code))
        return REPLACEMENT;
    return lowercase ? unicode_lower(code) : code;
}

/* There is no branch on the class of a character: in most scripts it cannot be foreseen. */
int64_t sketch_cut_words(const struct sketch_text *text, int64_t start, int64_t stop,
                         int lowercase, struct sketch_tokens *tokens, int64_t *open)
{
    uint32_t *starts = tokens->starts, *stops = tokens->stops;
    uint32_t size = 0;
    int64_t count = 0, opened = start;
    int is_inside = 0;

    for (int64_t i = start; i < stop; i++) {
        uint32_t code = character_at(text, i);
        int is_word = unicode_class(code) == CLASS_WORD;
        int is_single = unicode_class(code) == CLASS_SINGLE;
        int is_within = is_inside & is_word;

        stops[count] = size;
        count += is_inside & !is_word;
        starts[count] = is_within ? starts[count] : size;
        opened = is_within ? opened : i;
        int length = unicode_encode(shown(code, lowercase), tokens->copy + size);
        size += (uint32_t)((is_word | is_single) ? length : 0);
        stops[count] = size;
        count += is_single;
        is_inside = is_word;
    }
    stops[count] = size;
    *open = is_inside ? opened : stop;
    return count + is_inside;
}

static int64_t put(struct sketch_tokens *tokens, int64_t count, uint32_t *size, uint32_t code)
{
    tokens->starts[count] = *size;
    *size += (uint32_t)unicode_encode(code, tokens->copy + *size);
    tokens->stops[count] = *size;
    return count + 1;
}

int64_t sketch_cut_characters(const struct sketch_text *text, int64_t start, int64_t stop,
                              int lowercase, struct sketch_space *space,
                              struct sketch_tokens *tokens)
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
            count = put(tokens, count, &size, ' ');
        count = put(tokens, count, &size, shown(code, lowercase));
        space->is_held = 0;
        space->is_begun = 1;
    }
    return count;
}

int64_t sketch_fold(const uint8_t *text, int64_t length, int lowercase, struct sketch_space *space,
                    uint8_t *copy)
{
    int is_held = space->is_held, is_begun = space->is_begun;
    int64_t size = 0;

    for (int64_t i = 0; i < length; i++) {
        int is_space = unicode_class(text[i]) == CLASS_SPACE;
        copy[size] = ' ';
        size += is_held & !is_space;
        copy[size] = (uint8_t)(lowercase ? unicode_lower(text[i]) : text[i]);
        size += !is_space;
        is_begun |= !is_space;
        is_held = is_space & is_begun;
    }
    space->is_held = is_held;
    space->is_begun = is_begun;
    return size;
}

int sketch_has_surrogate(const struct sketch_text *text)
{
    int found = 0;

    if (text->width == 1)
        return 0;
    for (int64_t i = 0; i < text->length && !found;) {
        int64_t stop = text->length - i < 1024 ? text->length : i + 1024;
        for (; i < stop; i++)
            found |= unicode_is_surrogate(character_at(text, i));
    }
    return found;
}

int sketch_is_ascii(const uint8_t *content, int64_t length)
{
    uint8_t bits = 0;

    for (int64_t i = 0; i < length && bits < 0x80;) {
        int64_t stop = length - i < 1024 ? length : i + 1024;
        for (; i < stop; i++)
            bits |= content[i];
    }
    return bits < 0x80;
}
