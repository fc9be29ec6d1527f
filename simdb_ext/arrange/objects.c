#include "objects.h"

#include <string.h>

#include "cpu.h"

#define EVERY(byte) (0x0101010101010101u * (uint64_t)(byte))

struct scan {
    const uint8_t *at, *end; /* the byte before `end` is a line feed */
    uint8_t *spare;
    const struct json_path *paths;
    int64_t path_count, stride;
    uint32_t seen; /* paths whose field, or an object on the way to it, has occurred */
    uint64_t *addresses;
    int64_t *lengths;
    uint8_t *kinds;
};

/* The paths that an object can hold; the first `level` names of each led to it. */
struct wanted {
    uint32_t paths;
    int level;
};

static int scan_value(struct scan *scan, uint32_t found, struct wanted inner);

/* first_special: return the place of the first quotation mark, backslash or control character among
   PART bytes, or PART if there is none. */
#if CPU_X86

/* Every 64-bit x86 processor has these instructions. */
enum { PART = 16 };

static inline int first_special(const uint8_t *at)
{
    __m128i bytes = _mm_loadu_si128((const __m128i *)at);
    __m128i marks = _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')),
                                 _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')));
    __m128i controls = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1F)), bytes);

    return __builtin_ctz((uint32_t)_mm_movemask_epi8(_mm_or_si128(marks, controls)) | 1u << PART);
}

#else

enum { PART = 8 };

static inline int first_special(const uint8_t *at)
{
    uint64_t word, quotes, slashes, marks;

    memcpy(&word, at, sizeof word);
    quotes = word ^ EVERY('"');
    slashes = word ^ EVERY('\\');
    /* Only the lowest mark is certain to be right. */
    marks = (((quotes - EVERY(1)) & ~quotes) | ((slashes - EVERY(1)) & ~slashes) |
             ((word - EVERY(0x20)) & ~word)) & EVERY(0x80);
    return marks ? __builtin_ctzll(marks) / 8 : PART;
}

#endif

/* Return the address of the next special byte; there is one, the line feed at the end.  If `out` is
   given, copy the bytes before it there; it has room for JSON_SLACK bytes more. */
static inline const uint8_t *next_special(const uint8_t *at, const uint8_t *end, uint8_t **out)
{
    const uint8_t *begin = at;
    uint8_t *copy = out != NULL ? *out : NULL;
    int place = PART;

    for (; end - at >= PART && place == PART; at += place) {
        if (copy != NULL)
            memcpy(copy + (at - begin), at, PART);
        place = first_special(at);
    }
    for (; *at >= 0x20 && *at != '"' && *at != '\\'; at++)
        if (copy != NULL)
            copy[at - begin] = *at;
    if (copy != NULL)
        *out = copy + (at - begin);
    return at;
}

static void skip_space(struct scan *scan)
{
    while (*scan->at == ' ' || *scan->at == '\t' || *scan->at == '\r')
        scan->at++;
}

static int skip_byte(struct scan *scan, uint8_t byte)
{
    const int is_there = *scan->at == byte;

    scan->at += is_there;
    return is_there;
}

/* Return the four hexadecimal digits at `at`, or -1. */
static int32_t hexadecimal(const uint8_t *at, const uint8_t *end)
{
    int32_t value = 0;

    if (end - at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        uint8_t digit = at[i], letter = digit | 0x20;
        if (digit >= '0' && digit <= '9')
            value = value << 4 | (digit - '0');
        else if (letter >= 'a' && letter <= 'f')
            value = value << 4 | (letter - 'a' + 10);
        else
            return -1;
    }
    return value;
}

/* Write a character in UTF-8; return the number of its bytes. */
static int put_character(int32_t character, uint8_t *out)
{
    static const uint8_t heads[5] = {0, 0, 0xC0, 0xE0, 0xF0};
    int size = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;

    for (int i = size - 1; i > 0; i--, character >>= 6)
        out[i] = (uint8_t)(0x80 | (character & 0x3F));
    out[0] = (uint8_t)(heads[size] | character);
    return size;
}

/* Write the character that an escape means, and move past it.  Return the number of bytes written,
   or 0 for an invalid escape, including an unpaired surrogate. */
