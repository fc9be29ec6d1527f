/* With AVX2: loading 32 ASCII characters, and cutting 8 characters of any script below U+10000 by
   their classes, lower case and UTF-8. */

#ifndef SIMDB_CUT_AVX2_H
#define SIMDB_CUT_AVX2_H

#include "cut.h"

/* Load eight characters as words of 16 bits; return 1, or 0 if one of them does not fit. */
static inline int group_load(const struct sketch_text *text, int64_t place,
                             __m128i *characters)
{
    const uint8_t *content = (const uint8_t *)text->characters + place * text->width;

    if (text->width == 1) {
        *characters = _mm_cvtepu8_epi16(_mm_loadl_epi64((const __m128i *)content));
    } else if (text->width == 2) {
        *characters = _mm_loadu_si128((const __m128i *)content);
    } else {
        __m128i low = _mm_loadu_si128((const __m128i *)content);
        __m128i high = _mm_loadu_si128((const __m128i *)(content + 16));
        if (!_mm_test_all_zeros(_mm_or_si128(low, high), _mm_set1_epi32(~0xFFFF)))
            return 0;
        *characters = _mm_packus_epi32(low, high);
    }
    return 1;
}

/* Return the entries of `unicode_properties`.  Single loads are never slower than a gather. */
static inline __m128i group_properties(__m128i characters)
{
    __m128i properties = _mm_setzero_si128();
    uint16_t codes[8];

    _mm_storeu_si128((__m128i *)codes, characters);
    properties = _mm_insert_epi16(properties, unicode_properties[codes[0]], 0);
    properties = _mm_insert_epi16(properties, unicode_properties[codes[1]], 1);
    properties = _mm_insert_epi16(properties, unicode_properties[codes[2]], 2);
    properties = _mm_insert_epi16(properties, unicode_properties[codes[3]], 3);
    properties = _mm_insert_epi16(properties, unicode_properties[codes[4]], 4);
    properties = _mm_insert_epi16(properties, unicode_properties[codes[5]], 5);
    properties = _mm_insert_epi16(properties, unicode_properties[codes[6]], 6);
    return _mm_insert_epi16(properties, unicode_properties[codes[7]], 7);
}

/* Return a mask of the characters of a class; `mask` has the bits of the class in properties. */
static inline uint32_t group_class(__m128i properties, short mask,
                                   enum character_class class)
{
    __m128i classes = _mm_and_si128(properties, _mm_set1_epi16(mask));
    __m128i equal = _mm_cmpeq_epi16(classes, _mm_set1_epi16((short)class));

    return (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(equal, _mm_setzero_si128()));
}

/* Convert characters to lower case; return 0, without a change, if one has a rare delta. */
static inline int group_lower(__m128i properties, __m128i *characters)
{
    __m128i deltas = _mm_srli_epi16(properties, CLASS_BITS);

    if (!_mm_test_all_zeros(deltas, _mm_set1_epi16(~(UNICODE_FREQUENT - 1))))
        return 0;
    __m128i low = _mm_shuffle_epi8(
        _mm_loadu_si128((const __m128i *)unicode_frequent_deltas[0]), deltas);
    __m128i high = _mm_shuffle_epi8(
        _mm_loadu_si128((const __m128i *)unicode_frequent_deltas[1]), deltas);
    deltas = _mm_or_si128(low, _mm_slli_epi16(high, 8));
    *characters = _mm_add_epi16(*characters, deltas);
    return 1;
}

/* Write eight characters in UTF-8, and to `offsets` the position of each, plus `base`.  Return the
   number of bytes; up to 28 bytes of `out` are overwritten. */
static inline uint32_t group_encode(__m128i characters, uint32_t base, uint8_t *out,
                                    __m256i *offsets)
{
    const __m256i six = _mm256_set1_epi32(0x3F);
    __m256i codes = _mm256_cvtepu16_epi32(characters);
    __m256i is_two = _mm256_cmpgt_epi32(codes, _mm256_set1_epi32(0x7F));
    __m256i is_three = _mm256_cmpgt_epi32(codes, _mm256_set1_epi32(0x7FF));
    __m256i last = _mm256_and_si256(codes, six), rest = _mm256_srli_epi32(codes, 6);
    __m256i two = _mm256_or_si256(_mm256_or_si256(rest, _mm256_slli_epi32(last, 8)),
                                  _mm256_set1_epi32(0x80C0));
    __m256i middle = _mm256_slli_epi32(_mm256_and_si256(rest, six), 8);
    __m256i three = _mm256_or_si256(_mm256_srli_epi32(codes, 12),
                                    _mm256_or_si256(middle, _mm256_slli_epi32(last, 16)));
    __m256i lanes = _mm256_blendv_epi8(codes, two, is_two);
    three = _mm256_or_si256(three, _mm256_set1_epi32(0x8080E0));
    lanes = _mm256_blendv_epi8(lanes, three, is_three);

    uint32_t twos = (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(is_two));
    uint32_t threes = (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(is_three));
    uint32_t low = (twos & 15) | (threes & 15) << 4, high = twos >> 4 | (threes & 0xF0);
    uint32_t middle_size = 4 + (uint32_t)__builtin_popcount(low);
    const __m128i *used = (const __m128i *)places_of_bytes;
    _mm_storeu_si128((__m128i *)out, _mm_shuffle_epi8(_mm256_castsi256_si128(lanes),
                                                      _mm_loadu_si128(used + low)));
    _mm_storeu_si128((__m128i *)(out + middle_size),
                     _mm_shuffle_epi8(_mm256_extracti128_si256(lanes, 1),
                                      _mm_loadu_si128(used + high)));

    /* For each character, sum up -1 for each further byte of the earlier characters in its half. */
    __m256i more = _mm256_add_epi32(is_two, is_three);
    __m256i before = _mm256_slli_si256(more, 4);
    before = _mm256_add_epi32(before, _mm256_slli_si256(before, 4));
    before = _mm256_add_epi32(before, _mm256_slli_si256(more, 12));
    __m256i begin = _mm256_inserti128_si256(
        _mm256_set1_epi32((int)base), _mm_set1_epi32((int)(base + middle_size)), 1);
    begin = _mm256_add_epi32(begin, _mm256_setr_epi32(0, 1, 2, 3, 0, 1, 2, 3));
    *offsets = _mm256_sub_epi32(begin, before);
    return middle_size + 4 + (uint32_t)__builtin_popcount(high);
}

