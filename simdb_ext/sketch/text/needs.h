/* `clean` and `surrogate`: the steps that a text needs before it is cut, and whether it can be cut.

   Almost no block of running Latin text needs any step.  So a block is first tested as a whole, in
   a loop that the compiler turns into vectors.  If the loop finds nothing, neither would
   `clean_needs`. */

#ifndef SIMDB_NEEDS_H
#define SIMDB_NEEDS_H

#include "clean.h"
#include "unicode.h"
#include "vector.h"

/* For each code point: its canonical combining class, and the flags below. */
extern uint16_t clean_entries[CODE_POINTS];

#define CLEAN_CLASS 0xFF
#define CLEAN_UNSEEN 0x100
#define CLEAN_FOLDS 0x200
#define CLEAN_COMPOSING 0x400 /* NFC may change it, alone or with the character before it */
#define CLEAN_LOWER 0x800     /* the lower case of another character */
#define CLEAN_STRAY 0x1000

/* If the hyphen at `at` cuts a word, return the position where the word continues; else return
   0. */
int64_t clean_joined(const struct sketch_text *text, int64_t at);

/* Return the steps that the characters [start, stop) need; they are tested one by one. */
int clean_needs(const struct sketch_text *text, int64_t start, int64_t stop,
                struct clean_settings settings);

/* The characters that are tested together, and a part of them that is tested again by itself.  The
   character after them is tested, too. */
#define CLEAN_BLOCK 128
#define CLEAN_PART 32

/* The last Latin letter; none up to here combines with the character before it. */
#define CLEAN_LATIN_LAST 0x2FF

/* Test whether the control character `next` may need a step: it is not white space, or it may be a
   line end after a hyphen.  The comparisons are the ones that vectors of the type have. */
#define CLEAN_AFTER(type, code, next) (((code) == '-') | ((type)((next) - '\t') > '\r' - '\t'))
#define CLEAN_ASCII(code, next) (((int8_t)((next) + 1) <= ' ') & CLEAN_AFTER(uint8_t, code, next))
#define CLEAN_CONTROL(bits, code, next)                                                           \
    (((int##bits##_t)(((next) + 1) & ~0x80) <= ' ') & CLEAN_AFTER(uint##bits##_t, code, next))

/* Test whether one character may need a step.  It may if the next is such a control character.  So
   may the soft hyphen, and any character whose folding is not its lower case.  Other characters may
   not if they are Latin letters or the frequent dashes and quotation marks U+2010 to U+201F.  The
   comparison for U+00AD and U+00B5 also finds U+00A5 and U+00BD. */
#define CLEAN_LATIN(bits, code, next)                                                             \
    (CLEAN_CONTROL(bits, code, next) | (((code) | 0x18) == 0xBD) | ((code) == 0xDF))
#define CLEAN_MAY_NEED(bits, code, next)                                                          \
    (CLEAN_LATIN(bits, code, next) | ((code) == 0x17F) |                                          \
     (((code) > CLEAN_LATIN_LAST) & (((code) & 0xFFF0) != 0x2010)))

/* Define two functions: whether some characters include one with `test`, and the steps that a text
   of this type needs.  The last block overlaps the one before. */
#define CLEAN_DEFINE(name, type, test)                                                            \
    VECTOR_INLINE int clean_found_##name(const type *some, const int count)                        \
    {                                                                                             \
        type found = 0;                                                                           \
                                                                                                  \
        for (int i = 0; i < count; i++) {                                                         \
            type code = some[i], next = some[i + 1];                                              \
            found |= (type)(test);                                                                \
        }                                                                                         \
        return found != 0;                                                                        \
    }                                                                                             \
                                                                                                  \
    VECTOR_INLINE int clean_##name(const struct sketch_text *text,                                 \
                                   struct clean_settings settings)                                 \
    {                                                                                             \
        const type *all = text->characters;                                                       \
        int64_t last = text->length - 1 - CLEAN_BLOCK;                                            \
        int needs = clean_needs(text, 0, 1, settings) |                                           \
                    clean_needs(text, text->length - 1, text->length, settings);                  \
                                                                                                  \
        for (int64_t i = 0; i < last + CLEAN_BLOCK; i += CLEAN_BLOCK) {                           \
            i = i < last ? i : last;                                                              \
            if (!clean_found_##name(all + i, CLEAN_BLOCK))                                        \
                continue;                                                                         \
            for (int64_t j = i; j < i + CLEAN_BLOCK; j += CLEAN_PART)                             \
                if (clean_found_##name(all + j, CLEAN_PART))                                      \
                    needs |= clean_needs(text, j, j + CLEAN_PART + 1, settings);                  \
            if (needs && sizeof(type) == 1)                                                       \
                return needs; /* nothing in it combines */                                        \
        }                                                                                         \
        return needs;                                                                             \
    }

CLEAN_DEFINE(ascii, uint8_t, CLEAN_ASCII(code, next))
CLEAN_DEFINE(latin, uint8_t, CLEAN_LATIN(8, code, next))
CLEAN_DEFINE(wide, uint16_t, CLEAN_MAY_NEED(16, code, next))
CLEAN_DEFINE(widest, uint32_t, CLEAN_MAY_NEED(32, code, next))

/* Return whether a part of any text has a character that may need a step. */
VECTOR_INLINE int clean_found(const struct sketch_text *text, int64_t i)
{
    if (text->is_ascii)
        return clean_found_ascii((const uint8_t *)text->characters + i, CLEAN_PART);
    if (text->width == 1)
        return clean_found_latin((const uint8_t *)text->characters + i, CLEAN_PART);
    if (text->width == 2)
        return clean_found_wide((const uint16_t *)text->characters + i, CLEAN_PART);
    return clean_found_widest((const uint32_t *)text->characters + i, CLEAN_PART);
}

VECTOR_INLINE int clean(const struct sketch_text *text, struct clean_settings settings)
{
    if (text->length <= CLEAN_BLOCK || settings.cleaning & SKETCH_TURKIC)
        return clean_needs(text, 0, text->length, settings);
    if (text->is_ascii)
        return clean_ascii(text, settings);
    return text->width == 1   ? clean_latin(text, settings)
           : text->width == 2 ? clean_wide(text, settings)
                              : clean_widest(text, settings);
}

/* Characters between two tests of whether the search may end, enough for vectors. */
#define SURROGATE_STRIDE 1024

/* Return whether a text has a lone surrogate.  Each loop computes in the type of its characters, so
   that a vector of characters remains one vector; with `unicode_is_surrogate` it would not. */
VECTOR_INLINE int surrogate(const struct sketch_text *text)
{
    const uint16_t *narrow = text->characters;
    const uint32_t *wide = text->characters;
    uint16_t found = 0;
    uint32_t found_wide = 0;

    for (int64_t i = 0, stop; text->width > 1 && i < text->length; i = stop) {
        stop = text->length - i < SURROGATE_STRIDE ? text->length : i + SURROGATE_STRIDE;
        if (text->width == 2)
            for (int64_t j = i; j < stop; j++)
                found |= (uint16_t)((narrow[j] & 0xF800) == 0xD800);
        else
            for (int64_t j = i; j < stop; j++)
                found_wide |= (uint32_t)((wide[j] & 0xFFFFF800) == 0xD800);
        if (found | found_wide)
            return 1;
    }
    return 0;
}

#endif
