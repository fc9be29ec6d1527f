/* `counts`, `units` and `weigh`: sums over the bits of many hashes.

   `counts` adds with carry-save adders: a positional population count (after Harley & Seal).  Bit
   planes hold the lowest four digits of a counter for each bit of a vector.  A vector carried out
   of the planes has a bit for each byte counter that is increased. */

#ifndef SIMDB_SUMS_H
#define SIMDB_SUMS_H

#include "mix.h"
#include "vector.h"
#include "weights.h"

#if VECTORS

enum {
    COUNTS_BLOCK = 16 * VECTOR_WORDS,
    COUNTS_BLOCKS = 255 / VECTOR_WORDS, /* each carries at most VECTOR_WORDS into a byte */
    /* Words are added one by one if there are fewer than COUNTS_FEW after a block, or fewer than
       COUNTS_ALONE without a block. */
    COUNTS_FEW = VECTORS == VECTORS_NEON ? 10 : VECTORS == VECTORS_AVX2 ? 14 : COUNTS_BLOCK,
    COUNTS_ALONE = VECTORS == VECTORS_NEON ? 26 : VECTORS == VECTORS_AVX2 ? 44 : COUNTS_BLOCK,
    COUNTS_PARTS = 64 / VECTOR_BYTES
};

/* The digits of the count of each bit of a vector. */
struct count_planes {
    vector one, two, four, eight;
};

/* Counters of the 64 bits of a word, one byte each. */
struct count_bytes {
    vector parts[COUNTS_PARTS];
};

VECTOR_INLINE vector carry_2(struct count_planes *planes, const uint64_t *words)
{
    return vector_carry(&planes->one, vector_load(words), vector_load(words + VECTOR_WORDS));
}

VECTOR_INLINE vector carry_4(struct count_planes *planes, const uint64_t *words)
{
    vector left = carry_2(planes, words);
    return vector_carry(&planes->two, left, carry_2(planes, words + 2 * VECTOR_WORDS));
}

VECTOR_INLINE vector carry_8(struct count_planes *planes, const uint64_t *words)
{
    vector left = carry_4(planes, words);
    return vector_carry(&planes->four, left, carry_4(planes, words + 4 * VECTOR_WORDS));
}

VECTOR_INLINE vector carry_16(struct count_planes *planes, const uint64_t *words)
{
    vector left = carry_8(planes, words);
    return vector_carry(&planes->eight, left, carry_8(planes, words + 8 * VECTOR_WORDS));
}

/* Add 1 to the byte of each bit that is set, for each of `count` words. */
VECTOR_INLINE void add_words(struct count_bytes *bytes, const uint64_t *words, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        for (int j = 0; j < COUNTS_PARTS; j++)
            bytes->parts[j] = vector_count_bits(bytes->parts[j], words[i] >> j * VECTOR_BYTES);
}

VECTOR_INLINE void add_vector(struct count_bytes *bytes, vector words)
{
    uint64_t each[VECTOR_WORDS];

    vector_store(each, words);
    add_words(bytes, each, VECTOR_WORDS);
}

/* Double the bytes, then add 1 for each bit of a plane; planes come from the highest digit down. */
VECTOR_INLINE void add_plane(struct count_bytes *bytes, vector plane)
{
    for (int j = 0; j < COUNTS_PARTS; j++)
        bytes->parts[j] = vector_add_8(bytes->parts[j], bytes->parts[j]);
    add_vector(bytes, plane);
}

/* Add bytes[j] << shift to ones[j], then set the bytes to 0. */
VECTOR_INLINE void add_bytes(struct count_bytes *bytes, const int shift, uint32_t *ones)
{
    uint8_t counts[64];

    for (int j = 0; j < COUNTS_PARTS; j++) {
        vector_store(counts + j * VECTOR_BYTES, bytes->parts[j]);
        bytes->parts[j] = vector_zero();
    }
#if VECTORS == VECTORS_AVX512
    for (int j = 0; j < 64; j += VECTOR_INTS) {
        vector some = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(counts + j)));
        vector_store(ones + j, vector_add_32(vector_load(ones + j),
                                             _mm512_slli_epi32(some, (unsigned)shift)));
    }
#else
    for (int j = 0; j < 64; j++)
        ones[j] += (uint32_t)counts[j] << shift;
#endif
}

static void counts_word(const uint64_t *words, int64_t count, uint32_t *ones)
{
    const vector zero = vector_zero();
    struct count_bytes bytes;
    uint64_t block[COUNTS_BLOCK];

    for (int j = 0; j < COUNTS_PARTS; j++)
        bytes.parts[j] = zero;
    while (count >= COUNTS_ALONE) {
        struct count_planes planes = {zero, zero, zero, zero};

        for (int i = 0; i < COUNTS_BLOCKS && count >= COUNTS_FEW; i++) {
            const uint64_t *next = words;
            if (COUNTS_FEW < COUNTS_BLOCK && count < COUNTS_BLOCK) {
                memset(block, 0, sizeof block);
                next = memcpy(block, words, (size_t)count * sizeof *words);
            }
            add_vector(&bytes, carry_16(&planes, next));
            words += COUNTS_BLOCK;
            count -= COUNTS_BLOCK;
        }
        add_bytes(&bytes, 4, ones);
        add_plane(&bytes, planes.eight);
        add_plane(&bytes, planes.four);
        add_plane(&bytes, planes.two);
        add_plane(&bytes, planes.one);
        add_bytes(&bytes, 0, ones);
    }
    if (count > 0) {
        add_words(&bytes, words, count);
        add_bytes(&bytes, 0, ones);
    }
}

