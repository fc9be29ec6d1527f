/* `hash`, `shingles` and `further`: hashes of tokens and shingles, and the further words of these
   hashes. */

#ifndef SIMDB_HASHES_H
#define SIMDB_HASHES_H

#include "mix.h"
#include "vector.h"

#if VECTORS_X86

/* Return mix_final of each word of a vector. */
VECTOR_INLINE vector mix_finals(vector words)
{
    words = vector_times_64(vector_xor(words, vector_right_64(words, 33)), MIX_FINAL_FIRST);
    words = vector_times_64(vector_xor(words, vector_right_64(words, 33)), MIX_FINAL_SECOND);
    return vector_xor(words, vector_right_64(words, 33));
}

#endif

static void further(const uint64_t *first, int64_t count, uint64_t *third, uint64_t *fourth)
{
    int64_t i = 0;

#if VECTORS_X86
    for (; i + VECTOR_WORDS <= count; i += VECTOR_WORDS) {
        vector words = vector_load(first + i);
        vector_store(third + i, mix_finals(vector_xor(words, vector_all_64(MIX_THIRD_WORD))));
        vector_store(fourth + i, mix_finals(vector_xor(words, vector_all_64(MIX_FOURTH_WORD))));
    }
#endif
    for (; i < count; i++) {
        third[i] = mix_final(first[i] ^ MIX_THIRD_WORD);
        fourth[i] = mix_final(first[i] ^ MIX_FOURTH_WORD);
    }
}

#if VECTORS_X86

/* Return the hashes of the shingles starting at `words`. */
VECTOR_INLINE vector shingles_from(const uint64_t *words, int shingle)
{
    vector hash = vector_load(words);

    for (int j = 1; j < shingle; j++)
        hash = vector_xor(vector_rotate_64(hash, MIX_ROTATION), vector_load(words + j));
    return mix_finals(hash);
}

#endif

static void shingles(uint64_t *words, int64_t count, int shingle)
{
#if VECTORS_X86
    int64_t place = 0;

    for (; place + VECTOR_WORDS <= count; place += VECTOR_WORDS)
        vector_store(words + place, shingles_from(words + place, shingle));
    if (place < count)
        vector_store_words(words + place, shingles_from(words + place, shingle), count - place);
#else
    for (int64_t i = 0; i < count; i++) {
        uint64_t hash = 0;
        for (int j = 0; j < shingle; j++)
            hash = mix_rotate(hash, MIX_ROTATION) ^ words[i + j];
        words[i] = mix_final(hash);
    }
#endif
}

#if VECTORS == VECTORS_AVX512

struct lanes {
    __m512i first;
    __m512i second;
};

static inline __m512i lanes_low(__m512i words)
{
    return vector_times_64(_mm512_rol_epi64(vector_times_64(words, MIX_FIRST), 31), MIX_SECOND);
}

static inline __m512i lanes_high(__m512i words)
{
    return vector_times_64(_mm512_rol_epi64(vector_times_64(words, MIX_SECOND), 33), MIX_FIRST);
}

/* Return 5 x + added for each word x. */
static inline __m512i lanes_step(__m512i words, uint32_t added)
{
    return _mm512_add_epi64(_mm512_add_epi64(words, _mm512_slli_epi64(words, 2)),
                            _mm512_set1_epi64(added));
}

/* Mix one block of 16 bytes into the hash of each lane in `some`. */
static inline struct lanes lanes_block(struct lanes hash, __mmask8 some,
                                       __m512i low, __m512i high)
{
    __m512i first = _mm512_rol_epi64(_mm512_xor_si512(hash.first, lanes_low(low)), 27);
    first = lanes_step(_mm512_add_epi64(first, hash.second), MIX_ADDED_FIRST);
    __m512i second = _mm512_rol_epi64(_mm512_xor_si512(hash.second, lanes_high(high)), 31);
    second = lanes_step(_mm512_add_epi64(second, first), MIX_ADDED_SECOND);
    hash.first = _mm512_mask_mov_epi64(hash.first, some, first);
    hash.second = _mm512_mask_mov_epi64(hash.second, some, second);
    return hash;
}

static inline struct lanes lanes_end(struct lanes hash, __m512i low, __m512i high,
                                     __m512i lengths)
{
    __m512i first = _mm512_ternarylogic_epi64(hash.first, lanes_low(low), lengths, 0x96);
    __m512i second = _mm512_ternarylogic_epi64(hash.second, lanes_high(high), lengths, 0x96);

    first = _mm512_add_epi64(first, second);
    second = _mm512_add_epi64(second, first);
    first = mix_finals(first);
    second = mix_finals(second);
    hash.first = _mm512_add_epi64(first, second);
    hash.second = _mm512_add_epi64(second, hash.first);
    return hash;
}

