/* One vector of the instruction set that is being compiled.

   The operations of a module are one source, `operations.c` of its folder.  The build compiles it
   once for each instruction set, with a different VECTORS.

   A loop over vectors is written once, with the functions below.  The rest of its input, or all of
   it without vectors, goes through the definition of the operation after that loop.  A special
   algorithm for one instruction set is under `#if VECTORS == VECTORS_AVX512`.

   No flag of the build names an instruction set.  From here up to VECTOR_END, the functions of a
   source are compiled for it.  They are called only if cpu_best() allows it. */

#ifndef SIMDB_VECTOR_H
#define SIMDB_VECTOR_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "cpu.h"

#define VECTOR_INLINE static inline __attribute__((always_inline))

#if VECTORS == VECTORS_AVX2 || VECTORS == VECTORS_AVX512
#define VECTORS_X86 1
#define VECTOR_END CPU_TARGET_END
#else
#define VECTORS_X86 0
#define VECTOR_END
#endif

#if VECTORS == VECTORS_AVX2
#define VECTOR_NAME avx2
CPU_TARGET_BEGIN("avx2,bmi,bmi2,lzcnt,popcnt")
#elif VECTORS == VECTORS_AVX512
#define VECTOR_NAME avx512
CPU_TARGET_BEGIN("avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512vnni,"
                 "avx512vpopcntdq,avx512bitalg,avx2,bmi,bmi2,lzcnt,popcnt")
#elif VECTORS == VECTORS_NEON
#define VECTOR_NAME neon
#else
#define VECTOR_NAME scalar
#endif

/* The name of the instruction set as text, and the name of the table of operations for it. */
#define VECTOR_TEXT_OF(name) #name
#define VECTOR_TEXT(name) VECTOR_TEXT_OF(name)
#define VECTOR_JOINED_OF(start, name) start##_##name
#define VECTOR_JOINED(start, name) VECTOR_JOINED_OF(start, name)

#if VECTORS == VECTORS_AVX2

typedef __m256i vector;
typedef __m256d doubles;

enum { VECTOR_BYTES = 32 };

VECTOR_INLINE vector vector_load(const void *place)
{
    return _mm256_loadu_si256(place);
}

VECTOR_INLINE void vector_store(void *place, vector words)
{
    _mm256_storeu_si256(place, words);
}

/* Store the first `count` words of a vector, at most all. */
VECTOR_INLINE void vector_store_words(uint64_t *place, vector words, int64_t count)
{
    vector some = _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3));

    _mm256_maskstore_epi64((long long *)place, some, words);
}

VECTOR_INLINE vector vector_zero(void) { return _mm256_setzero_si256(); }
VECTOR_INLINE vector vector_all_32(uint32_t word) { return _mm256_set1_epi32((int)word); }
VECTOR_INLINE vector vector_all_64(uint64_t word) { return _mm256_set1_epi64x((int64_t)word); }
VECTOR_INLINE vector vector_xor(vector one, vector other) { return _mm256_xor_si256(one, other); }
VECTOR_INLINE vector vector_and(vector one, vector other) { return _mm256_and_si256(one, other); }
VECTOR_INLINE vector vector_or(vector one, vector other) { return _mm256_or_si256(one, other); }
VECTOR_INLINE vector vector_add_8(vector one, vector other) { return _mm256_add_epi8(one, other); }
VECTOR_INLINE vector vector_add_32(vector a, vector b) { return _mm256_add_epi32(a, b); }
VECTOR_INLINE vector vector_min_32(vector a, vector b) { return _mm256_min_epu32(a, b); }
VECTOR_INLINE vector vector_times_32(vector a, vector b) { return _mm256_mullo_epi32(a, b); }

/* Return the products of words, whose lower 16 bits are 0, and one factor. */
VECTOR_INLINE vector vector_times_upper(vector words, uint32_t factor)
{
    return _mm256_mullo_epi16(words, vector_all_32(factor << 16));
}

/* AVX2 multiplies 32 by 32 bits.  Only the low halves of both crossed products matter, so one
   instruction makes both. */
VECTOR_INLINE vector vector_times_64(vector words, uint64_t factor)
{
    vector crossed = _mm256_mullo_epi32(words, vector_all_64(factor << 32 | factor >> 32));
    vector high = _mm256_and_si256(crossed, vector_all_64(0xFFFFFFFF00000000u));
    vector sum = _mm256_add_epi64(_mm256_mul_epu32(words, vector_all_64(factor)), high);

    return _mm256_add_epi64(sum, _mm256_slli_epi64(crossed, 32));
}

