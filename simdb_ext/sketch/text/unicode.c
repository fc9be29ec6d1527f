#include "unicode.h"

#include "unicode_table.h"

#define LENGTH(array) ((int)(sizeof(array) / sizeof(array)[0]))

uint16_t unicode_properties[CODE_POINTS + 1];
uint8_t unicode_lower_bits[CODE_POINTS / 8];
uint8_t unicode_frequent_deltas[2][UNICODE_FREQUENT];
uint64_t places_of_bits[256];
uint8_t places_of_bytes[256][16];

/* First 0, then the frequent deltas: of Latin, Greek, Cyrillic and Armenian letters. */
int32_t unicode_deltas[128] = {0,  32, 1,    80, 48, 38, 37, 64,
                               63, 16, -199, 26, -8, 40, 8,  2};

/* Return the place of `delta` in the list of distinct deltas; a new one is appended. */
static int delta_place(int32_t delta, int *used)
{
    for (int i = 0; i < *used; i++)
        if (unicode_deltas[i] == delta)
            return i;
    unicode_deltas[*used] = delta;
    return (*used)++;
}

static void fill_places(void)
{
    for (int i = 0; i < 256; i++) {
        int bits = 0, bytes = 0;

        places_of_bits[i] = 0;
        for (int j = 0; j < 8; j++)
            if (i >> j & 1)
                places_of_bits[i] |= (uint64_t)j << 8 * bits++;
        for (int lane = 0; lane < 4; lane++) {
            int length = 1 + (i >> lane & 1) + (i >> (4 + lane) & 1);
            for (int j = 0; j < length; j++)
                places_of_bytes[i][bytes++] = (uint8_t)(4 * lane + j);
        }
    }
}

void unicode_unfold(void)
{
    int32_t code = 0;
    int used = UNICODE_FREQUENT;

    fill_places();
    for (int i = 0; i < LENGTH(CLASS_RANGES); i++) {
        code += CLASS_RANGES[i][0];
        for (int32_t stop = code + CLASS_RANGES[i][1]; code < stop; code++)
            unicode_properties[code] = (uint16_t)CLASS_RANGES[i][2];
    }
    for (int i = 0; i < LENGTH(LOWER_RANGES); i++) {
        const int32_t *range = LOWER_RANGES[i];
        int place = delta_place(range[3], &used);
        for (int32_t j = 0; j < range[1]; j++) {
            int32_t capital = range[0] + j * range[2], letter = capital + range[3];
            unicode_properties[capital] |= (uint16_t)(place << CLASS_BITS);
            unicode_lower_bits[letter / 8] |= (uint8_t)(1 << letter % 8);
        }
    }
    for (int i = 0; i < UNICODE_FREQUENT; i++)
        for (int j = 0; j < 2; j++)
            unicode_frequent_deltas[j][i] = (uint8_t)((uint32_t)unicode_deltas[i] >> 8 * j);
}
