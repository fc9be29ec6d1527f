/* With AVX-512: loading 64 ASCII characters, and cutting 16 of any script. */

#ifndef SIMDB_CUT_AVX512_H
#define SIMDB_CUT_AVX512_H

#include "cut.h"

/* The lowest of the four bits of each of 16 characters: the place of its first byte. */
#define CUT_FIRST_BYTES 0x1111111111111111u

/* Load 64 characters as bytes; return 1 if all are ASCII, else 0. */
static inline int load_ascii(const struct sketch_text *text, int64_t place, vector *characters)
{
    const uint8_t *content = (const uint8_t *)text->characters + place * text->width;
    __m512i low = _mm512_loadu_si512(content);

    if (text->width == 1) {
        *characters = low;
        return _mm512_movepi8_mask(low) == 0;
    }
    __m512i high = _mm512_loadu_si512(content + 64);
    if (text->width == 4) {
        __m512i third = _mm512_loadu_si512(content + 128);
        __m512i fourth = _mm512_loadu_si512(content + 192);
        __m512i all = _mm512_or_si512(_mm512_or_si512(low, high), _mm512_or_si512(third, fourth));
        if (_mm512_test_epi32_mask(all, _mm512_set1_epi32(-0x80)) != 0)
            return 0;
        __m512i halves = _mm512_inserti32x4(_mm512_castsi128_si512(_mm512_cvtepi32_epi8(low)),
                                            _mm512_cvtepi32_epi8(high), 1);
        halves = _mm512_inserti32x4(halves, _mm512_cvtepi32_epi8(third), 2);
        *characters = _mm512_inserti32x4(halves, _mm512_cvtepi32_epi8(fourth), 3);
        return 1;
    }
    if (_mm512_test_epi16_mask(_mm512_or_si512(low, high), _mm512_set1_epi16(-0x80)) != 0)
        return 0;
    *characters = _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi16_epi8(low)),
                                     _mm512_cvtepi16_epi8(high), 1);
    return 1;
}

static inline __m512i load_group(const struct sketch_text *text, int64_t place,
                                 __mmask16 some)
{
    if (text->width == 1)
        return _mm512_cvtepu8_epi32(
            _mm_maskz_loadu_epi8(some, (const uint8_t *)text->characters + place));
    if (text->width == 2)
        return _mm512_cvtepu16_epi32(
            _mm256_maskz_loadu_epi16(some, (const uint16_t *)text->characters + place));
    return _mm512_maskz_loadu_epi32(some, (const uint32_t *)text->characters + place);
}

/* Return the UTF-8 of each character in its lane, the first byte lowest, then zeros. */
static inline __m512i encode_lanes(__m512i codes)
{
    const __m512i six = _mm512_set1_epi32(0x3F);
    __mmask16 two = _mm512_cmpge_epu32_mask(codes, _mm512_set1_epi32(0x80));
    __mmask16 three = _mm512_cmpge_epu32_mask(codes, _mm512_set1_epi32(0x800));
    __mmask16 four = _mm512_cmpge_epu32_mask(codes, _mm512_set1_epi32(0x10000));
    __m512i last = _mm512_and_si512(codes, six);
    __m512i second = _mm512_srli_epi32(codes, 6), third = _mm512_srli_epi32(codes, 12);
    __m512i lanes = codes;

    lanes = _mm512_mask_or_epi32(lanes, two, _mm512_or_si512(second, _mm512_slli_epi32(last, 8)),
                                 _mm512_set1_epi32(0x80C0));
    second = _mm512_and_si512(second, six);
    __m512i tail = _mm512_or_si512(_mm512_slli_epi32(second, 8), _mm512_slli_epi32(last, 16));
    lanes = _mm512_mask_or_epi32(lanes, three, _mm512_or_si512(third, tail),
                                 _mm512_set1_epi32(0x8080E0));
    if (four == 0)
        return lanes;
    third = _mm512_slli_epi32(_mm512_and_si512(third, six), 8);
    tail = _mm512_ternarylogic_epi32(_mm512_srli_epi32(codes, 18), third,
                                     _mm512_slli_epi32(tail, 8), 0xFE);
    return _mm512_mask_or_epi32(lanes, four, tail, _mm512_set1_epi32((int)0x808080F0));
}

/* Cut up to 16 characters; with `alone`, a constant, characters of scripts without spaces are words
   by themselves. */
VECTOR_INLINE void cut_group(struct cut *cut, __m512i codes, int64_t place, unsigned count,
                             int lowercase, int alone)
{
    const __m512i mask = _mm512_set1_epi32(alone ? CLASS_ALONE_MASK : CLASS_MASK);
    __m512i properties = _mm512_and_si512(_mm512_i32gather_epi32(codes, unicode_properties, 2),
                                          _mm512_set1_epi32(0xFFFF));
    __m512i classes = _mm512_and_si512(properties, mask);
    __m512i lowers = _mm512_srli_epi32(properties, CLASS_BITS);
    uint64_t words = _mm512_cmpeq_epi32_mask(classes, _mm512_set1_epi32(CLASS_WORD));
    uint64_t singles = _mm512_cmpeq_epi32_mask(classes, _mm512_set1_epi32(CLASS_SINGLE));

    if (!alone)
        words |= _mm512_cmpeq_epi32_mask(classes, _mm512_set1_epi32(CLASS_SPACELESS));
    if (lowercase && _mm512_test_epi32_mask(lowers, lowers) != 0)
        codes = _mm512_add_epi32(codes, _mm512_i32gather_epi32(lowers, unicode_deltas, 4));
    __m512i lanes = encode_lanes(codes);
    uint64_t kept = _bzhi_u64(_mm512_test_epi8_mask(lanes, lanes) | CUT_FIRST_BYTES, 4 * count);
    uint64_t joined = words & (words << 1 | (uint64_t)cut->after_word);
    uint64_t starts = (words | singles) & ~joined;
    uint64_t stops = ((words | singles) << 1 | (uint64_t)cut->after_token) & ~joined;

    /* Masks of characters become masks of first bytes, and are compressed like the bytes. */
    _mm512_storeu_si512(cut->tokens->copy + cut->size, _mm512_maskz_compress_epi8(kept, lanes));
    cut->started += positions(_pext_u64(_pdep_u64(starts, CUT_FIRST_BYTES), kept), 64,
                              cut->size, cut->tokens->starts + cut->started);
    cut->stopped += positions(_pext_u64(_pdep_u64(stops, CUT_FIRST_BYTES), kept), 64,
                              cut->size, cut->tokens->stops + cut->stopped);
    cut->opened = starts ? place + 63 - (int64_t)_lzcnt_u64(starts) : cut->opened;
    cut->after_word = (int)(words >> (count - 1) & 1);
    cut->after_token = (int)((words | singles) >> (count - 1) & 1);
    cut->size += (uint32_t)_mm_popcnt_u64(kept);
}

VECTOR_INLINE void cut_rest(struct cut *cut, const struct sketch_text *text, int64_t start,
                            int64_t stop, int lowercase, const int alone)
{
    for (unsigned count; start < stop; start += count) {
        count = stop - start < 16 ? (unsigned)(stop - start) : 16;
        __mmask16 some = (__mmask16)_bzhi_u32(0xFFFF, count);
        cut_group(cut, load_group(text, start, some), start, count, lowercase, alone);
    }
}

#endif