static int take_escape(struct scan *scan, uint8_t *out)
{
    static const uint8_t meant[256] = {['"'] = '"', ['\\'] = '\\', ['/'] = '/', ['b'] = '\b',
                                       ['f'] = '\f', ['n'] = '\n', ['r'] = '\r', ['t'] = '\t'};
    const uint8_t letter = scan->at[1];
    int32_t first, second;

    if (letter != 'u') {
        *out = meant[letter];
        scan->at += 2;
        return *out != 0;
    }
    first = hexadecimal(scan->at + 2, scan->end);
    if (first < 0 || first >> 10 == 0xDC00 >> 10)
        return 0;
    scan->at += 6;
    if (first >> 10 != 0xD800 >> 10)
        return put_character(first, out);
    if (scan->at[0] != '\\' || scan->at[1] != 'u')
        return 0;
    second = hexadecimal(scan->at + 2, scan->end);
    if (second >> 10 != 0xDC00 >> 10)
        return 0;
    scan->at += 6;
    return put_character(0x10000 + ((first & 0x3FF) << 10 | (second & 0x3FF)), out);
}

/* Move past a string, from behind its opening quotation mark; write where its text is.  If it has
   escapes, the text is written at the end of `spare`; the caller moves `spare` to keep it. */
static int scan_string(struct scan *scan, const uint8_t **start, int64_t *length)
{
    const uint8_t *begin = scan->at;
    uint8_t *out = scan->spare;

    *start = begin;
    scan->at = next_special(begin, scan->end, NULL);
    *length = scan->at - begin;
    if (*scan->at == '\\') {
        *start = out;
        memcpy(out, begin, (size_t)*length);
        out += *length;
        while (*scan->at == '\\') {
            int size = take_escape(scan, out);
            if (size == 0)
                return 0;
            out += size;
            scan->at = next_special(scan->at, scan->end, &out);
        }
        *length = out - *start;
    }
    return skip_byte(scan, '"');
}

static int64_t skip_digits(struct scan *scan)
{
    const uint8_t *start = scan->at;

    while (*scan->at >= '0' && *scan->at <= '9')
        scan->at++;
    return scan->at - start;
}

/* Move past a number.  Return the number of digits if it is whole, JSON_NUMBER for other numbers,
   and 0 if it is invalid. */
static int64_t scan_number(struct scan *scan)
{
    const uint8_t *start = scan->at;
    int64_t digits;
    int is_whole = 1;

    scan->at += *scan->at == '-';
    digits = skip_byte(scan, '0') ? 1 : skip_digits(scan);
    if (digits == 0)
        return 0;
    if (*scan->at == '.') {
        scan->at++;
        is_whole = 0;
        if (skip_digits(scan) == 0)
            return 0;
    }
    if ((*scan->at | 0x20) == 'e') {
        scan->at++;
        is_whole = 0;
        scan->at += *scan->at == '+' || *scan->at == '-';
        if (skip_digits(scan) == 0)
            return 0;
    }
    if (scan->at - start > JSON_NUMBER)
        return 0;
    return is_whole ? digits : JSON_NUMBER;
}

static int skip_word(struct scan *scan, const char *word, int64_t size)
{
    if (scan->end - scan->at < size || memcmp(scan->at, word, (size_t)size) != 0)
        return 0;
    scan->at += size;
    return 1;
}

/* Return the wanted paths that end at a name; write to `going_on` the paths that continue there. */
static uint32_t paths_at(const struct scan *scan, struct wanted wanted, const uint8_t *name,
                         int64_t size, uint32_t *going_on)
{
    uint32_t ended = 0;

    *going_on = 0;
    for (int64_t i = 0; i < scan->path_count; i++) {
        const struct json_path *path = scan->paths + i;
        if (!(wanted.paths >> i & 1) || path->sizes[wanted.level] != size
            || memcmp(path->names[wanted.level], name, (size_t)size) != 0)
            continue;
        if (path->length == wanted.level + 1)
            ended |= 1u << i;
        else
            *going_on |= 1u << i;
    }
    return ended;
}

/* Move past the name of a field and its colon; write where the name is. */
static int scan_name(struct scan *scan, const uint8_t **name, int64_t *size)
{
    if (!skip_byte(scan, '"') || !scan_string(scan, name, size))
        return 0;
    skip_space(scan);
    if (!skip_byte(scan, ':'))
        return 0;
    skip_space(scan);
    return 1;
}

/* Move past an object, from behind its opening brace. */
static int scan_object(struct scan *scan, struct wanted wanted)
{
    const uint8_t *name;
    int64_t size;

    skip_space(scan);
    if (skip_byte(scan, '}'))
        return 1;
    do {
        uint32_t ended, going_on;

        skip_space(scan);
        if (!scan_name(scan, &name, &size))
            return 0;
        ended = paths_at(scan, wanted, name, size, &going_on);
        if ((ended | going_on) & scan->seen)
            return 0; /* the field occurs twice */
        if (!scan_value(scan, ended, (struct wanted){going_on, wanted.level + 1}))
            return 0;
        scan->seen |= ended | going_on;
        skip_space(scan);
    } while (skip_byte(scan, ','));
    return skip_byte(scan, '}');
}

