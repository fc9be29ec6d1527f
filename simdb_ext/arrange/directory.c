#include "directory.h"

#include <string.h>

void arrange_directory(const uint64_t *keys, int64_t count, int header_bits, uint32_t *out)
{
    int64_t headers = (int64_t)1 << header_bits;
    uint32_t stop = 0;

    /* Each key writes the end of its header, and the last key of a header wins: the loop has no
       branch to mispredict.  A header without keys ends where the header before it ends. */
    memset(out, 0, (size_t)(headers + 1) * sizeof *out);
    for (int64_t i = 0; i < count; i++) {
        uint64_t header = keys[i] >> 1 >> (63 - header_bits);

        out[header + 1] = (uint32_t)(i + 1);
    }
    for (int64_t header = 1; header <= headers; header++) {
        stop = out[header] > stop ? out[header] : stop;
        out[header] = stop;
    }
}
