#include "places.h"

uint64_t places_of_bits[256];
uint8_t places_of_bytes[256][16];

void places_begin(void)
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