/* Write the offsets of the bits of `mask`; return their number.  Eight entries are overwritten. */
static inline int64_t group_positions(uint32_t mask, __m256i offsets, uint32_t *out)
{
    __m128i places = _mm_loadl_epi64((const __m128i *)&places_of_bits[mask]);

    _mm256_storeu_si256((__m256i *)out,
                        _mm256_permutevar8x32_epi32(offsets, _mm256_cvtepu8_epi32(places)));
    return __builtin_popcount(mask);
}

/* Load 32 characters as bytes; return 1 if all are ASCII, else 0. */
static inline int load_ascii(const struct sketch_text *text, int64_t place, vector *characters)
{
    const uint8_t *content = (const uint8_t *)text->characters + place * text->width;
    __m256i low = _mm256_loadu_si256((const __m256i *)content);

    if (text->width == 1) {
        *characters = low;
        return _mm256_movemask_epi8(low) == 0;
    }
    __m256i second = _mm256_loadu_si256((const __m256i *)(content + 32));
    if (text->width == 2) {
        *characters = _mm256_permute4x64_epi64(_mm256_packus_epi16(low, second), 0xD8);
        return _mm256_testz_si256(_mm256_or_si256(low, second), _mm256_set1_epi16(-0x80));
    }
    __m256i third = _mm256_loadu_si256((const __m256i *)(content + 64));
    __m256i fourth = _mm256_loadu_si256((const __m256i *)(content + 96));
    __m256i all = _mm256_or_si256(_mm256_or_si256(low, second), _mm256_or_si256(third, fourth));
    low = _mm256_packus_epi16(_mm256_packus_epi32(low, second),
                              _mm256_packus_epi32(third, fourth));
    *characters = _mm256_permutevar8x32_epi32(low, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    return _mm256_testz_si256(all, _mm256_set1_epi32(-0x80));
}

/* Cut eight characters of any script; with `alone`, a constant, characters of scripts without
   spaces are words by themselves. */
VECTOR_INLINE void cut_eight(struct cut *cut, const struct sketch_text *text, int64_t place,
                             int lowercase, int alone)
{
    __m128i characters, properties;
    __m256i offsets;

    if (!group_load(text, place, &characters)) {
        cut_some(cut, text, place, place + 8, lowercase, CUT_WORDS(alone),
                 CUT_SINGLES(alone));
        return;
    }
    properties = group_properties(characters);
    if (lowercase && !group_lower(properties, &characters)) {
        cut_some(cut, text, place, place + 8, lowercase, CUT_WORDS(alone),
                 CUT_SINGLES(alone));
        return;
    }
    const short mask = alone ? CLASS_ALONE_MASK : CLASS_MASK;
    uint32_t words = group_class(properties, mask, CLASS_WORD);
    if (!alone)
        words |= group_class(properties, mask, CLASS_SPACELESS);
    uint32_t tokens = words | group_class(properties, mask, CLASS_SINGLE);
    uint32_t joined = words & (words << 1 | (uint32_t)cut->after_word);
    uint32_t starts = tokens & ~joined;
    uint32_t stops = (tokens << 1 | (uint32_t)cut->after_token) & ~joined & 0xFF;

    cut->size += group_encode(characters, cut->size, cut->tokens->copy + cut->size, &offsets);
    cut->started += group_positions(starts, offsets, cut->tokens->starts + cut->started);
    cut->stopped += group_positions(stops, offsets, cut->tokens->stops + cut->stopped);
    cut->opened = starts ? place + 31 - (int64_t)_lzcnt_u32(starts) : cut->opened;
    cut->after_word = (int)(words >> 7);
    cut->after_token = (int)(tokens >> 7);
}

VECTOR_INLINE void cut_rest(struct cut *cut, const struct sketch_text *text, int64_t start,
                            int64_t stop, int lowercase, const int alone)
{
    for (; stop - start >= 8; start += 8)
        cut_eight(cut, text, start, lowercase, alone);
    if (start < stop)
        cut_some(cut, text, start, stop, lowercase, CUT_WORDS(alone), CUT_SINGLES(alone));
}

#endif
