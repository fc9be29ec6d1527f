/* MurmurHash3_x64_128 of one piece of memory, or of a stream. */

#ifndef SIMDB_MURMUR_H
#define SIMDB_MURMUR_H

#include <stdint.h>

/* A hash in progress: begin, add any number of 16-byte blocks, then end with 0 to 15 bytes. */
struct sketch_murmur {
    uint64_t first;
    uint64_t second;
    uint64_t length;
};

void sketch_murmur_begin(struct sketch_murmur *hash, uint32_t seed);
void sketch_murmur_blocks(struct sketch_murmur *hash, const uint8_t *content, int64_t blocks);
void sketch_murmur_end(struct sketch_murmur *hash, const uint8_t *content, int64_t length);

/* Hash all of `content`; the words of the result are hash->first and hash->second. */
void sketch_murmur(struct sketch_murmur *hash, const uint8_t *content, int64_t length,
                   uint32_t seed);

#endif
