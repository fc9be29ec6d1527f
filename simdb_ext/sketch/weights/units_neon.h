/* `units`: 32 sums at a time in eight registers; a bit of the hash masks a lane. */

#ifndef SIMDB_UNITS_NEON_H
#define SIMDB_UNITS_NEON_H

#include "cpu.h"
#include "units.h"

#if CPU_NEON

/* Add the weights of at most UNITS_BATCH words to the sums of bits shift .. shift + 31. */
static inline __attribute__((always_inline)) void
units_half_neon(const uint64_t *words, const uint32_t *units, int64_t count, const int shift,
                uint64_t *sums)
{
    static const uint32_t lowest[4] = {1, 2, 4, 8};
    uint32x4_t bits[8], some[8];

    bits[0] = vld1q_u32(lowest);
    for (int j = 1; j < 8; j++)
        bits[j] = vshlq_n_u32(bits[j - 1], 4);
    for (int j = 0; j < 8; j++)
        some[j] = vdupq_n_u32(0);
    for (int64_t i = 0; i < count; i++) {
        const uint32x4_t weight = vdupq_n_u32(units[i]);
        const uint32x4_t word = vdupq_n_u32((uint32_t)(words[i] >> shift));
        for (int j = 0; j < 8; j++)
            some[j] = vaddq_u32(some[j], vandq_u32(vtstq_u32(word, bits[j]), weight));
    }
    for (int j = 0; j < 8; j++, sums += 4) {
        vst1q_u64(sums, vaddw_u32(vld1q_u64(sums), vget_low_u32(some[j])));
        vst1q_u64(sums + 2, vaddw_high_u32(vld1q_u64(sums + 2), some[j]));
    }
}

static void units_neon(const uint64_t *first, const uint64_t *second, const uint32_t *units,
                       int64_t count, uint64_t *sums)
{
    for (int64_t i = 0; i < count; i += UNITS_BATCH) {
        int64_t batch = count - i < UNITS_BATCH ? count - i : UNITS_BATCH;
        units_half_neon(first + i, units + i, batch, 0, sums);
        units_half_neon(first + i, units + i, batch, 32, sums + 32);
        units_half_neon(second + i, units + i, batch, 0, sums + 64);
        units_half_neon(second + i, units + i, batch, 32, sums + 96);
    }
}

#endif

#endif
