/* SipHash-1-3: a hash for which nobody can construct collisions without its key. */

#ifndef SIMDB_SIP_H
#define SIMDB_SIP_H

#include <stdint.h>
#include <string.h>

#include "mix.h"

#define SIP_LAST_ROUNDS 3

/* The four words of the state before the key: "somepseudorandomlygeneratedbytes". */
#define SIP_FIRST 0x736F6D6570736575u
#define SIP_SECOND 0x646F72616E646F6Du
#define SIP_THIRD 0x6C7967656E657261u
#define SIP_FOURTH 0x7465646279746573u

static inline void sip_round(uint64_t state[4])
{
    state[0] += state[1];
    state[2] += state[3];
    state[1] = mix_rotate(state[1], 13) ^ state[0];
    state[3] = mix_rotate(state[3], 16) ^ state[2];
    state[0] = mix_rotate(state[0], 32);
    state[2] += state[1];
    state[0] += state[3];
    state[1] = mix_rotate(state[1], 17) ^ state[2];
    state[3] = mix_rotate(state[3], 21) ^ state[0];
    state[2] = mix_rotate(state[2], 32);
}

static inline void sip_word(uint64_t state[4], uint64_t word)
{
    state[3] ^= word;
    sip_round(state);
    state[0] ^= word;
}

/* Hash all of `content` under a key of two words. */
static inline uint64_t sip_whole(const uint8_t *content, int64_t length, uint64_t low,
                                 uint64_t high)
{
    uint64_t state[4] = {SIP_FIRST ^ low, SIP_SECOND ^ high, SIP_THIRD ^ low, SIP_FOURTH ^ high};
    uint8_t last[8] = {0};
    int64_t whole = length - length % 8;

    for (int64_t at = 0; at < whole; at += 8)
        sip_word(state, mix_load(content + at));
    if (whole < length)
        memcpy(last, content + whole, (size_t)(length - whole));
    sip_word(state, mix_load(last) | (uint64_t)length << 56);
    state[2] ^= 0xFF;
    for (int round = 0; round < SIP_LAST_ROUNDS; round++)
        sip_round(state);
    return state[0] ^ state[1] ^ state[2] ^ state[3];
}

#endif