/* Return all ones in the lowest `lengths` bytes, 0 to 8, of each lane. */
static inline __m512i lanes_mask(__m512i lengths)
{
    __m512i unused = _mm512_sub_epi64(_mm512_set1_epi64(64), _mm512_slli_epi64(lengths, 3));
    return _mm512_srlv_epi64(_mm512_set1_epi64(-1), unused);
}

/* Load the first 16 bytes of eight tokens, as two words each.  Loads and shuffles are much faster
   than a gather. */
static inline void lanes_load(const uint8_t *text, const uint32_t *starts,
                              __m512i *low, __m512i *high)
{
    __m128i tokens[8];

    for (int i = 0; i < 8; i++)
        tokens[i] = _mm_loadu_si128((const __m128i *)(text + starts[i]));
    __m512i even = _mm512_castsi128_si512(tokens[0]), odd = _mm512_castsi128_si512(tokens[1]);
    even = _mm512_inserti64x2(even, tokens[2], 1);
    odd = _mm512_inserti64x2(odd, tokens[3], 1);
    even = _mm512_inserti64x2(even, tokens[4], 2);
    odd = _mm512_inserti64x2(odd, tokens[5], 2);
    even = _mm512_inserti64x2(even, tokens[6], 3);
    odd = _mm512_inserti64x2(odd, tokens[7], 3);
    *low = _mm512_unpacklo_epi64(even, odd);
    *high = _mm512_unpackhi_epi64(even, odd);
}

static void hash(const uint8_t *text, const uint32_t *starts,
                 const uint32_t *stops, int64_t count, uint32_t seed,
                 uint64_t *first, uint64_t *second)
{
    const __m512i eight = _mm512_set1_epi64(8), sixteen = _mm512_set1_epi64(16);

    for (int64_t i = 0; i < count; i += 8) {
        __mmask8 some = (__mmask8)_bzhi_u32(0xFF, count - i < 8 ? (unsigned)(count - i) : 8);
        __m256i begin = _mm256_maskz_loadu_epi32(some, starts + i);
        __m256i end = _mm256_maskz_loadu_epi32(some, stops + i);
        __m512i lengths = _mm512_cvtepu32_epi64(_mm256_sub_epi32(end, begin)), left = lengths;
        __m512i place = _mm512_cvtepu32_epi64(begin), low, high;
        struct lanes hash = {_mm512_set1_epi64(seed), _mm512_set1_epi64(seed)};
        __mmask8 longer = _mm512_cmpge_epu64_mask(left, sixteen);
        uint32_t places[8];

        _mm256_storeu_si256((__m256i *)places, begin);
        lanes_load(text, some == 0xFF ? starts + i : places, &low, &high);
        while (longer != 0) {
            hash = lanes_block(hash, longer, low, high);
            place = _mm512_mask_add_epi64(place, longer, place, sixteen);
            left = _mm512_mask_sub_epi64(left, longer, left, sixteen);
            low = _mm512_mask_i64gather_epi64(low, longer, place, text, 1);
            high = _mm512_mask_i64gather_epi64(high, longer, place, text + 8, 1);
            longer = _mm512_cmpge_epu64_mask(left, sixteen);
        }
        low = _mm512_and_si512(low, lanes_mask(_mm512_min_epu64(left, eight)));
        high = _mm512_and_si512(
            high, lanes_mask(_mm512_sub_epi64(_mm512_max_epu64(left, eight), eight)));
        hash = lanes_end(hash, low, high, lengths);
        _mm512_mask_storeu_epi64(first + i, some, hash.first);
        _mm512_mask_storeu_epi64(second + i, some, hash.second);
    }
}

#else

/* Return the first `length` of 8 bytes as a word; the other bytes are 0. */
static inline uint64_t load_some(const uint8_t *content, int64_t length)
{
    if (length <= 0)
        return 0;
    uint64_t word = mix_load(content);
    return length < 8 ? word & (((uint64_t)1 << 8 * length) - 1) : word;
}

static void hash_each(const uint8_t *text, const uint32_t *starts, const uint32_t *stops,
                      int64_t count, uint32_t seed, uint64_t *first, uint64_t *second)
{
    for (int64_t i = 0; i < count; i++) {
        const uint8_t *content = text + starts[i];
        int64_t length = (int64_t)stops[i] - starts[i];
        int64_t left = length;
        uint64_t one = seed, two = seed;

        for (; left >= 16; left -= 16, content += 16)
            mix_block(&one, &two, mix_load(content), mix_load(content + 8));
        mix_end(&one, &two, load_some(content, left), load_some(content + 8, left - 8),
                (uint64_t)length);
        first[i] = one;
        second[i] = two;
    }
}

