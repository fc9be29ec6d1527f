/* All operations, compiled for the instruction set that VECTORS names.

   `permute`, `descent`, `entry_sum` and `deal` are loops that the compiler turns into vectors;
   `keep` has code of its own for AVX-512. */

#include "cpu.h"

#if CPU_HAS_VECTORS

#include "deal.h"
#include "variants.h"
#include "vector.h"

#define PERMUTE_BLOCK 64 /* words; they and their results fit the first-level cache */

VECTOR_INLINE void permute_block(const uint64_t *words, const struct arrange_rotations *rotations,
                                 uint64_t *out)
{
    uint64_t moved[PERMUTE_BLOCK] = {0};

    for (int move = 0; move < rotations->count; move++) {
        unsigned turn = (unsigned)rotations->turns[move];
        unsigned back = -turn & 63;
        uint64_t targets = rotations->targets[move];

        for (int i = 0; i < PERMUTE_BLOCK; i++)
            moved[i] |= (words[i] << turn | words[i] >> back) & targets;
    }
    memcpy(out, moved, sizeof moved);
}

static void permute(const uint64_t *words, int64_t count,
                    const struct arrange_rotations *rotations, uint64_t *out)
{
    int64_t i = 0;

    for (; i + PERMUTE_BLOCK <= count; i += PERMUTE_BLOCK)
        permute_block(words + i, rotations, out + i);
    if (i < count) {
        uint64_t rest[PERMUTE_BLOCK] = {0};
        size_t size = (size_t)(count - i) * sizeof *rest;

        memcpy(rest, words + i, size);
        permute_block(rest, rotations, rest);
        memcpy(out + i, rest, size);
    }
}

#define DESCENT_BLOCK 256 /* keys; the loop over them has no exit, so that it can be vectorised */

static int64_t descent(const uint64_t *keys, int64_t count)
{
    int64_t i = 1;

    for (; i + DESCENT_BLOCK <= count; i += DESCENT_BLOCK) {
        uint64_t descents = 0;

        for (int j = 0; j < DESCENT_BLOCK; j++)
            descents |= keys[i + j] < keys[i + j - 1];
        if (descents)
            break;
    }
    for (; i < count; i++)
        if (keys[i] < keys[i - 1])
            return i;
    return -1;
}

static uint64_t entry_sum(const uint64_t *keys, const uint32_t *ordinals, int64_t count)
{
    uint64_t sum = 0;

    for (int64_t i = 0; i < count; i++) {
        uint32_t low = (uint32_t)keys[i] + ordinals[i] * ENTRY_SUM_LOW;
        uint32_t high = (uint32_t)(keys[i] >> 32) + ordinals[i] * ENTRY_SUM_HIGH;

        sum += keys[i] + (uint64_t)low * high;
    }
    return sum;
}

/* The definition of `keep`. */
static int64_t keep_each(const uint64_t *keys, const uint32_t *ordinals, int64_t count,
                         const uint8_t *dead, int64_t dead_size, uint64_t *keys_out,
                         uint32_t *ordinals_out)
{
    int64_t kept = 0;

    for (int64_t i = 0; i < count; i++) {
        uint32_t ordinal = ordinals[i];

        if (ordinal >> 3 >= dead_size)
            return -1;
        /* Always write, but count only living documents: this leaves no branch to mispredict. */
        keys_out[kept] = keys[i];
        ordinals_out[kept] = ordinal;
        kept += ~dead[ordinal >> 3] >> (ordinal & 7) & 1;
    }
    return kept;
}

#if VECTORS == VECTORS_AVX512

#define KEEP_LANES 16
#define KEEP_BYTES_MAX ((int64_t)1 << 29) /* bytes of `dead` that cover all ordinals */

/* Return a mask of the lanes of 16 ordinals whose bit in `dead` is clear; each has a bit.  The
   gather reads four bytes at once.  For the last three bytes of `dead` it therefore begins earlier
   and shifts further. */
static inline __mmask16 keep_living(__m512i ordinals, const uint8_t *dead,
                                    int64_t dead_size)
{
    __m512i bytes = _mm512_min_epu32(_mm512_srli_epi32(ordinals, 3),
                                     _mm512_set1_epi32((int)(dead_size - 4)));
    __m512i words = _mm512_i32gather_epi32(bytes, dead, 1);
    __m512i shifts = _mm512_sub_epi32(ordinals, _mm512_slli_epi32(bytes, 3));

    return _mm512_testn_epi32_mask(_mm512_srlv_epi32(words, shifts), _mm512_set1_epi32(1));
}

static int64_t keep(const uint64_t *keys, const uint32_t *ordinals,
                    int64_t count, const uint8_t *dead, int64_t dead_size,
                    uint64_t *keys_out, uint32_t *ordinals_out)
{
    int64_t kept = 0, i = 0;

    if (dead_size > KEEP_BYTES_MAX)
        dead_size = KEEP_BYTES_MAX;
    if (dead_size < 4)
        return keep_each(keys, ordinals, count, dead, dead_size, keys_out, ordinals_out);
    /* Whole registers are stored, but never beyond the entries that have been read. */
    for (; i + KEEP_LANES <= count; i += KEEP_LANES) {
        __m512i low = _mm512_loadu_si512(keys + i);
        __m512i high = _mm512_loadu_si512(keys + i + 8);
        __m512i names = _mm512_loadu_si512(ordinals + i);

        if (_mm512_cmpge_epu32_mask(_mm512_srli_epi32(names, 3),
                                    _mm512_set1_epi32((int)dead_size)))
            return -1;
        __mmask16 living = keep_living(names, dead, dead_size);
        int low_count = __builtin_popcount(living & 0xFF);

        _mm512_storeu_si512(keys_out + kept, _mm512_maskz_compress_epi64((__mmask8)living, low));
        _mm512_storeu_si512(keys_out + kept + low_count,
                            _mm512_maskz_compress_epi64((__mmask8)(living >> 8), high));
        _mm512_storeu_si512(ordinals_out + kept, _mm512_maskz_compress_epi32(living, names));
        kept += __builtin_popcount(living);
    }
    int64_t rest = keep_each(keys + i, ordinals + i, count - i, dead, dead_size,
                        keys_out + kept, ordinals_out + kept);
    return rest < 0 ? -1 : kept + rest;
}

#else

static int64_t keep(const uint64_t *keys, const uint32_t *ordinals, int64_t count,
                    const uint8_t *dead, int64_t dead_size, uint64_t *keys_out,
                    uint32_t *ordinals_out)
{
    return keep_each(keys, ordinals, count, dead, dead_size, keys_out, ordinals_out);
}

#endif

const struct arrange_operations VECTOR_JOINED(arrange_operations, VECTOR_NAME) = {
    VECTOR_TEXT(VECTOR_NAME), permute, keep, descent, entry_sum, deal,
};

VECTOR_END

CPU_CHOICE(arrange_operations, arrange_variant)

#endif
