#include "lines.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    PARTS = 1024, /* parts of one call; every system allows that many */
    AHEAD = 16    /* texts between the request for a first byte and its use */
};

int64_t arrange_count_feeds(const uint8_t *content, int64_t size)
{
    const uint8_t *end = content + size;
    int64_t count = 0;

    while ((content = memchr(content, '\n', (size_t)(end - content))) != NULL) {
        content++;
        count++;
    }
    return count;
}

void arrange_first_bytes(const uint64_t *addresses, const int64_t *lengths, int64_t count,
                         uint8_t *firsts)
{
    for (int64_t i = 0; i < count; i++) {
        if (i + AHEAD < count)
            __builtin_prefetch((const void *)(uintptr_t)addresses[i + AHEAD]);
        firsts[i] = lengths[i] > 0 ? *(const uint8_t *)(uintptr_t)addresses[i] : 0;
    }
}

/* Read one range; return the number of bytes read, or -1. */
static int64_t read_range(int descriptor, int64_t start, int64_t stop, uint8_t *out)
{
    int64_t done = 0;

    while (start + done < stop) {
        ssize_t got = pread(descriptor, out + done, (size_t)(stop - start - done), start + done);

        if (got < 0 && errno != EINTR)
            return -1;
        if (got == 0)
            break;
        done += got > 0 ? got : 0;
    }
    return done;
}

/* Gather the ranges that the next system call reads; return their number. */
static int64_t gathered(const int64_t *starts, const int64_t *stops, int64_t count, uint8_t *out,
                        uint8_t *gap, struct iovec *parts, int *part_count)
{
    int64_t taken = 0;

    *part_count = 0;
    while (taken < count && *part_count + 2 <= PARTS) {
        int64_t between = taken ? starts[taken] - stops[taken - 1] : 0;

        if (between > ARRANGE_GAP)
            break;
        if (between)
            parts[(*part_count)++] = (struct iovec){gap, (size_t)between};
        parts[(*part_count)++] = (struct iovec){out, (size_t)(stops[taken] - starts[taken])};
        out += stops[taken] - starts[taken];
        taken++;
    }
    return taken;
}

int64_t arrange_read_ranges(int descriptor, const int64_t *starts, const int64_t *stops,
                            int64_t count, uint8_t *out, uint8_t *gap)
{
    struct iovec parts[PARTS];
    const uint8_t *begin = out;

    for (int64_t first = 0, next; first < count; first = next) {
        int part_count;
        int64_t taken = gathered(starts + first, stops + first, count - first, out, gap, parts,
                                 &part_count);
        ssize_t got = preadv(descriptor, parts, part_count, starts[first]);

        next = first + taken;
        if (got < 0 && errno != EINTR)
            return -1;
        if (got == stops[next - 1] - starts[first]) {
            for (int64_t i = first; i < next; i++)
                out += stops[i] - starts[i];
            continue;
        }
        /* The file ends here, or the call was interrupted: read the ranges one by one. */
        for (int64_t i = first; i < next; i++) {
            int64_t own = read_range(descriptor, starts[i], stops[i], out);

            if (own < 0)
                return -1;
            out += own;
            if (own < stops[i] - starts[i])
                return out - begin;
        }
    }
    return out - begin;
}
