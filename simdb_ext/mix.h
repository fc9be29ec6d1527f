/* The arithmetic of MurmurHash3_x64_128, shared by all code that hashes. */

#ifndef SIMDB_MIX_H
#define SIMDB_MIX_H

#include <stdint.h>
#include <string.h>

#define MIX_FIRST 0x87C37B91114253D5u
#define MIX_SECOND 0x4CF5AD432745937Fu
#define MIX_FINAL_FIRST 0xFF51AFD7ED558CCDu
#define MIX_FINAL_SECOND 0xC4CEB9FE1A85EC53u
#define MIX_ADDED_FIRST 0x52DCE729u
#define MIX_ADDED_SECOND 0x38495AB5u

/* Each token of a shingle is rotated by a different multiple of this, so that their order matters;
   23 is coprime to 64. */
#define MIX_ROTATION 23

/* The second word of a feature that is given as one word is made from that word and this
   constant. */
#define MIX_SECOND_WORD 0x9E3779B97F4A7C15u

/* Word k of a feature, k = 2 (the third) or more, is made from the first word and k times that
   constant. */
#define MIX_THIRD_WORD 0x3C6EF372FE94F82Au
#define MIX_FOURTH_WORD 0xDAA66D2C7DDF743Fu

static inline uint64_t mix_rotate(uint64_t word, unsigned turn)
{
    return word << (turn & 63) | word >> (-turn & 63);
}

static inline uint64_t mix_final(uint64_t word)
{
    word = (word ^ word >> 33) * MIX_FINAL_FIRST;
    word = (word ^ word >> 33) * MIX_FINAL_SECOND;
    return word ^ word >> 33;
}

static inline uint64_t mix_load(const uint8_t *content)
{
    uint64_t word;
    memcpy(&word, content, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

static inline void mix_block(uint64_t *first, uint64_t *second, uint64_t low, uint64_t high)
{
    *first ^= mix_rotate(low * MIX_FIRST, 31) * MIX_SECOND;
    *first = (mix_rotate(*first, 27) + *second) * 5 + MIX_ADDED_FIRST;
    *second ^= mix_rotate(high * MIX_SECOND, 33) * MIX_FIRST;
    *second = (mix_rotate(*second, 31) + *first) * 5 + MIX_ADDED_SECOND;
}

/* Finish a hash: `low` and `high` are the last 0 to 15 bytes, then zeros; `length` counts all
   bytes. */
static inline void mix_end(uint64_t *first, uint64_t *second, uint64_t low, uint64_t high,
                           uint64_t length)
{
    uint64_t one = *first ^ mix_rotate(low * MIX_FIRST, 31) * MIX_SECOND ^ length;
    uint64_t two = *second ^ mix_rotate(high * MIX_SECOND, 33) * MIX_FIRST ^ length;

    one += two;
    two += one;
    one = mix_final(one);
    two = mix_final(two);
    *first = one + two;
    *second = two + *first;
}

/* A hash in progress: begin, add any number of blocks of 16 bytes, then end with 0 to 15 bytes. */
struct mix_stream {
    uint64_t first;
    uint64_t second;
    uint64_t length;
};

static inline struct mix_stream mix_begin(uint32_t seed)
{
    return (struct mix_stream){seed, seed, 0};
}

static inline void mix_blocks(struct mix_stream *hash, const uint8_t *content, int64_t blocks)
{
    for (int64_t i = 0; i < blocks; i++)
        mix_block(&hash->first, &hash->second, mix_load(content + 16 * i),
                  mix_load(content + 16 * i + 8));
    hash->length += 16 * (uint64_t)blocks;
}

static inline void mix_rest(struct mix_stream *hash, const uint8_t *content, int64_t length)
{
    uint8_t padded[16] = {0};

    if (length > 0)
        memcpy(padded, content, (size_t)length);
    hash->length += (uint64_t)length;
    mix_end(&hash->first, &hash->second, mix_load(padded), mix_load(padded + 8), hash->length);
}

/* Hash all of `content`; the words of the result are its `first` and `second`. */
static inline struct mix_stream mix_whole(const uint8_t *content, int64_t length, uint32_t seed)
{
    struct mix_stream hash = mix_begin(seed);

    mix_blocks(&hash, content, length / 16);
    mix_rest(&hash, content + length / 16 * 16, length % 16);
    return hash;
}

#endif
