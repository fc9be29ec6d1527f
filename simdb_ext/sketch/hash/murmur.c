#include "murmur.h"

#include "mix.h"

void sketch_murmur_begin(struct sketch_murmur *hash, uint32_t seed)
{
    hash->first = hash->second = seed;
    hash->length = 0;
}

void sketch_murmur_blocks(struct sketch_murmur *hash, const uint8_t *content, int64_t blocks)
{
    for (int64_t i = 0; i < blocks; i++)
        mix_block(&hash->first, &hash->second, mix_load(content + 16 * i),
                  mix_load(content + 16 * i + 8));
    hash->length += 16 * (uint64_t)blocks;
}

void sketch_murmur_end(struct sketch_murmur *hash, const uint8_t *content, int64_t length)
{
    uint8_t padded[16] = {0};

    if (length > 0)
        memcpy(padded, content, (size_t)length);
    hash->length += (uint64_t)length;
    mix_end(&hash->first, &hash->second, mix_load(padded), mix_load(padded + 8), hash->length);
}

void sketch_murmur(struct sketch_murmur *hash, const uint8_t *content, int64_t length,
                   uint32_t seed)
{
    sketch_murmur_begin(hash, seed);
    sketch_murmur_blocks(hash, content, length / 16);
    sketch_murmur_end(hash, content + length / 16 * 16, length % 16);
}