/* Shift by any number of bits; the next function shifts by a constant. */
VECTOR_INLINE vector vector_left_32(vector words, unsigned shift)
{
    return _mm256_sll_epi32(words, _mm_cvtsi32_si128((int)shift));
}

#define vector_right_64(words, shift) _mm256_srli_epi64(words, shift)
#define vector_rotate_64(words, turn)                                                             \
    _mm256_or_si256(_mm256_slli_epi64(words, turn), _mm256_srli_epi64(words, 64 - (turn)))

/* Copy the upper half of each word into its lower half. */
VECTOR_INLINE vector vector_upper_twice(vector words) { return _mm256_shuffle_epi32(words, 0xF5); }

/* Return the lower halves of the words that fill a vector. */
VECTOR_INLINE vector vector_lower_halves(const uint64_t *words)
{
    __m256 first = _mm256_loadu_ps((const float *)words);
    __m256 second = _mm256_loadu_ps((const float *)(words + 4));

    return _mm256_permute4x64_epi64(_mm256_castps_si256(_mm256_shuffle_ps(first, second, 0x88)),
                                    0xD8);
}

VECTOR_INLINE unsigned vector_count_equal_8(vector one, vector other)
{
    return (unsigned)_mm_popcnt_u32((uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(one, other)));
}

VECTOR_INLINE unsigned vector_count_equal_32(vector one, vector other)
{
    __m256 equal = _mm256_castsi256_ps(_mm256_cmpeq_epi32(one, other));
    return (unsigned)_mm_popcnt_u32((uint32_t)_mm256_movemask_ps(equal));
}

/* Add two vectors to a plane of digits and return the carry. */
VECTOR_INLINE vector vector_carry(vector *plane, vector left, vector right)
{
    vector odd = _mm256_xor_si256(*plane, left);
    vector carried = _mm256_or_si256(_mm256_and_si256(*plane, left), _mm256_and_si256(odd, right));

    *plane = _mm256_xor_si256(odd, right);
    return carried;
}

/* Add 1 to each byte whose bit is set; there is one bit for each byte of a vector. */
VECTOR_INLINE vector vector_count_bits(vector bytes, uint64_t bits)
{
    const vector places = _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202,
                                             0x0303030303030303);
    const vector own = vector_all_64(0x8040201008040201u);
    vector copies = _mm256_shuffle_epi8(vector_all_32((uint32_t)bits), places);

    return _mm256_sub_epi8(bytes, _mm256_cmpeq_epi8(_mm256_and_si256(copies, own), own));
}

/* Add `added` to each 32-bit sum whose bit is set, the lowest bit first. */
VECTOR_INLINE vector vector_add_where_32(vector sums, uint64_t bits, vector added)
{
    const vector own = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    vector copies = vector_all_32((uint32_t)bits & 0xFF);

    return _mm256_add_epi32(
        sums, _mm256_and_si256(_mm256_cmpeq_epi32(_mm256_and_si256(copies, own), own), added));
}

VECTOR_INLINE doubles doubles_all(double number) { return _mm256_set1_pd(number); }
VECTOR_INLINE doubles doubles_add(doubles one, doubles other) { return _mm256_add_pd(one, other); }

/* Change the sign of each number whose bit is set, the lowest bit first. */
VECTOR_INLINE doubles doubles_turn(doubles numbers, uint64_t bits)
{
    vector four = _mm256_sllv_epi64(vector_all_64(bits), _mm256_setr_epi64x(63, 62, 61, 60));

    return _mm256_xor_pd(numbers, _mm256_castsi256_pd(_mm256_and_si256(
        four, vector_all_64((uint64_t)1 << 63))));
}

VECTOR_INLINE void doubles_store_floats(float *place, doubles numbers)
{
    _mm_storeu_ps(place, _mm256_cvtpd_ps(numbers));
}

#elif VECTORS == VECTORS_AVX512

typedef __m512i vector;
typedef __m512d doubles;

enum { VECTOR_BYTES = 64 };

VECTOR_INLINE vector vector_load(const void *place) { return _mm512_loadu_si512(place); }

VECTOR_INLINE void vector_store(void *place, vector words) { _mm512_storeu_si512(place, words); }

