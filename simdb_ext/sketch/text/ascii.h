/* `words` and `fold`: classes and lower case of ASCII characters, and the positions of bits. */

#ifndef SIMDB_ASCII_H
#define SIMDB_ASCII_H

#include "unicode.h"
#include "vector.h"

#if VECTORS == VECTORS_AVX2

/* Return ones where `low` <= character <= `high`; ASCII bytes are never negative. */
static inline __m256i between(__m256i characters, char low, char high)
{
    return _mm256_and_si256(
        _mm256_cmpgt_epi8(characters, _mm256_set1_epi8((char)(low - 1))),
        _mm256_cmpgt_epi8(_mm256_set1_epi8((char)(high + 1)), characters));
}

/* Copy 32 characters and return a mask of the word characters among them. */
static inline uint32_t words_of(__m256i characters, int lowercase, uint8_t *copy)
{
    const __m256i offset = _mm256_set1_epi8('a' - 'A');
    __m256i upper = between(characters, 'A', 'Z');
    __m256i is_word = _mm256_or_si256(
        between(_mm256_or_si256(characters, offset), 'a', 'z'),
        _mm256_or_si256(between(characters, '0', '9'),
                        _mm256_cmpeq_epi8(characters, _mm256_set1_epi8('_'))));

    if (lowercase)
        characters = _mm256_add_epi8(characters, _mm256_and_si256(upper, offset));
    _mm256_storeu_si256((__m256i *)copy, characters);
    return (uint32_t)_mm256_movemask_epi8(is_word);
}

/* Write the positions of the bits of `mask`, plus `base`; return their number.  Each byte of `mask`
   overwrites eight entries, which takes no branch. */
VECTOR_INLINE int64_t positions(uint64_t mask, const uint32_t width, uint32_t base, uint32_t *out)
{
    int64_t count = 0;

    for (uint32_t shift = 0; shift < width; shift += 8) {
        uint32_t bits = mask >> shift & 0xFF;
        __m128i places = _mm_loadl_epi64((const __m128i *)&places_of_bits[bits]);
        __m256i found = _mm256_add_epi32(_mm256_cvtepu8_epi32(places),
                                         _mm256_set1_epi32((int)(base + shift)));
        _mm256_storeu_si256((__m256i *)(out + count), found);
        count += __builtin_popcount(bits);
    }
    return count;
}

/* Copy `count` characters and return a mask of the word characters among them.  `count` is a
   compile-time constant, a multiple of the vector size. */
VECTOR_INLINE uint64_t words_mask(const vector *characters, const int count, int lowercase,
                                  uint8_t *copy)
{
    uint64_t words = words_of(characters[0], lowercase, copy);

    return count == 32 ? words
                       : words | (uint64_t)words_of(characters[1], lowercase, copy + 32) << 32;
}

#elif VECTORS == VECTORS_AVX512

static inline uint64_t ascii_between(__m512i characters, char low, char high)
{
    return _mm512_cmple_epu8_mask(_mm512_sub_epi8(characters, _mm512_set1_epi8(low)),
                                  _mm512_set1_epi8((char)(high - low)));
}

static inline uint64_t ascii_words(__m512i characters)
{
    __m512i lower = _mm512_or_si512(characters, _mm512_set1_epi8('a' - 'A'));
    return ascii_between(lower, 'a', 'z') | ascii_between(characters, '0', '9') |
           _mm512_cmpeq_epi8_mask(characters, _mm512_set1_epi8('_'));
}

static inline uint64_t ascii_spaces(__m512i characters)
{
    return ascii_between(characters, '\t', '\r') |
           _mm512_cmpeq_epi8_mask(characters, _mm512_set1_epi8(' '));
}

static inline __m512i ascii_lower(__m512i characters)
{
    return _mm512_mask_add_epi8(characters, ascii_between(characters, 'A', 'Z'), characters,
                                _mm512_set1_epi8('a' - 'A'));
}

