/* `differ_pairs` and `near_hashes`: the number of bits in which hashes differ.

   64-bit processors with vectors also count the bits of a word in one instruction.  With it, the
   scalar definition is as fast as AVX2. */
#ifndef SIMDB_SEARCH_DIFFER_H
#define SIMDB_SEARCH_DIFFER_H

#include "kernel.h"
#include "vector.h"

/* Return the number of bits in which two hashes of `width` bytes, a multiple of 4, differ. */
VECTOR_INLINE uint32_t bits_between(const uint8_t *left, const uint8_t *right, size_t width)
{
    uint32_t distance = 0;
    size_t i = 0;

#if VECTORS == VECTORS_NEON
    uint16x8_t sums = vdupq_n_u16(0);
    for (; i + 16 <= width; i += 16)
        sums = vpadalq_u8(sums, vcntq_u8(veorq_u8(vld1q_u8(left + i), vld1q_u8(right + i))));
    distance = vaddvq_u16(sums);
#endif
    for (; i + 8 <= width; i += 8) {
        uint64_t one, other;
        memcpy(&one, left + i, sizeof one);
        memcpy(&other, right + i, sizeof other);
        distance += (uint32_t)__builtin_popcountll(one ^ other);
    }
    if (i < width) {
        uint32_t one, other;
        memcpy(&one, left + i, sizeof one);
        memcpy(&other, right + i, sizeof other);
        distance += (uint32_t)__builtin_popcount(one ^ other);
    }
    return distance;
}

VECTOR_INLINE void differ_pairs_of(const uint8_t *const *lefts, const uint8_t *const *rights,
                                   size_t count, size_t width, uint16_t *distances)
{
    for (size_t i = 0; i < count; i++)
        distances[i] = (uint16_t)bits_between(lefts[i], rights[i], width);
}

/* A separate copy of each loop is compiled for each usual width. */
#define FOR_WIDTH(width, call)                                                                    \
    do {                                                                                          \
        if ((width) == 8)                                                                         \
            call(8);                                                                              \
        else if ((width) == 16)                                                                   \
            call(16);                                                                             \
        else if ((width) == 32)                                                                   \
            call(32);                                                                             \
        else if ((width) == 64)                                                                   \
            call(64);                                                                             \
        else                                                                                      \
            call(width);                                                                          \
    } while (0)

static void differ_pairs(const uint8_t *const *lefts, const uint8_t *const *rights, size_t count,
                         size_t width, uint16_t *distances)
{
#define CALL(width) differ_pairs_of(lefts, rights, count, width, distances)
    FOR_WIDTH(width, CALL);
#undef CALL
}

/* Compare the hashes, starting at `start`.  If `some` is below `width`, the first `some` bytes are
   compared first: few random hashes are near in them. */
VECTOR_INLINE size_t near_hashes_from(const uint8_t *query, const uint8_t *hashes, size_t start,
                                      size_t count, size_t width, size_t some, uint32_t most,
                                      uint32_t *near)
{
    uint8_t own[64]; /* a copy that stays in registers */
    size_t found = 0;

    memcpy(own, query, width);
    for (size_t i = start; i < count; i++) {
        const uint8_t *hash = hashes + i * width;
        uint32_t distance = bits_between(own, hash, some);

        if (some < width) {
            if (distance > most)
                continue;
            distance += bits_between(own + some, hash + some, width - some);
        }
        /* Always write, but count only a near hash: this leaves no branch to mispredict. */
        near[found] = distance << 16 | (uint32_t)i;
        found += distance <= most;
    }
    return found;
}

#if VECTORS == VECTORS_AVX512

/* Compare whole groups of hashes whose width divides a register; set `start` to where they end.  A
   word of `sums` has four sums, each for one hash of one register. */
VECTOR_INLINE size_t near_groups(const uint8_t *query, const uint8_t *hashes, size_t *start,
                                 size_t count, size_t width, uint32_t most, uint32_t *near)
{
    const __m512i limit = _mm512_set1_epi16((short)(most < 512 ? most : 512));
    const size_t each = 64 / width, group = 4 * each;
    uint8_t own[64];
    uint16_t distances[32];
    size_t found = 0;

    for (size_t i = 0; i < 64; i += width)
        memcpy(own + i, query, width);
    for (; *start + group <= count; *start += group) {
        __m512i sums = _mm512_setzero_si512();

        for (unsigned r = 0; r < 4; r++) {
            __m512i words = _mm512_loadu_si512(hashes + (*start + r * each) * width);
            words = _mm512_popcnt_epi64(_mm512_xor_si512(words, _mm512_loadu_si512(own)));
            sums = _mm512_or_si512(sums, _mm512_slli_epi64(words, 16 * r));
        }
        if (width > 8)
            sums = _mm512_add_epi16(sums, _mm512_permutex_epi64(sums, 0xB1));
        if (width > 16)
            sums = _mm512_add_epi16(sums, _mm512_permutex_epi64(sums, 0x4E));
        if (width > 32)
            sums = _mm512_add_epi16(sums, _mm512_shuffle_i64x2(sums, sums, 0x4E));
        if (_mm512_cmple_epu16_mask(sums, limit) == 0)
            continue;
        _mm512_storeu_si512(distances, sums);
        for (size_t k = 0; k < group; k++) {
            uint32_t distance = distances[k % each * (32 / each) + k / each];
            near[found] = distance << 16 | (uint32_t)(*start + k);
            found += distance <= most;
        }
    }
    return found;
}

#endif

VECTOR_INLINE size_t near_hashes_of(const uint8_t *query, const uint8_t *hashes, size_t count,
                                    size_t width, uint32_t most, uint32_t *near)
{
    size_t start = 0, found = 0;

#if VECTORS == VECTORS_AVX512
    if (64 % width == 0 && width % 8 == 0)
        found = near_groups(query, hashes, &start, count, width, most, near);
#endif
    /* If at most an eighth of all bits may differ, half of the bytes rule out most hashes. */
    if (width >= 16 && most < width)
        return found + near_hashes_from(query, hashes, start, count, width, width / 16 * 8, most,
                                        near + found);
    return found + near_hashes_from(query, hashes, start, count, width, width, most, near + found);
}

static size_t near_hashes(const uint8_t *query, const uint8_t *hashes, size_t count, size_t width,
                          uint32_t most, uint32_t *near)
{
#define CALL(width) return near_hashes_of(query, hashes, count, width, most, near)
    FOR_WIDTH(width, CALL);
#undef CALL
}

#endif
