#include "parts.h"

#include <string.h>

#include "mix.h"
#include "text/unicode.h"

#define LENGTH(array) ((int)(sizeof(array) / sizeof(array)[0]))

/* Parts that are found in one step. */
#define FOUND 64

/* One-byte characters that are tested together. */
#define STRIDE 32

/* Roles of a character in parts.  Characters with one of the last five are in the basic plane. */
enum {
    SPACE = 1,
    BREAK = 2,
    SPACED = 4, /* ends a sentence only before white space: it also occurs in numbers and names */
    FREE = 8,   /* ends a sentence: any other character with the property Sentence_Terminal */
    WIDE = 16,  /* the full-width full stop; ends a sentence unless a digit follows */
    WIDE_DIGIT = 32,
    CLOSING = 64,
    END = SPACED | FREE | WIDE
};

#define BASIC_PLANE 0x10000
static uint8_t part_flags[BASIC_PLANE];

struct flagged {
    uint16_t first;
    uint16_t last;
    uint8_t flag;
};

static const struct flagged FLAGGED[] = {
    {0x09, 0x0D, SPACE}, {0x1C, 0x20, SPACE}, {0x85, 0x85, SPACE}, {0xA0, 0xA0, SPACE},
    {0x1680, 0x1680, SPACE}, {0x2000, 0x200A, SPACE}, {0x2028, 0x2029, SPACE},
    {0x202F, 0x202F, SPACE}, {0x205F, 0x205F, SPACE}, {0x3000, 0x3000, SPACE},
    {0x0A, 0x0D, BREAK}, {0x85, 0x85, BREAK}, {0x2028, 0x2029, BREAK},
    {'.', '.', SPACED}, {'!', '!', SPACED}, {'?', '?', SPACED}, {0x2026, 0x2026, SPACED},
    {0x0589, 0x0589, FREE}, {0x061D, 0x061F, FREE}, {0x06D4, 0x06D4, FREE},
    {0x0700, 0x0702, FREE}, {0x07F9, 0x07F9, FREE}, {0x0837, 0x0837, FREE},
    {0x0839, 0x0839, FREE}, {0x083D, 0x083E, FREE}, {0x0964, 0x0965, FREE},
    {0x104A, 0x104B, FREE}, {0x1362, 0x1362, FREE}, {0x1367, 0x1368, FREE},
    {0x166E, 0x166E, FREE}, {0x1735, 0x1736, FREE}, {0x17D4, 0x17D5, FREE},
    {0x1803, 0x1803, FREE}, {0x1809, 0x1809, FREE}, {0x1944, 0x1945, FREE},
    {0x1AA8, 0x1AAB, FREE}, {0x1B5A, 0x1B5B, FREE}, {0x1B5E, 0x1B5F, FREE},
    {0x1C3B, 0x1C3C, FREE}, {0x1C7E, 0x1C7F, FREE}, {0x203C, 0x203D, FREE},
    {0x2047, 0x2049, FREE}, {0x2E2E, 0x2E2E, FREE}, {0x3002, 0x3002, FREE},
    {0xA4FF, 0xA4FF, FREE}, {0xA60E, 0xA60F, FREE}, {0xA6F3, 0xA6F3, FREE},
    {0xA6F7, 0xA6F7, FREE}, {0xA876, 0xA877, FREE}, {0xA8CE, 0xA8CF, FREE},
    {0xA92F, 0xA92F, FREE}, {0xA9C8, 0xA9C9, FREE}, {0xAA5D, 0xAA5F, FREE},
    {0xAAF0, 0xAAF1, FREE}, {0xABEB, 0xABEB, FREE}, {0xFE52, 0xFE52, FREE},
    {0xFE56, 0xFE57, FREE}, {0xFF01, 0xFF01, FREE}, {0xFF1F, 0xFF1F, FREE},
    {0xFF61, 0xFF61, FREE},
    {0xFF0E, 0xFF0E, WIDE}, {0xFF10, 0xFF19, WIDE_DIGIT},
    {'"', '"', CLOSING}, {'\'', '\'', CLOSING}, {')', ')', CLOSING}, {']', ']', CLOSING},
    {'}', '}', CLOSING}, {0xBB, 0xBB, CLOSING}, {0x2019, 0x2019, CLOSING},
    {0x201D, 0x201D, CLOSING}, {0x203A, 0x203A, CLOSING}, {0x3009, 0x3009, CLOSING},
    {0x300B, 0x300B, CLOSING}, {0x300D, 0x300D, CLOSING}, {0x300F, 0x300F, CLOSING},
    {0x3011, 0x3011, CLOSING}, {0x3015, 0x3015, CLOSING}, {0x3017, 0x3017, CLOSING},
    {0xFF09, 0xFF09, CLOSING}, {0xFF3D, 0xFF3D, CLOSING}, {0xFF5D, 0xFF5D, CLOSING},
    {0xFF63, 0xFF63, CLOSING},
};