VECTOR_INLINE void vector_store_words(uint64_t *place, vector words, int64_t count)
{
    _mm512_mask_storeu_epi64(place, (__mmask8)_bzhi_u32(255, count < 8 ? (unsigned)count : 8),
                             words);
}

/* Load `size` bytes, at most a whole vector, followed by zeros. */
VECTOR_INLINE vector vector_load_some(const void *place, size_t size)
{
    return _mm512_maskz_loadu_epi8(_bzhi_u64(~(uint64_t)0, (unsigned)size), place);
}

VECTOR_INLINE vector vector_zero(void) { return _mm512_setzero_si512(); }
VECTOR_INLINE vector vector_all_32(uint32_t word) { return _mm512_set1_epi32((int)word); }
VECTOR_INLINE vector vector_all_64(uint64_t word) { return _mm512_set1_epi64((int64_t)word); }
VECTOR_INLINE vector vector_xor(vector one, vector other) { return _mm512_xor_si512(one, other); }
VECTOR_INLINE vector vector_and(vector one, vector other) { return _mm512_and_si512(one, other); }
VECTOR_INLINE vector vector_or(vector one, vector other) { return _mm512_or_si512(one, other); }
VECTOR_INLINE vector vector_add_8(vector one, vector other) { return _mm512_add_epi8(one, other); }
VECTOR_INLINE vector vector_add_32(vector a, vector b) { return _mm512_add_epi32(a, b); }
VECTOR_INLINE vector vector_min_32(vector a, vector b) { return _mm512_min_epu32(a, b); }
VECTOR_INLINE vector vector_times_32(vector a, vector b) { return _mm512_mullo_epi32(a, b); }

VECTOR_INLINE vector vector_times_upper(vector words, uint32_t factor)
{
    return _mm512_mullo_epi16(words, vector_all_32(factor << 16));
}

VECTOR_INLINE vector vector_times_64(vector words, uint64_t factor)
{
    return _mm512_mullo_epi64(words, vector_all_64(factor));
}

VECTOR_INLINE vector vector_left_32(vector words, unsigned shift)
{
    return _mm512_sll_epi32(words, _mm_cvtsi32_si128((int)shift));
}

#define vector_right_64(words, shift) _mm512_srli_epi64(words, shift)
#define vector_rotate_64(words, turn) _mm512_rol_epi64(words, turn)

VECTOR_INLINE vector vector_upper_twice(vector words)
{
    return _mm512_shuffle_epi32(words, (_MM_PERM_ENUM)0xF5);
}

VECTOR_INLINE vector vector_lower_halves(const uint64_t *words)
{
    __m256i first = _mm512_cvtepi64_epi32(vector_load(words));
    return _mm512_inserti64x4(_mm512_castsi256_si512(first),
                              _mm512_cvtepi64_epi32(vector_load(words + 8)), 1);
}

VECTOR_INLINE unsigned vector_count_equal_8(vector one, vector other)
{
    return (unsigned)_mm_popcnt_u64(_mm512_cmpeq_epi8_mask(one, other));
}

VECTOR_INLINE unsigned vector_count_equal_32(vector one, vector other)
{
    return (unsigned)_mm_popcnt_u32(_mm512_cmpeq_epi32_mask(one, other));
}

VECTOR_INLINE vector vector_carry(vector *plane, vector left, vector right)
{
    vector carried = _mm512_ternarylogic_epi64(*plane, left, right, 0xE8);

    *plane = _mm512_ternarylogic_epi64(*plane, left, right, 0x96);
    return carried;
}

VECTOR_INLINE vector vector_count_bits(vector bytes, uint64_t bits)
{
    return _mm512_mask_add_epi8(bytes, bits, bytes, _mm512_set1_epi8(1));
}

VECTOR_INLINE vector vector_add_where_32(vector sums, uint64_t bits, vector added)
{
    return _mm512_mask_add_epi32(sums, (__mmask16)bits, sums, added);
}

VECTOR_INLINE doubles doubles_all(double number) { return _mm512_set1_pd(number); }
VECTOR_INLINE doubles doubles_add(doubles one, doubles other) { return _mm512_add_pd(one, other); }

VECTOR_INLINE doubles doubles_turn(doubles numbers, uint64_t bits)
{
    return _mm512_mask_xor_pd(numbers, (__mmask8)bits, numbers, _mm512_set1_pd(-0.0));
}

