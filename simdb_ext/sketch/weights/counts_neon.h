/* `counts`, 32 words at a time with carry-save adders, as in counts_avx2.h. */

#ifndef SIMDB_COUNTS_NEON_H
#define SIMDB_COUNTS_NEON_H

#include "cpu.h"

#if CPU_NEON

#include <string.h>

#define COUNTS_BLOCK_NEON 32   /* words: 16 vectors of 2 */
#define COUNTS_FEW_NEON 10     /* fewer words than this behind a block are added one by one, */
#define COUNTS_ALONE_NEON 26   /* and fewer than this without a block */
#define COUNTS_BLOCKS_NEON 127 /* each carries at most 2 into a byte, which holds 255 */

/* The digits of the count of each bit of two words. */
struct planes_neon {
    uint64x2_t one, two, four, eight;
};

/* Counters of the 64 bits of a word, one byte each. */
struct bytes_neon {
    uint8x16_t parts[4];
};

/* Add two vectors to a plane and return the carry. */
static inline uint64x2_t carry_neon(uint64x2_t *plane, uint64x2_t left, uint64x2_t right)
{
    uint64x2_t odd = veorq_u64(left, right), before = *plane;

    *plane = veorq_u64(odd, before);
    return vbslq_u64(odd, before, left);
}

static inline uint64x2_t carry_2_neon(struct planes_neon *planes, const uint64_t *words)
{
    return carry_neon(&planes->one, vld1q_u64(words), vld1q_u64(words + 2));
}

static inline uint64x2_t carry_4_neon(struct planes_neon *planes, const uint64_t *words)
{
    uint64x2_t left = carry_2_neon(planes, words);
    return carry_neon(&planes->two, left, carry_2_neon(planes, words + 4));
}

static inline uint64x2_t carry_8_neon(struct planes_neon *planes, const uint64_t *words)
{
    uint64x2_t left = carry_4_neon(planes, words);
    return carry_neon(&planes->four, left, carry_4_neon(planes, words + 8));
}

static inline uint64x2_t carry_16_neon(struct planes_neon *planes, const uint64_t *words)
{
    uint64x2_t left = carry_8_neon(planes, words);
    return carry_neon(&planes->eight, left, carry_8_neon(planes, words + 16));
}

/* Add 1 to the byte of each bit that is set in a word: its byte is copied to the eight counters of
   its bits. */
static inline void add_word_neon(struct bytes_neon *bytes, uint64_t word)
{
    const uint8x16_t bits = vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201u));
    const uint8x16_t two = vreinterpretq_u8_u64(vdupq_n_u64(0x0202020202020202u));
    const uint8x16_t content = vreinterpretq_u8_u64(vdupq_n_u64(word));
    uint8x16_t order = vcombine_u8(vdup_n_u8(0), vdup_n_u8(1));

    for (int i = 0; i < 4; i++, order = vaddq_u8(order, two))
        bytes->parts[i] = vsubq_u8(bytes->parts[i], vtstq_u8(vqtbl1q_u8(content, order), bits));
}

static inline void add_both_neon(struct bytes_neon *bytes, uint64x2_t words)
{
    add_word_neon(bytes, vgetq_lane_u64(words, 0));
    add_word_neon(bytes, vgetq_lane_u64(words, 1));
}

/* Double the bytes, then add 1 for each bit of a plane: the planes come from the highest digit
   down. */
static inline void add_plane_neon(struct bytes_neon *bytes, uint64x2_t plane)
{
    for (int i = 0; i < 4; i++)
        bytes->parts[i] = vaddq_u8(bytes->parts[i], bytes->parts[i]);
    add_both_neon(bytes, plane);
}

/* ones[j] += bytes[j] << shift; then set the bytes to 0. */
static inline __attribute__((always_inline)) void add_bytes_neon(struct bytes_neon *bytes,
                                                                 const int shift, uint32_t *ones)
{
    for (int i = 0; i < 4; i++) {
        uint16x8_t halves[2] = {
            vshlq_u16(vmovl_u8(vget_low_u8(bytes->parts[i])), vdupq_n_s16((int16_t)shift)),
            vshlq_u16(vmovl_high_u8(bytes->parts[i]), vdupq_n_s16((int16_t)shift)),
        };
        for (int j = 0; j < 2; j++, ones += 8) {
            vst1q_u32(ones, vaddw_u16(vld1q_u32(ones), vget_low_u16(halves[j])));
            vst1q_u32(ones + 4, vaddw_high_u16(vld1q_u32(ones + 4), halves[j]));
        }
        bytes->parts[i] = vdupq_n_u8(0);
    }
}

static void counts_word_neon(const uint64_t *words, int64_t count, uint32_t *ones)
{
    const uint64x2_t zero = vdupq_n_u64(0);
    struct bytes_neon bytes = {{vdupq_n_u8(0), vdupq_n_u8(0), vdupq_n_u8(0), vdupq_n_u8(0)}};
    uint64_t block[COUNTS_BLOCK_NEON];

    while (count >= COUNTS_ALONE_NEON) {
        struct planes_neon planes = {zero, zero, zero, zero};

        for (int i = 0; i < COUNTS_BLOCKS_NEON && count >= COUNTS_FEW_NEON; i++) {
            const uint64_t *next = words;
            if (count < COUNTS_BLOCK_NEON) {
                memset(block, 0, sizeof block);
                next = memcpy(block, words, (size_t)count * sizeof *words);
            }
            add_both_neon(&bytes, carry_16_neon(&planes, next));
            words += COUNTS_BLOCK_NEON;
            count -= COUNTS_BLOCK_NEON;
        }
        add_bytes_neon(&bytes, 4, ones);
        add_plane_neon(&bytes, planes.eight);
        add_plane_neon(&bytes, planes.four);
        add_plane_neon(&bytes, planes.two);
        add_plane_neon(&bytes, planes.one);
        add_bytes_neon(&bytes, 0, ones);
    }
    /* Up to this many words do not overflow a byte. */
    for (int64_t i = 0; i < count; i++)
        add_word_neon(&bytes, words[i]);
    if (count > 0)
        add_bytes_neon(&bytes, 0, ones);
}

static void counts_neon(const uint64_t *first, const uint64_t *second, int64_t count,
                        uint32_t *ones)
{
    counts_word_neon(first, count, ones);
    counts_word_neon(second, count, ones + 64);
}

#endif

#endif