/* Move past an object or a list that holds no wanted field.  No recursion, because nesting can be
   very deep. */
static int skip_nested(struct scan *scan)
{
    uint64_t are_objects[JSON_DEPTH / 64];
    const uint8_t *name;
    int64_t size, depth = 0;

    do {
        int is_object = *scan->at == '{', is_open = is_object || *scan->at == '[';

        if (is_open) {
            uint64_t bit = (uint64_t)1 << depth % 64;
            if (depth == JSON_DEPTH)
                return 0;
            are_objects[depth / 64] &= ~bit;
            are_objects[depth / 64] |= is_object ? bit : 0;
            depth++;
            scan->at++;
            skip_space(scan);
            is_open = *scan->at != (is_object ? '}' : ']');
        } else if (!scan_value(scan, 0, (struct wanted){0, 0})) {
            return 0;
        }
        while (!is_open && depth > 0) {
            int is_in_object = are_objects[(depth - 1) / 64] >> (depth - 1) % 64 & 1;
            skip_space(scan);
            is_open = skip_byte(scan, ',');
            if (!is_open && !skip_byte(scan, is_in_object ? '}' : ']'))
                return 0;
            depth -= !is_open;
        }
        skip_space(scan);
        if (depth > 0 && are_objects[(depth - 1) / 64] >> (depth - 1) % 64 & 1
            && !scan_name(scan, &name, &size))
            return 0;
    } while (depth > 0);
    return 1;
}

/* Note where the value of the paths `found` is; return 0 if its kind is refused. */
static int note(struct scan *scan, uint32_t found, enum json_kind kind, const uint8_t *start,
                int64_t length)
{
    for (int64_t i = 0; i < scan->path_count; i++) {
        if (!(found >> i & 1))
            continue;
        if (kind == JSON_WHOLE_NUMBER && scan->paths[i].is_text)
            return 0;
        scan->addresses[i * scan->stride] = (uint64_t)(uintptr_t)start;
        scan->lengths[i * scan->stride] = length;
        scan->kinds[i * scan->stride] = (uint8_t)kind;
    }
    return 1;
}

/* Move past the value of the paths `found`; the paths `inner` continue in it if it is an object. */
static int scan_value(struct scan *scan, uint32_t found, struct wanted inner)
{
    const uint8_t *start = scan->at;
    int64_t length;

    switch (*start) {
    case '"':
        scan->at++;
        if (!scan_string(scan, &start, &length))
            return 0;
        if (found && start == scan->spare)
            scan->spare += length;
        return note(scan, found, JSON_STRING, start, length);
    case '{':
        if (inner.paths) {
            scan->at++;
            return !found && scan_object(scan, inner);
        }
        return !found && skip_nested(scan);
    case '[':
        return !found && skip_nested(scan);
    case 'n':
        return skip_word(scan, "null", 4);
    case 't':
        return !found && skip_word(scan, "true", 4);
    case 'f':
        return !found && skip_word(scan, "false", 5);
    default:
        length = scan_number(scan);
        if (length == 0 || (found && length > JSON_WHOLE))
            return 0;
        return note(scan, found, JSON_WHOLE_NUMBER, start, scan->at - start);
    }
}

void arrange_scan_objects(const uint8_t *content, int64_t size, int64_t count,
                          const struct json_path *paths, int64_t path_count, int64_t *sizes,
                          uint8_t *lines, uint64_t *addresses, int64_t *lengths, uint8_t *kinds,
                          uint8_t *spare)
{
    const uint8_t *end = content + size;
    const struct wanted every = {(uint32_t)(((uint64_t)1 << path_count) - 1), 0};

    for (int64_t i = 0; i < count; i++) {
        const uint8_t *next = memchr(content, '\n', (size_t)(end - content));
        struct scan scan = {content, ++next, spare, paths, path_count, count, 0,
                            addresses + i, lengths + i, kinds + i};

        for (int64_t p = 0; p < path_count; p++) {
            addresses[p * count + i] = 0;
            lengths[p * count + i] = -1;
            kinds[p * count + i] = JSON_NOTHING;
        }
        skip_space(&scan);
        lines[i] = JSON_BLANK;
        if (*scan.at != '\n') {
            int is_taken = skip_byte(&scan, '{') && scan_object(&scan, every);
            skip_space(&scan);
            lines[i] = is_taken && *scan.at == '\n' ? JSON_TAKEN : JSON_REFUSED;
        }
        spare = scan.spare;
        sizes[i] = next - content;
        content = next;
    }
}