/* Return the numbers 0 .. 63 as bytes. */
static inline __m512i count_up(void)
{
    __m512i lanes = _mm512_slli_epi64(_mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0), 3);
    return _mm512_add_epi8(_mm512_shuffle_epi8(lanes, _mm512_set_epi64(
        0x0808080808080808, 0, 0x0808080808080808, 0, 0x0808080808080808, 0,
        0x0808080808080808, 0)), _mm512_set1_epi64(0x0706050403020100));
}

/* Write the positions of the bits of `mask`, at most 32, plus `base`; return their number.  16 or
   32 entries of `out` are overwritten. */
static inline int64_t positions_in(uint64_t mask, uint32_t base, uint32_t *out)
{
    __m512i bases = _mm512_set1_epi32((int)base);
    __m512i bytes = _mm512_maskz_compress_epi8(mask, count_up());
    __m512i low = _mm512_cvtepu8_epi32(_mm512_castsi512_si128(bytes));
    int64_t count = _mm_popcnt_u64(mask);

    _mm512_storeu_si512(out, _mm512_add_epi32(bases, low));
    if (count > 16) {
        __m512i high = _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(bytes, 1));
        _mm512_storeu_si512(out + 16, _mm512_add_epi32(bases, high));
    }
    return count;
}

#define positions(mask, width, base, out) positions_in(mask, base, out)

VECTOR_INLINE uint64_t words_mask(const vector *characters, const int count, int lowercase,
                                  uint8_t *copy)
{
    (void)count;
    vector_store(copy, lowercase ? ascii_lower(*characters) : *characters);
    return ascii_words(*characters);
}

#elif VECTORS == VECTORS_NEON


/* Return ones where `low` <= character <= `high`. */
static inline uint8x16_t between(uint8x16_t characters, uint8_t low, uint8_t high)
{
    return vcleq_u8(vsubq_u8(characters, vdupq_n_u8(low)), vdupq_n_u8((uint8_t)(high - low)));
}

/* Copy 16 characters and return ones where they are word characters. */
static inline uint8x16_t words_of(uint8x16_t characters, int lowercase, uint8_t *copy)
{
    const uint8x16_t offset = vdupq_n_u8('a' - 'A');
    uint8x16_t is_letter = between(vorrq_u8(characters, offset), 'a', 'z');
    uint8x16_t is_word = vorrq_u8(
        is_letter, vorrq_u8(between(characters, '0', '9'),
                            vceqq_u8(characters, vdupq_n_u8('_'))));

    if (lowercase)
        characters = vorrq_u8(characters, vandq_u8(is_letter, offset));
    vst1q_u8(copy, characters);
    return is_word;
}

VECTOR_INLINE uint64_t words_mask(const vector *characters, const int count, int lowercase,
                                  uint8_t *copy)
{
    const uint8x16_t bits = vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201u));
    uint8x16_t masks[4] = {vdupq_n_u8(0), vdupq_n_u8(0), vdupq_n_u8(0), vdupq_n_u8(0)};

    for (int i = 0; i < count / 16; i++)
        masks[i] = vandq_u8(words_of(VECTOR_8(characters[i]), lowercase, copy + 16 * i), bits);
    masks[0] = vpaddq_u8(vpaddq_u8(masks[0], masks[1]), vpaddq_u8(masks[2], masks[3]));
    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(masks[0], masks[0])), 0);
}

/* Write the positions of the bits of `mask`, which has `width` bits, plus `base`; return their
   number.  Each byte of `mask` overwrites eight entries, which takes no branch. */
VECTOR_INLINE int64_t positions(uint64_t mask, const unsigned width, uint32_t base, uint32_t *out)
{
    uint64_t counts = vget_lane_u64(vreinterpret_u64_u8(vcnt_u8(vcreate_u8(mask))), 0);
    /* Byte k of the product is the sum of the first k + 1 counts, which is at most 64. */
    uint64_t ends = counts * 0x0101010101010101u, starts = ends << 8;

    for (unsigned shift = 0; shift < width; shift += 8) {
        uint16x8_t places = vmovl_u8(vcreate_u8(places_of_bits[mask >> shift & 0xFF]));
        uint32x4_t first = vdupq_n_u32(base + shift);
        uint32_t *place = out + (starts >> shift & 0xFF);
        vst1q_u32(place, vaddw_u16(first, vget_low_u16(places)));
        vst1q_u32(place + 4, vaddw_high_u16(first, places));
    }
    return (int64_t)(ends >> 56);
}