static void counts(const uint64_t *first, const uint64_t *second, int64_t count, uint32_t *ones)
{
    counts_word(first, count, ones);
    counts_word(second, count, ones + 64);
}

#else

static void counts(const uint64_t *first, const uint64_t *second, int64_t count, uint32_t *ones)
{
    for (int64_t i = 0; i < count; i++)
        for (int j = 0; j < 64; j++) {
            ones[j] += first[i] >> j & 1;
            ones[64 + j] += second[i] >> j & 1;
        }
}

#endif

#if VECTORS

/* Add the weights of at most UNITS_BATCH words; all 64 sums stay in registers. */
static void units_batch(const uint64_t *words, const uint32_t *units, int64_t count,
                        uint64_t *sums)
{
    vector some[64 / VECTOR_INTS];
    uint32_t each[64];

    for (int j = 0; j < 64 / VECTOR_INTS; j++)
        some[j] = vector_zero();
    for (int64_t i = 0; i < count; i++) {
        vector weight = vector_all_32(units[i]);
        for (int j = 0; j < 64 / VECTOR_INTS; j++)
            some[j] = vector_add_where_32(some[j], words[i] >> j * VECTOR_INTS, weight);
    }
    for (int j = 0; j < 64 / VECTOR_INTS; j++)
        vector_store(each + j * VECTOR_INTS, some[j]);
    for (int j = 0; j < 64; j++)
        sums[j] += each[j];
}

static void units(const uint64_t *first, const uint64_t *second, const uint32_t *weights,
                  int64_t count, uint64_t *sums)
{
    for (int64_t i = 0; i < count; i += UNITS_BATCH) {
        int64_t batch = count - i < UNITS_BATCH ? count - i : UNITS_BATCH;
        units_batch(first + i, weights + i, batch, sums);
        units_batch(second + i, weights + i, batch, sums + 64);
    }
}

#else

static void units(const uint64_t *first, const uint64_t *second, const uint32_t *weights,
                  int64_t count, uint64_t *sums)
{
    for (int64_t i = 0; i < count; i++)
        for (int j = 0; j < 64; j++) {
            sums[j] += (uint64_t)weights[i] & (0 - (first[i] >> j & 1));
            sums[64 + j] += (uint64_t)weights[i] & (0 - (second[i] >> j & 1));
        }
}

#endif

/* Return word number `word` of a feature. */
static inline uint64_t word_of(uint64_t hash, int word)
{
    return word > 0 ? mix_final(hash ^ (uint64_t)word * MIX_SECOND_WORD) : hash;
}

#if VECTORS_X86

/* Eight vectors of sums stay in registers at a time; a bit of the hash gives the sign. */
static void weigh_word(const uint64_t *hashes, const float *weights, int64_t count, int word,
                       float *projected)
{
    for (int shift = 0; shift < 64; shift += 8 * VECTOR_WORDS) {
        doubles sums[8];

        for (int j = 0; j < 8; j++)
            sums[j] = doubles_all(0);
        for (int64_t i = 0; i < count; i++) {
            doubles minus = doubles_all(weights ? -(double)weights[i] : -1.0);
            uint64_t bits = word_of(hashes[i], word) >> shift;
            for (int j = 0; j < 8; j++)
                sums[j] = doubles_add(sums[j], doubles_turn(minus, bits >> j * VECTOR_WORDS));
        }
        for (int j = 0; j < 8; j++)
            doubles_store_floats(projected + shift + j * VECTOR_WORDS, sums[j]);
    }
}

static void weigh(const uint64_t *hashes, const float *weights, int64_t count, int words,
                  float *projected)
{
    for (int word = 0; word < words; word++)
        weigh_word(hashes, weights, count, word, projected + 64 * word);
}

#else

static void weigh(const uint64_t *hashes, const float *weights, int64_t count, int words,
                  float *projected)
{
    for (int word = 0; word < words; word++, projected += 64) {
        double sums[64] = {0};
        for (int64_t i = 0; i < count; i++) {
            double weight = weights ? weights[i] : 1.0;
            uint64_t bits = word_of(hashes[i], word);
            for (int j = 0; j < 64; j++)
                sums[j] += bits >> j & 1 ? weight : -weight;
        }
        for (int j = 0; j < 64; j++)
            projected[j] = (float)sums[j];
    }
}

#endif

#endif