void parts_unfold(void)
{
    for (int i = 0; i < LENGTH(FLAGGED); i++)
        for (int code = FLAGGED[i].first; code <= FLAGGED[i].last; code++)
            part_flags[code] |= FLAGGED[i].flag;
}

/* The characters of one text; their width is a constant where the compiler can know it. */
struct characters {
    const void *content;
    int64_t length;
    int width;
};

static inline uint32_t code_at(struct characters in, int64_t at)
{
    if (in.width == 1)
        return ((const uint8_t *)in.content)[at];
    return in.width == 2 ? ((const uint16_t *)in.content)[at]
                         : ((const uint32_t *)in.content)[at];
}

/* Return the roles of a character; 0 beyond the last one. */
static inline int flags_at(struct characters in, int64_t at)
{
    uint32_t code = at < in.length ? code_at(in, at) : BASIC_PLANE;

    return code < BASIC_PLANE ? part_flags[code] : 0;
}

/* Return the first position, `at` or later, whose character has none of the given roles. */
static inline int64_t after(struct characters in, int64_t at, int flags)
{
    while (flags_at(in, at) & flags)
        at++;
    return at;
}

/* Return the position after the line end at `at`; a return and a line feed are one line end. */
static inline int64_t after_break(struct characters in, int64_t at)
{
    int is_pair = code_at(in, at) == '\r' && at + 1 < in.length && code_at(in, at + 1) == '\n';

    return at + 1 + is_pair;
}

/* Return the position after the blank lines at `at`, or `at` itself. */
static inline int64_t after_blank(struct characters in, int64_t at)
{
    for (;;) {
        int64_t end = at;

        while ((flags_at(in, end) & (SPACE | BREAK)) == SPACE)
            end++;
        if (!(flags_at(in, end) & BREAK))
            return at;
        at = after_break(in, end);
    }
}

/* Return whether some bytes may end a part. */
static inline int is_any(const uint8_t *content, enum part_unit unit)
{
    uint8_t any = 0;

    for (int i = 0; i < STRIDE; i++)
        any |= (uint8_t)(content[i] - '\n') < 4 || content[i] == 0x85;
    if (unit == PART_SENTENCE)
        for (int i = 0; i < STRIDE; i++)
            any |= content[i] == '.' || content[i] == '!' || content[i] == '?';
    return any;
}

/* Fill in `found` if a sentence ends with the mark at `at`, which has the roles `flags`. */
static inline int ends_sentence(struct characters in, int64_t at, int flags, struct part *found)
{
    int64_t stop, next;
    uint32_t code;

    /* Only the first of several marks is tried, so that a long row of marks takes linear time. */
    if (flags & SPACED && at > 0 && flags_at(in, at - 1) & END)
        return 0;
    if (flags & WIDE && flags_at(in, at + 1) & WIDE_DIGIT)
        return 0;
    stop = after(in, after(in, at + 1, END), CLOSING);
    next = after(in, stop, SPACE);
    code = next < in.length ? code_at(in, next) : 0;
    if (flags & SPACED && (next == stop || unicode_is_lower(code)))
        return 0;
    found->stop = stop;
    found->next = next;
    return 1;
}