#if VECTORS == VECTORS_AVX2

/* Load the first 16 bytes of four tokens, as two words each. */
static inline void load_tokens(const uint8_t *text, const uint32_t *starts,
                               __m256i *low, __m256i *high)
{
    __m128i tokens[4];

    for (int i = 0; i < 4; i++)
        tokens[i] = _mm_loadu_si128((const __m128i *)(text + starts[i]));
    __m256i even = _mm256_inserti128_si256(_mm256_castsi128_si256(tokens[0]), tokens[2], 1);
    __m256i odd = _mm256_inserti128_si256(_mm256_castsi128_si256(tokens[1]), tokens[3], 1);
    *low = _mm256_unpacklo_epi64(even, odd);
    *high = _mm256_unpackhi_epi64(even, odd);
}

/* Hash four tokens.  Return a mask of the tokens of 16 bytes and more, whose results are wrong. */
static inline int hash_four(const uint8_t *text, const uint32_t *starts,
                            const uint32_t *stops, uint32_t seed, uint64_t *first,
                            uint64_t *second)
{
    const __m256i ones = _mm256_set1_epi64x(-1);
    __m128i lengths = _mm_sub_epi32(_mm_loadu_si128((const __m128i *)stops),
                                    _mm_loadu_si128((const __m128i *)starts));
    __m256i sizes = _mm256_cvtepu32_epi64(lengths), bits = _mm256_slli_epi64(sizes, 3);
    __m256i salt = _mm256_xor_si256(_mm256_set1_epi64x(seed), sizes), low, high;

    /* A shift by 64 or more, or by a negative number, gives 0. */
    load_tokens(text, starts, &low, &high);
    low = _mm256_andnot_si256(_mm256_sllv_epi64(ones, bits), low);
    bits = _mm256_sub_epi64(_mm256_set1_epi64x(128), bits);
    high = _mm256_and_si256(_mm256_srlv_epi64(ones, bits), high);
    low = vector_rotate_64(vector_times_64(low, MIX_FIRST), 31);
    high = vector_rotate_64(vector_times_64(high, MIX_SECOND), 33);
    low = _mm256_xor_si256(vector_times_64(low, MIX_SECOND), salt);
    high = _mm256_xor_si256(vector_times_64(high, MIX_FIRST), salt);
    low = _mm256_add_epi64(low, high);
    high = _mm256_add_epi64(high, low);
    low = mix_finals(low);
    high = mix_finals(high);
    low = _mm256_add_epi64(low, high);
    _mm256_storeu_si256((__m256i *)first, low);
    _mm256_storeu_si256((__m256i *)second, _mm256_add_epi64(high, low));
    return _mm_movemask_ps(_mm_castsi128_ps(_mm_cmpgt_epi32(lengths, _mm_set1_epi32(15))));
}

/* Hash the tokens in the mask `longer`; a separate function, so that the usual loop keeps its
   registers. */
static __attribute__((noinline)) void hash_longer(const uint8_t *text, const uint32_t *starts,
                                                  const uint32_t *stops, int longer,
                                                  uint32_t seed, uint64_t *first,
                                                  uint64_t *second)
{
    for (int i = 0; i < 4; i++)
        if (longer >> i & 1)
            hash_each(text, starts + i, stops + i, 1, seed, first + i, second + i);
}

static void hash(const uint8_t *text, const uint32_t *starts, const uint32_t *stops,
                 int64_t count, uint32_t seed, uint64_t *first, uint64_t *second)
{
    if (count < 4) {
        hash_each(text, starts, stops, count, seed, first, second);
        return;
    }
    for (int64_t i = 0; i < count; i += 4) {
        /* The last four tokens may include tokens that were hashed before. */
        int64_t at = count - i < 4 ? count - 4 : i;
        int longer = hash_four(text, starts + at, stops + at, seed, first + at, second + at);

        if (longer != 0)
            hash_longer(text, starts + at, stops + at, longer, seed, first + at, second + at);
    }
}

#else

static void hash(const uint8_t *text, const uint32_t *starts, const uint32_t *stops, int64_t count,
                 uint32_t seed, uint64_t *first, uint64_t *second)
{
    hash_each(text, starts, stops, count, seed, first, second);
}

#endif

#endif

#endif
