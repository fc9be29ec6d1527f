/* `idf`: the first eight entries of a slot are compared at once; there are seldom more. */

#ifndef SIMDB_IDF_AVX512_H
#define SIMDB_IDF_AVX512_H

#include "cpu.h"
#include "idf_scalar.h"

#if CPU_X86

CPU_AVX512 static void idf_avx512(const struct sketch_idf *idf, const uint64_t *hashes,
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

#endif

#endif
