#include "markup.h"

#include <string.h>

#include "unicode.h"

#define COMMENT_MOST 400
#define TAG_MOST 300
#define NAME_MOST 40
#define TARGET_MOST 300
#define DIGITS_MOST 7
#define HEXADECIMAL_MOST 6
#define LETTERS_LEAST 2
#define LETTERS_MOST 8

/* Characters that are tested together. */
#define STRIDE 32

/* Return a character, or 0 outside the text; markup never contains a 0. */
static inline uint32_t code_at(struct sketch_text text, int64_t at)
{
    return 0 <= at && at < text.length ? character_at(&text, at) : 0;
}

static inline int is_letter(uint32_t code) { return (code | 32) - 'a' < 26u; }

static inline int is_digit(uint32_t code) { return code - '0' < 10u; }

static inline int is_hexadecimal(uint32_t code)
{
    return is_digit(code) || (code | 32) - 'a' < 6u;
}

/* Return whether the characters starting at `at` are `wanted`. */
static inline int is_at(struct sketch_text text, int64_t at, const char *wanted)
{
    for (int i = 0; wanted[i]; i++)
        if (code_at(text, at + i) != (uint8_t)wanted[i])
            return 0;
    return 1;
}

/* Each of these functions returns the position after the markup at `at`, or `at` if there is
   none. */

static inline int64_t after_tag(struct sketch_text text, int64_t at)
{
    int64_t first = at + 1 + (code_at(text, at + 1) == '/');

    if (is_at(text, at, "<!--"))
        for (int64_t i = at + 4; i <= at + 4 + COMMENT_MOST && code_at(text, i); i++)
            if (is_at(text, i, "-->"))
                return i + 3;
    if (!is_letter(code_at(text, first)))
        return at;
    for (int64_t i = first + 1; i <= first + TAG_MOST; i++) {
        uint32_t code = code_at(text, i);
        if (code == '>')
            return i + 1;
        if (code == '<' || code == 0)
            return at;
    }
    return at;
}

static inline int64_t after_command(struct sketch_text text, int64_t at)
{
    int64_t stop = at + 1;

    /* A line end in code or JSON before a word: no LaTeX command continues with a capital here. */
    if ((is_at(text, stop, "n") || is_at(text, stop, "r") || is_at(text, stop, "t")) &&
        code_at(text, stop + 1) - 'A' < 26u)
        return stop + 1;
    while (is_letter(code_at(text, stop)))
        stop++;
    if (stop == at + 1)
        return at;
    if (is_at(text, at + 1, "begin{") || is_at(text, at + 1, "end{"))
        for (int64_t i = stop + 1; i <= stop + 1 + NAME_MOST && code_at(text, i); i++)
            if (code_at(text, i) == '}')
                return i + 1;
    return stop + (code_at(text, stop) == '*');
}

static inline int64_t after_target(struct sketch_text text, int64_t at)
{
    if (code_at(text, at + 1) != '(')
        return at;
    for (int64_t i = at + 2; i <= at + 2 + TARGET_MOST; i++) {
        uint32_t code = code_at(text, i);
        if (code == ')')
            return i + 1;
        if (code == 0 || code == '(' || code == '[' || code == ']' ||
            unicode_class(code) == CLASS_SPACE)
            return at;
    }
    return at;
}

static inline int64_t after_entity(struct sketch_text text, int64_t at)
{
    int is_number = code_at(text, at + 1) == '#';
    int is_hex = is_number && (code_at(text, at + 2) | 32) == 'x';
    int64_t first = at + 1 + is_number + is_hex, stop = first;
    int64_t least = is_number ? 1 : LETTERS_LEAST;
    int64_t most = is_hex ? HEXADECIMAL_MOST : is_number ? DIGITS_MOST : LETTERS_MOST;

    for (; stop < first + most; stop++) {
        uint32_t code = code_at(text, stop);
        if (is_hex ? !is_hexadecimal(code) : is_number ? !is_digit(code) : !is_letter(code))
            break;
    }
    return stop - first >= least && code_at(text, stop) == ';' ? stop + 1 : at;
}

/* A comma between a digit and exactly three digits. */
static inline int64_t after_comma(struct sketch_text text, int64_t at)
{
    for (int i = 1; i <= 3; i++)
        if (!is_digit(code_at(text, at + i)))
            return at;
    return at + (is_digit(code_at(text, at - 1)) && !is_digit(code_at(text, at + 4)));
}

