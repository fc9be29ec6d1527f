/* `fold`, 64 characters at a time; the characters that are dropped are compressed away. */

#ifndef SIMDB_FOLD_AVX512_H
#define SIMDB_FOLD_AVX512_H

#include "ascii_avx512.h"
#include "fold.h"

#if CPU_X86

CPU_AVX512 static int64_t fold_avx512(const uint8_t *text, int64_t length, int lowercase,
                                      struct sketch_space *space, uint8_t *copy)
{
    uint64_t before = (uint64_t)(space->is_held | !space->is_begun);
    int64_t first = space->is_held, size = first;

    copy[0] = ' ';
    for (int64_t i = 0; i < length; i += 64) {
        uint64_t some = _bzhi_u64(~(uint64_t)0, length - i < 64 ? (unsigned)(length - i) : 64);
        __m512i characters = _mm512_maskz_loadu_epi8(some, text + i);
        uint64_t spaces = ascii_spaces(characters);
        uint64_t kept = some & ~(spaces & (spaces << 1 | before));

        characters = lowercase ? ascii_lower(characters) : characters;
        characters = _mm512_mask_mov_epi8(characters, spaces, _mm512_set1_epi8(' '));
        _mm512_storeu_si512(copy + size, _mm512_maskz_compress_epi8(kept, characters));
        size += (int64_t)_mm_popcnt_u64(kept);
        before = spaces >> 63;
    }
    if (size == first) /* nothing but the space held before */
        return 0;
    space->is_held = copy[size - 1] == ' ';
    size -= space->is_held;
    space->is_begun |= size > 0;
    return size;
}

#endif

#endif
