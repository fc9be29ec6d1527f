#include "utf8.h"

#include <string.h>

#define HIGH_BITS 0x8080808080808080u

/* First bytes of characters: the largest for code points below 0x100, and the smallest for code
   points of 0x10000 or more. */
#define LATIN_LEAD_MAX 0xC3
#define WIDE_LEAD 0xF0

/* Bytes that are tested together in a stretch of ASCII. */
#define STRIDE 64

/* Return whether a word of 8 bytes is ASCII. */
static inline int is_ascii_word(const uint8_t *content)
{
    uint64_t word;

    memcpy(&word, content, sizeof word);
    return (word & HIGH_BITS) == 0;
}

/* Return whether STRIDE bytes are ASCII. */
static inline int is_ascii_stride(const uint8_t *content)
{
    uint64_t words[STRIDE / 8], bits = 0;

    memcpy(words, content, sizeof words);
    for (int i = 0; i < STRIDE / 8; i++)
        bits |= words[i];
    return (bits & HIGH_BITS) == 0;
}

/* Return the number of bytes of the character, not ASCII, that begins here; 0 if it is invalid. */
static inline int character_bytes(const uint8_t *content, int64_t length)
{
    uint8_t lead = content[0], low = 0x80, high = 0xBF;
    int bytes = lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < WIDE_LEAD ? 3 : lead < 0xF5 ? 4 : 0;

    if (bytes == 0 || bytes > length)
        return 0;
    if (lead == 0xE0)
        low = 0xA0; /* smaller code points have a shorter form */
    else if (lead == 0xED)
        high = 0x9F; /* surrogates follow */
    else if (lead == 0xF0)
        low = 0x90;
    else if (lead == 0xF4)
        high = 0x8F; /* above 10FFFF */
    if (content[1] < low || content[1] > high)
        return 0;
    for (int i = 2; i < bytes; i++)
        if ((content[i] & 0xC0) != 0x80)
            return 0;
    return bytes;
}

int utf8_measure(const uint8_t *content, int64_t length, int64_t *count)
{
    uint8_t lead_max = 0;
    int64_t i = 0;

    *count = 0;
    while (i < length) {
        if (content[i] >= 0x80) {
            int bytes = character_bytes(content + i, length - i);

            if (bytes == 0)
                return 0;
            if (content[i] > lead_max)
                lead_max = content[i];
            i += bytes;
            *count += 1;
        } else if (length - i >= STRIDE && is_ascii_stride(content + i)) {
            i += STRIDE;
            *count += STRIDE;
        } else if (length - i >= 8 && is_ascii_word(content + i)) {
            i += 8;
            *count += 8;
        } else {
            i++;
            *count += 1;
        }
    }
    return lead_max <= LATIN_LEAD_MAX ? 1 : lead_max < WIDE_LEAD ? 2 : 4;
}

/* Room is in whole words, so that every text is aligned. */
static inline int64_t room_of(int64_t count, int width)
{
    return (count * width + 7) / 8 * 8;
}

int64_t utf8_accept(struct sketch_text *texts, int64_t start, int64_t stop, int64_t *size)
{
    for (int64_t i = start; i < stop; i++) {
        struct sketch_text *text = &texts[i];
        int64_t count;
        int width;

        if (text->width != UTF8_WIDTH)
            continue;
        if (sketch_is_ascii(text->characters, text->length)) {
            text->width = 1;
            text->is_ascii = 1;
            continue;
        }
        width = utf8_measure(text->characters, text->length, &count);
        if (width == 0)
            return i;
        text->width = -width;
        *size += room_of(count, width);
    }
    return stop;
}

/* Decode valid UTF-8 and return the number of code points. */
static inline int64_t decode_as(const uint8_t *content, int64_t length, void *room, int width)
{
    int64_t i = 0, place = 0;

    while (i < length) {
        const uint8_t *at = content + i;

        if (at[0] < 0x80) {
            if (length - i >= 8 && is_ascii_word(at)) {
                for (int j = 0; j < 8; j++)
                    put_character(room, width, place + j, at[j]);
                i += 8;
                place += 8;
            } else {
                put_character(room, width, place++, at[0]);
                i++;
            }
        } else if (at[0] < 0xE0) {
            put_character(room, width, place++, (at[0] & 0x1Fu) << 6 | (at[1] & 0x3Fu));
            i += 2;
        } else if (at[0] < WIDE_LEAD) {
            put_character(room, width, place++,
                (at[0] & 0xFu) << 12 | (at[1] & 0x3Fu) << 6 | (at[2] & 0x3Fu));
            i += 3;
        } else {
            put_character(room, width, place++, (at[0] & 0x7u) << 18 | (at[1] & 0x3Fu) << 12
                | (at[2] & 0x3Fu) << 6 | (at[3] & 0x3Fu));
            i += 4;
        }
    }
    return place;
}

void utf8_decode(struct sketch_text *texts, int64_t count, uint8_t *room)
{
    for (int64_t i = 0; i < count; i++) {
        struct sketch_text *text = &texts[i];
        const uint8_t *content = text->characters;

        if (text->width > UTF8_WIDTH)
            continue;
        text->characters = room;
        text->width = -text->width;
        text->is_ascii = 0;
        if (text->width == 1)
            text->length = decode_as(content, text->length, room, 1);
        else if (text->width == 2)
            text->length = decode_as(content, text->length, room, 2);
        else
            text->length = decode_as(content, text->length, room, 4);
        room += room_of(text->length, text->width);
    }
}

/* Characters between two tests of whether the search may end, enough for vectors. */
#define ASCII_STRIDE 1024

int sketch_is_ascii(const uint8_t *content, int64_t length)
{
    uint8_t bits = 0;

    for (int64_t i = 0, stop; i < length && bits < 0x80; i = stop) {
        stop = length - i < ASCII_STRIDE ? length : i + ASCII_STRIDE;
        for (int64_t j = i; j < stop; j++)
            bits |= content[j];
    }
    return bits < 0x80;
}