#endif

#if VECTORS

/* Copy 64 characters, of which at least the first `left` exist, and return a mask of the word
   characters among them. */
VECTOR_INLINE uint64_t words_of_block(const uint8_t *text, int64_t left, int lowercase,
                                      uint8_t *copy)
{
    vector characters[64 / VECTOR_BYTES];

#if VECTORS == VECTORS_AVX512
    *characters = left < 64 ? vector_load_some(text, (size_t)left) : vector_load(text);
#else
    uint8_t padded[64] = {0};

    if (left < 64)
        text = memcpy(padded, text, (size_t)left);
    for (int i = 0; i < 64 / VECTOR_BYTES; i++)
        characters[i] = vector_load(text + VECTOR_BYTES * i);
#endif
    return words_mask(characters, 64, lowercase, copy);
}

/* The borders of words are found in the bits of 64 characters. */
static int64_t words(const uint8_t *text, int64_t length, int lowercase, uint8_t *copy,
                     uint32_t *starts, uint32_t *stops)
{
    uint64_t before = 0;
    int64_t started = 0, stopped = 0;

    for (int64_t i = 0; i < length; i += 64) {
        uint64_t inside = words_of_block(text + i, length - i, lowercase, copy + i);
        uint64_t shifted = inside << 1 | before;

        started += positions(inside & ~shifted, 64, (uint32_t)i, starts + started);
        stopped += positions(~inside & shifted, 64, (uint32_t)i, stops + stopped);
        before = inside >> 63;
    }
    if (stopped < started)
        stops[stopped] = (uint32_t)length;
    return started;
}

#else

static int64_t words(const uint8_t *text, int64_t length, int lowercase, uint8_t *copy,
                     uint32_t *starts, uint32_t *stops)
{
    int64_t count = 0;
    int is_inside = 0;

    for (int64_t i = 0; i < length; i++) {
        int is_word = unicode_class(text[i]) == CLASS_WORD;
        copy[i] = (uint8_t)(lowercase ? unicode_lower(text[i]) : text[i]);
        /* Always write both: this leaves no branch to mispredict. */
        starts[count] = is_inside ? starts[count] : (uint32_t)i;
        stops[count] = (uint32_t)i;
        count += is_inside & !is_word;
        is_inside = is_word;
    }
    stops[count] = (uint32_t)length;
    return count + is_inside;
}

#endif

#if VECTORS == VECTORS_AVX512

/* 64 characters at a time are compressed, which removes the dropped ones. */
static int64_t fold(const uint8_t *text, int64_t length, int lowercase,
                    struct sketch_space *space, uint8_t *copy)
{
    uint64_t before = (uint64_t)(space->is_held | !space->is_begun);
    int64_t first = space->is_held, size = first;

    copy[0] = ' ';
    for (int64_t i = 0; i < length; i += 64) {
        uint64_t some = _bzhi_u64(~(uint64_t)0, length - i < 64 ? (unsigned)(length - i) : 64);
        __m512i characters = _mm512_maskz_loadu_epi8(some, text + i);
        uint64_t spaces = ascii_spaces(characters);
        uint64_t kept = some & ~(spaces & (spaces << 1 | before));

        characters = lowercase ? ascii_lower(characters) : characters;
        characters = _mm512_mask_mov_epi8(characters, spaces, _mm512_set1_epi8(' '));
        _mm512_storeu_si512(copy + size, _mm512_maskz_compress_epi8(kept, characters));
        size += (int64_t)_mm_popcnt_u64(kept);
        before = spaces >> 63;
    }
    if (size == first) /* nothing except the space held before */
        return 0;
    space->is_held = copy[size - 1] == ' ';
    size -= space->is_held;
    space->is_begun |= size > 0;
    return size;
}

#else

static int64_t fold(const uint8_t *text, int64_t length, int lowercase,
                    struct sketch_space *space, uint8_t *copy)
{
    int is_begun = space->is_begun, is_held = space->is_held;
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
    space->is_begun = is_begun;
    space->is_held = is_held;
    return size;
}

#endif

#endif
