/* MurmurHash3_x64_128 of one piece of memory, of a stream, or of many short tokens. */

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

/* Hash text[starts[i]] .. text[stops[i]] into first[i] and second[i], i = 0 .. count - 1.  16 bytes
   after the last stop must be readable; their values do not matter. */
typedef void sketch_hash_function(const uint8_t *text, const uint32_t *starts,
                                  const uint32_t *stops, int64_t count, uint32_t seed,
                                  uint64_t *first, uint64_t *second);

#endif
