#include "vocabulary.h"

#include <string.h>

uint64_t sketch_vocabulary_place(const struct sketch_vocabulary *vocabulary, uint64_t first)
{
    uint64_t place = first & vocabulary->mask;

    while (vocabulary->keys[place] != 0 && vocabulary->keys[place] != first)
        place = (place + 1) & vocabulary->mask;
    return place;
}

void sketch_unknown_add(struct sketch_unknown *unknown, const uint8_t *content, int64_t length)
{
    if (unknown->size + 1 + length > (int64_t)sizeof unknown->content)
        return;
    unknown->content[unknown->size++] = (uint8_t)length;
    memcpy(unknown->content + unknown->size, content, (size_t)length);
    unknown->size += length;
}
