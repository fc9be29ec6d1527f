/* `measure`: comparing ranges of keys. */
#ifndef SIMDB_SEARCH_MEASURE_H
#define SIMDB_SEARCH_MEASURE_H

#include "kernel.h"
#include "vector.h"

static void add_hit(struct search_hits *hits, const uint64_t *place, size_t bucket,
                    unsigned distance)
{
    hits->list[hits->count++] = (struct search_hit){place, (uint32_t)bucket, distance};
}

#if VECTORS_X86
#include "measure_x86.h"
#elif VECTORS == VECTORS_NEON
#include "measure_neon.h"
#else

static size_t measure(struct search_bucket *buckets, size_t count, struct search_hits *hits)
{
    for (size_t i = 0; i < count; i++) {
        struct search_bucket *bucket = &buckets[i];
        for (const uint64_t *place = bucket->start; place < bucket->stop; place++) {
            uint64_t difference = *place ^ bucket->wanted.key;
            if (!search_is_near(difference, &bucket->wanted))
                continue;
            if (hits->count == hits->capacity) {
                bucket->start = place;
                return i;
            }
            add_hit(hits, place, i, (unsigned)__builtin_popcountll(difference));
        }
    }
    return count;
}

#endif

#if VECTORS != VECTORS_AVX512
#define measure_crowd measure
#endif

#endif