/* Find the part that begins at `start`. */
static inline struct part part_from(struct characters in, enum part_unit unit, int64_t start)
{
    struct part found = {start, in.length, in.length};
    int wanted = unit == PART_SENTENCE ? BREAK | END : BREAK;
    int64_t looked = start; /* characters before this are looked at one by one */

    for (int64_t i = start; i < in.length; i++) {
        int flags;

        while (in.width == 1 && i >= looked && in.length - i >= STRIDE) {
            looked = i + STRIDE;
            if (is_any((const uint8_t *)in.content + i, unit))
                break;
            i = looked;
        }
        flags = flags_at(in, i) & wanted;
        if (!flags)
            continue;
        if (!(flags & BREAK)) {
            if (ends_sentence(in, i, flags, &found))
                return found;
            continue;
        }
        found.stop = i;
        found.next = unit == PART_SENTENCE ? after(in, i, SPACE) : after_break(in, i);
        if (unit != PART_PARAGRAPH)
            return found;
        int64_t next = after_blank(in, found.next);
        if (next > found.next) {
            found.next = next;
            return found;
        }
        i = found.next - 1;
        found.stop = found.next = in.length;
    }
    return found;
}

static inline int64_t find(struct characters in, enum part_unit unit, int64_t *position,
                           struct part *found, int64_t room)
{
    int64_t count = 0;

    while (*position < in.length && count < room) {
        found[count] = part_from(in, unit, *position);
        *position = found[count++].next;
    }
    return count;
}

int64_t parts_find(const struct sketch_text *text, enum part_unit unit, int64_t *position,
                   struct part *found, int64_t room)
{
    const void *content = text->characters;
    int64_t length = text->length;

    if (text->width == 1)
        return find((struct characters){content, length, 1}, unit, position, found, room);
    if (text->width == 2)
        return find((struct characters){content, length, 2}, unit, position, found, room);
    return find((struct characters){content, length, 4}, unit, position, found, room);
}

/* Copy the characters from `start` to `stop` of a text to `place` in `rest`; return the end of the
   copy. */
static int64_t copy(const struct sketch_text *text, int64_t start, int64_t stop, void *rest,
                    int64_t place)
{
    memcpy((uint8_t *)rest + place * text->width,
           (const uint8_t *)text->characters + start * text->width,
           (size_t)((stop - start) * text->width));
    return place + stop - start;
}

int64_t parts_rest(const struct sketch_text *text, enum part_unit unit, const uint8_t *is_dropped,
                   int64_t count, void *rest)
{
    struct part found[FOUND], last = {0, 0, 0};
    int64_t position = 0, done = 0, kept = 0, size = 0, end = 0;

    while (position < text->length) {
        int64_t own = parts_find(text, unit, &position, found, FOUND);

        if (own > count - done)
            return -1;
        end = found[own - 1].stop;
        for (int64_t i = 0; i < own; i++) {
            if (is_dropped[done + i])
                continue;
            if (kept++ > 0)
                size = copy(text, last.stop, last.next, rest, size);
            size = copy(text, found[i].start, found[i].stop, rest, size);
            last = found[i];
        }
        done += own;
    }
    if (done < count)
        return -1;
    return kept > 0 ? copy(text, end, text->length, rest, size) : 0;
}

/* Return a part as a text. */
static struct sketch_text text_of(const struct sketch_text *text, const struct part *part)
{
    struct sketch_text own = *text;

    own.characters = (const uint8_t *)text->characters + part->start * text->width;
    own.length = part->stop - part->start;
    own.is_ascii = text->is_ascii
                   || (text->width == 1 && sketch_is_ascii(own.characters, own.length));
    return own;
}

int64_t parts_take(const struct sketch_text *texts, int64_t count, enum part_unit unit,
                   struct part_place *place, struct sketch_text *parts, int64_t *owners,
                   int64_t *counts, int64_t room)
{
    struct part found[FOUND];
    int64_t taken = 0;

    while (place->text < count && taken < room) {
        int64_t left = room - taken, at = place->text;
        int64_t own = parts_find(&texts[at], unit, &place->position, found,
                                 left < FOUND ? left : FOUND);

        for (int64_t i = 0; i < own; i++) {
            parts[taken] = text_of(&texts[at], &found[i]);
            owners[taken++] = at;
        }
        counts[at] += own;
        if (place->position >= texts[at].length)
            *place = (struct part_place){at + 1, 0};
    }
    return taken;
}

void parts_keys(const uint64_t *words, const int64_t *counts, int64_t parts, uint64_t *keys)
{
    for (int64_t i = 0; i < parts; i++) {
        uint64_t sum = (uint64_t)counts[i], place = 0;

        for (int64_t j = 0; j < counts[i]; j++) {
            place += MIX_SECOND_WORD;
            sum += mix_final(words[j] ^ place);
        }
        keys[i] = mix_final(sum);
        words += counts[i];
    }
}
