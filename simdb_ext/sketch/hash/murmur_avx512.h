/* `hash`, eight tokens at a time, one in each 64-bit lane. */

#ifndef SIMDB_MURMUR_AVX512_H
#define SIMDB_MURMUR_AVX512_H

#include "cpu.h"
#include "mix_avx512.h"

#if CPU_X86

struct lanes {
    __m512i first;
    __m512i second;
};

CPU_AVX512 static inline __m512i lanes_product(__m512i words, uint64_t factor)
{
    return _mm512_mullo_epi64(words, _mm512_set1_epi64((int64_t)factor));
}

CPU_AVX512 static inline __m512i lanes_low(__m512i words)
{
    return lanes_product(_mm512_rol_epi64(lanes_product(words, MIX_FIRST), 31), MIX_SECOND);
}

CPU_AVX512 static inline __m512i lanes_high(__m512i words)
{
    return lanes_product(_mm512_rol_epi64(lanes_product(words, MIX_SECOND), 33), MIX_FIRST);
}

/* Return 5 x + added for each word x. */
CPU_AVX512 static inline __m512i lanes_step(__m512i words, uint32_t added)
{
    return _mm512_add_epi64(_mm512_add_epi64(words, _mm512_slli_epi64(words, 2)),
                            _mm512_set1_epi64(added));
}

/* Mix one block of 16 bytes into the hash of each lane in `some`. */
CPU_AVX512 static inline struct lanes lanes_block(struct lanes hash, __mmask8 some,
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

CPU_AVX512 static inline struct lanes lanes_end(struct lanes hash, __m512i low, __m512i high,
                                                __m512i lengths)
{
    __m512i first = _mm512_ternarylogic_epi64(hash.first, lanes_low(low), lengths, 0x96);
    __m512i second = _mm512_ternarylogic_epi64(hash.second, lanes_high(high), lengths, 0x96);

    first = _mm512_add_epi64(first, second);
    second = _mm512_add_epi64(second, first);
    first = mix_final_avx512(first);
    second = mix_final_avx512(second);
    hash.first = _mm512_add_epi64(first, second);
    hash.second = _mm512_add_epi64(second, hash.first);
    return hash;
}

/* Return all ones in the lowest `lengths` bytes, 0 to 8, of each lane. */
CPU_AVX512 static inline __m512i lanes_mask(__m512i lengths)
{
    __m512i unused = _mm512_sub_epi64(_mm512_set1_epi64(64), _mm512_slli_epi64(lengths, 3));
    return _mm512_srlv_epi64(_mm512_set1_epi64(-1), unused);
}

/* Load the first 16 bytes of eight tokens, as two words of each.  Loads and shuffles are much
   faster than a gather. */
CPU_AVX512 static inline void lanes_load(const uint8_t *text, const uint32_t *starts,
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

CPU_AVX512 static void hash_avx512(const uint8_t *text, const uint32_t *starts,
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

#endif

#endif
