/* `idf`: several lookups at once.  With AVX-512, the first eight entries of a slot are compared
   together; there are seldom more. */

#ifndef SIMDB_IDF_H
#define SIMDB_IDF_H

#include "vector.h"
#include "weights.h"

#define IDF_WEIGHT_BITS 16
#define IDF_WEIGHT_MASK ((1u << IDF_WEIGHT_BITS) - 1)

/* Lookups at once: while one waits for memory, the memory of the next is requested. */
#define IDF_GROUP 64

static inline int64_t idf_slot(const struct sketch_idf *idf, uint64_t hash)
{
    return idf->bits ? (int64_t)(hash >> (64 - idf->bits)) : 0;
}

static inline int64_t idf_bound(const struct sketch_idf *idf, int64_t slot)
{
    int64_t place = idf->directory[slot];
    return place < idf->count ? place : idf->count;
}

static inline uint32_t idf_from(const struct sketch_idf *idf, uint64_t hash, int64_t start,
                                int64_t stop)
{
    for (int64_t i = start; i < stop; i++)
        if (idf->entries[i] >> IDF_WEIGHT_BITS == hash >> IDF_WEIGHT_BITS)
            return idf->entries[i] & IDF_WEIGHT_MASK;
    return idf->absent;
}

/* Write where the entries of each hash of a group begin, and prefetch them. */
static inline void idf_starts(const struct sketch_idf *idf, const uint64_t *hashes,
                              int64_t count, int64_t *starts)
{
    for (int64_t i = 0; i < count; i++)
        __builtin_prefetch(idf->directory + idf_slot(idf, hashes[i]));
    for (int64_t i = 0; i < count; i++) {
        starts[i] = idf_bound(idf, idf_slot(idf, hashes[i]));
        __builtin_prefetch(idf->entries + starts[i]);
    }
}

#if VECTORS == VECTORS_AVX512

static void idf(const struct sketch_idf *idf, const uint64_t *hashes,
                int64_t count, uint32_t *weights)
{
    const __m512i absent = _mm512_set1_epi64(idf->absent);

    for (int64_t i = 0; i < count; i += IDF_GROUP) {
        int64_t starts[IDF_GROUP], group = count - i < IDF_GROUP ? count - i : IDF_GROUP;

        idf_starts(idf, hashes + i, group, starts);
        for (int64_t j = 0; j < group; j++) {
            int64_t stop = idf_bound(idf, idf_slot(idf, hashes[i + j]) + 1);
            int64_t length = stop - starts[j];
            __mmask8 some = (__mmask8)_bzhi_u32(0xFF, length < 8 ? (unsigned)length : 8);
            __m512i entries = _mm512_maskz_loadu_epi64(some, idf->entries + starts[j]);
            __m512i differing = _mm512_xor_si512(entries,
                                                 _mm512_set1_epi64((long long)hashes[i + j]));
            __mmask8 found = _mm512_mask_cmplt_epu64_mask(
                some, differing, _mm512_set1_epi64((long long)1 << IDF_WEIGHT_BITS));
            /* Entries are distinct, so at most one is found. */
            __m512i weight = _mm512_mask_compress_epi64(absent, found, entries);
            weights[i + j] = (uint32_t)_mm_cvtsi128_si32(_mm512_castsi512_si128(weight));
            weights[i + j] &= found ? IDF_WEIGHT_MASK : ~0u;
            if (length > 8 && !found)
                weights[i + j] = idf_from(idf, hashes[i + j], starts[j] + 8, stop);
        }
    }
}

#else

static void idf(const struct sketch_idf *idf, const uint64_t *hashes, int64_t count,
                uint32_t *weights)
{
    for (int64_t i = 0; i < count; i += IDF_GROUP) {
        int64_t starts[IDF_GROUP], group = count - i < IDF_GROUP ? count - i : IDF_GROUP;

        idf_starts(idf, hashes + i, group, starts);
        for (int64_t j = 0; j < group; j++) {
            int64_t stop = idf_bound(idf, idf_slot(idf, hashes[i + j]) + 1);
            weights[i + j] = idf_from(idf, hashes[i + j], starts[j], stop);
        }
    }
}

#endif

#endif