VECTOR_INLINE void doubles_store_floats(float *place, doubles numbers)
{
    _mm256_storeu_ps(place, _mm512_cvtpd_ps(numbers));
}

#elif VECTORS == VECTORS_NEON

/* NEON has no products of 64 bits, so hashes and double precision use the definitions. */
typedef uint64x2_t vector;

enum { VECTOR_BYTES = 16 };

#define VECTOR_8(words) vreinterpretq_u8_u64(words)
#define VECTOR_32(words) vreinterpretq_u32_u64(words)
#define VECTOR_OF_8(words) vreinterpretq_u64_u8(words)
#define VECTOR_OF_32(words) vreinterpretq_u64_u32(words)

VECTOR_INLINE vector vector_load(const void *place) { return VECTOR_OF_8(vld1q_u8(place)); }

VECTOR_INLINE void vector_store(void *place, vector words) { vst1q_u8(place, VECTOR_8(words)); }

VECTOR_INLINE vector vector_zero(void) { return vdupq_n_u64(0); }
VECTOR_INLINE vector vector_all_32(uint32_t word) { return VECTOR_OF_32(vdupq_n_u32(word)); }
VECTOR_INLINE vector vector_all_64(uint64_t word) { return vdupq_n_u64(word); }

VECTOR_INLINE vector vector_add_8(vector one, vector other)
{
    return VECTOR_OF_8(vaddq_u8(VECTOR_8(one), VECTOR_8(other)));
}

VECTOR_INLINE vector vector_add_32(vector one, vector other)
{
    return VECTOR_OF_32(vaddq_u32(VECTOR_32(one), VECTOR_32(other)));
}

VECTOR_INLINE vector vector_min_32(vector one, vector other)
{
    return VECTOR_OF_32(vminq_u32(VECTOR_32(one), VECTOR_32(other)));
}

VECTOR_INLINE vector vector_times_32(vector one, vector other)
{
    return VECTOR_OF_32(vmulq_u32(VECTOR_32(one), VECTOR_32(other)));
}

VECTOR_INLINE vector vector_times_upper(vector words, uint32_t factor)
{
    return VECTOR_OF_32(vmulq_n_u32(VECTOR_32(words), factor));
}

VECTOR_INLINE vector vector_lower_halves(const uint64_t *words)
{
    return VECTOR_OF_32(vmovn_high_u64(vmovn_u64(vld1q_u64(words)), vld1q_u64(words + 2)));
}

VECTOR_INLINE unsigned vector_count_equal_8(vector one, vector other)
{
    return vaddvq_u8(vshrq_n_u8(vceqq_u8(VECTOR_8(one), VECTOR_8(other)), 7));
}

VECTOR_INLINE unsigned vector_count_equal_32(vector one, vector other)
{
    return vaddvq_u32(vshrq_n_u32(vceqq_u32(VECTOR_32(one), VECTOR_32(other)), 31));
}

VECTOR_INLINE vector vector_carry(vector *plane, vector left, vector right)
{
    vector odd = veorq_u64(left, right), before = *plane;

    *plane = veorq_u64(odd, before);
    return vbslq_u64(odd, before, left);
}

VECTOR_INLINE vector vector_count_bits(vector bytes, uint64_t bits)
{
    const uint8x16_t places = vcombine_u8(vdup_n_u8(0), vdup_n_u8(1));
    uint8x16_t copies = vqtbl1q_u8(VECTOR_8(vdupq_n_u64(bits)), places);

    return VECTOR_OF_8(vsubq_u8(VECTOR_8(bytes),
                                vtstq_u8(copies, VECTOR_8(vdupq_n_u64(0x8040201008040201u)))));
}

VECTOR_INLINE vector vector_add_where_32(vector sums, uint64_t bits, vector added)
{
    static const uint32_t own[4] = {1, 2, 4, 8};
    uint32x4_t is_set = vtstq_u32(vdupq_n_u32((uint32_t)bits), vld1q_u32(own));

    return VECTOR_OF_32(vaddq_u32(VECTOR_32(sums), vandq_u32(is_set, VECTOR_32(added))));
}

#endif

#if VECTORS
enum {
    VECTOR_WORDS = VECTOR_BYTES / 8,
    VECTOR_INTS = VECTOR_BYTES / 4 /* words of 32 bits */
};
#endif

#endif
