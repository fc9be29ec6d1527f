/* Tables that vectors of characters look up: properties, and places of bits and of bytes. */

#ifndef SIMDB_UNICODE_H
#define SIMDB_UNICODE_H

#include <stdint.h>

/* The classes of the table.  A letter or mark of a script without spaces is a token by itself or a
   part of words; the unit decides.  The lowest two bits of CLASS_SPACELESS equal CLASS_SINGLE. */
enum character_class {
    CLASS_OTHER,
    CLASS_WORD,
    CLASS_SINGLE,
    CLASS_SPACE,
    CLASS_SPACELESS = CLASS_SINGLE | 4
};

#define CODE_POINTS 0x110000
#define CLASS_BITS 3
#define CLASS_MASK ((1 << CLASS_BITS) - 1)
#define CLASS_ALONE_MASK 3 /* the bits in which CLASS_SPACELESS is CLASS_SINGLE */

/* For each code point: its class in the lowest CLASS_BITS bits, and above them its place in
   unicode_deltas.  One more entry exists because vectors read entries as 32-bit words. */
extern uint16_t unicode_properties[CODE_POINTS + 1];

/* The number to add to a character for its lower case. */
extern int32_t unicode_deltas[128];

/* The lowest and the next byte of the first deltas, which most capitals have. */
#define UNICODE_FREQUENT 16
extern uint8_t unicode_frequent_deltas[2][UNICODE_FREQUENT];

/* A bit for each character that is the lower case of another one. */
extern uint8_t unicode_lower_bits[CODE_POINTS / 8];

/* places_of_bits[b]: the numbers of the bits set in b, the lowest first, a byte each, then
   zeros. */
extern uint64_t places_of_bits[256];

/* places_of_bytes[b]: the numbers of the used bytes of four lanes of 32 bits, then zeros.  A lane
   holds 1 to 3 bytes: bit i of b is set if lane i holds 2 or more, bit 4 + i if it holds 3. */
extern uint8_t places_of_bytes[256][16];

/* Fill the tables; call this once, before anything else. */
void unicode_unfold(void);

static inline int unicode_class(uint32_t code) { return unicode_properties[code] & CLASS_MASK; }

static inline uint32_t unicode_lower(uint32_t code)
{
    return code + (uint32_t)unicode_deltas[unicode_properties[code] >> CLASS_BITS];
}

static inline int unicode_is_lower(uint32_t code)
{
    return unicode_lower_bits[code / 8] >> code % 8 & 1;
}

static inline int unicode_is_surrogate(uint32_t code) { return code >> 11 == 0xD800 >> 11; }

/* Write the UTF-8 of a character to `out`, which has 4 bytes; return the number of bytes. */
static inline int unicode_encode(uint32_t code, uint8_t *out)
{
    if (code < 0x80) {
        out[0] = (uint8_t)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (uint8_t)(0xC0 | code >> 6);
        out[1] = (uint8_t)(0x80 | (code & 0x3F));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (uint8_t)(0xE0 | code >> 12);
        out[1] = (uint8_t)(0x80 | (code >> 6 & 0x3F));
        out[2] = (uint8_t)(0x80 | (code & 0x3F));
        return 3;
    }
    out[0] = (uint8_t)(0xF0 | code >> 18);
    out[1] = (uint8_t)(0x80 | (code >> 12 & 0x3F));
    out[2] = (uint8_t)(0x80 | (code >> 6 & 0x3F));
    out[3] = (uint8_t)(0x80 | (code & 0x3F));
    return 4;
}

#endif