/* Test whether a character may begin markup, given the next one. */
#define MAY_BEGIN(code, next)                                                                     \
    (((code) == '<') | ((code) == '\\') | ((code) == '&') | (((code) == ']') & ((next) == '(')) | \
     (((code) == ',') & ((next) >= '0') & ((next) <= '9')))

/* Define a function that marks the characters at which markup may begin, and returns whether there
   is one.  The compiler turns its loop into vectors. */
#define DEFINE_MARK(name, type)                                                                   \
    static inline int name(const type *some, uint8_t *marks)                                      \
    {                                                                                             \
        uint8_t any = 0;                                                                          \
                                                                                                  \
        for (int i = 0; i < STRIDE; i++) {                                                        \
            type code = some[i], next = some[i + 1];                                              \
            marks[i] = (uint8_t)MAY_BEGIN(code, next);                                            \
            any |= marks[i];                                                                      \
        }                                                                                         \
        return any != 0;                                                                          \
    }

DEFINE_MARK(mark_narrow, uint8_t)
DEFINE_MARK(mark_middle, uint16_t)
DEFINE_MARK(mark_wide, uint32_t)

static inline int mark(struct sketch_text text, int64_t at, uint8_t *marks)
{
    if (text.width == 1)
        return mark_narrow((const uint8_t *)text.characters + at, marks);
    return text.width == 2 ? mark_middle((const uint16_t *)text.characters + at, marks)
                           : mark_wide((const uint32_t *)text.characters + at, marks);
}

/* Return the position after the markup at `at`, or `at` if there is none. */
static inline int64_t after(struct sketch_text text, int64_t at)
{
    switch (code_at(text, at)) {
    case '<': return after_tag(text, at);
    case '\\': return after_command(text, at);
    case ']': return after_target(text, at);
    case '&': return after_entity(text, at);
    case ',': return after_comma(text, at);
    default: return at;
    }
}

/* Return the first markup that begins at one of `marks`, or `start` if there is none. */
static inline int64_t first_of(struct sketch_text text, int64_t start, const uint8_t *marks,
                               int64_t *stop)
{
    for (int64_t part = 0; part < STRIDE; part += 8) {
        uint64_t some;
        memcpy(&some, marks + part, sizeof some);
        for (int64_t i = part; some && i < part + 8; i++)
            if (marks[i] && (*stop = after(text, start + i)) > start + i)
                return start + i;
    }
    *stop = start;
    return start;
}

/* Return the position of the first markup that begins at or after `at`, and write its end to
   `stop`. */
static inline int64_t find(struct sketch_text text, int64_t at, int64_t *stop)
{
    uint8_t marks[STRIDE];

    for (; text.length - at > STRIDE; at += STRIDE) {
        if (!mark(text, at, marks))
            continue;
        int64_t found = first_of(text, at, marks, stop);
        if (*stop > found)
            return found;
    }
    for (; at < text.length; at++)
        if ((*stop = after(text, at)) > at)
            return at;
    *stop = text.length;
    return text.length;
}

/* Call `find` with a width of characters that is a constant. */
static int64_t find_any(const struct sketch_text *text, int64_t at, int64_t *stop)
{
    struct sketch_text narrow = *text, middle = *text, wide = *text;

    narrow.width = 1;
    middle.width = 2;
    wide.width = 4;
    if (text->width == 1)
        return find(narrow, at, stop);
    return text->width == 2 ? find(middle, at, stop) : find(wide, at, stop);
}

int markup_is_any(const struct sketch_text *text)
{
    int64_t stop;

    return find_any(text, 0, &stop) < text->length;
}

int64_t markup_strip(const struct sketch_text *text, void *room, uint8_t *is_dropped)
{
    const uint8_t *content = text->characters;
    int64_t width = text->width, size = 0, at = 0;

    while (at < text->length) {
        int64_t stop, start = find_any(text, at, &stop);

        memcpy((uint8_t *)room + size * width, content + at * width,
               (size_t)((start - at) * width));
        size += start - at;
        at = stop;
        if (start < stop && character_at(text, start) == ',') {
            if (is_dropped != NULL)
                is_dropped[start] = 1;
            continue;
        }
        for (; start < stop; start++)
            put_character(room, text->width, size++, ' ');
    }
    return size;
}
