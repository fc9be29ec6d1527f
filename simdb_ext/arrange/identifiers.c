#include "identifiers.h"

#include <string.h>

#include "mix.h"
#include "sip.h"

/* Ids whose memory is requested before the first of them is used. */
#define AHEAD 64

/* Return the number of the last segment that begins at or before `ordinal`, or -1. */
static int64_t find_segment(const struct arrange_segment *segments, int64_t segment_count,
                            int64_t ordinal)
{
    int64_t start = 0;

    while (segment_count > 0) {
        int64_t half = (segment_count + 1) / 2;

        start += segments[start + half - 1].first <= ordinal ? half : 0;
        segment_count -= half;
    }
    return start - 1;
}

/* Return the segment that holds `ordinal`, or NULL. */
static const struct arrange_segment *segment_of(const struct arrange_segment *segments,
                                                int64_t segment_count, int64_t ordinal)
{
    int64_t number = find_segment(segments, segment_count, ordinal);

    if (number < 0 || ordinal - segments[number].first >= segments[number].count)
        return NULL;
    return segments + number;
}

/* Return the stored id in row `row` of a segment and write its length; return NULL if its offsets
   are damaged. */
static const uint8_t *form_in(const struct arrange_segment *segment, int64_t row,
                              int64_t *length)
{
    int64_t start = segment->offsets[row], stop = segment->offsets[row + 1];

    *length = stop - start;
    return start <= stop && stop <= segment->size ? segment->content + start : NULL;
}

enum arrange_outcome arrange_locate_one(const struct arrange_segment *segments,
                                        int64_t segment_count, int64_t ordinal,
                                        const uint8_t **form, int64_t *length)
{
    const struct arrange_segment *segment = segment_of(segments, segment_count, ordinal);

    if (segment == NULL)
        return ARRANGE_MISSING;
    *form = form_in(segment, ordinal - segment->first, length);
    return *form == NULL ? ARRANGE_TORN : ARRANGE_FOUND;
}

int64_t arrange_locate(const struct arrange_segment *segments, int64_t segment_count,
                       const uint32_t *ordinals, int64_t count, const uint8_t **forms,
                       int64_t *offsets, enum arrange_outcome *outcome)
{
    const struct arrange_segment *found[AHEAD];

    offsets[0] = 0;
    for (int64_t start = 0; start < count; start += AHEAD) {
        int64_t some = count - start < AHEAD ? count - start : AHEAD;

        for (int64_t i = 0; i < some; i++) {
            int64_t ordinal = ordinals[start + i];

            found[i] = segment_of(segments, segment_count, ordinal);
            if (found[i] != NULL)
                __builtin_prefetch(found[i]->offsets + (ordinal - found[i]->first));
        }
        for (int64_t i = 0; i < some; i++) {
            int64_t length = 0, ordinal = ordinals[start + i];

            forms[start + i] = NULL;
            if (found[i] != NULL)
                forms[start + i] = form_in(found[i], ordinal - found[i]->first, &length);
            if (forms[start + i] == NULL) {
                *outcome = found[i] == NULL ? ARRANGE_MISSING : ARRANGE_TORN;
                return start + i;
            }
            offsets[start + i + 1] = offsets[start + i] + length;
        }
    }
    return -1;
}

void arrange_gather(const uint8_t *const *forms, const int64_t *offsets, int64_t count,
                    uint8_t *content)
{
    for (int64_t i = 0; i < count; i++) {
        size_t length = (size_t)(offsets[i + 1] - offsets[i]);

        if (i + AHEAD < count)
            __builtin_prefetch(forms[i + AHEAD]);
        if (length > 0)
            memcpy(content + offsets[i], forms[i], length);
    }
}

int64_t arrange_find(const struct arrange_segment *segments, int64_t segment_count,
                     const uint32_t *ordinals, const int64_t *starts, int64_t count,
                     const int64_t *given_offsets, const uint8_t *given, int64_t *found,
                     enum arrange_outcome *outcome)
{
    const uint8_t *forms[AHEAD];
    int64_t offsets[AHEAD + 1], query = 0;

    for (int64_t i = 0; i < count; i++)
        found[i] = -1;
    for (int64_t start = 0; start < starts[count]; start += AHEAD) {
        int64_t some = starts[count] - start < AHEAD ? starts[count] - start : AHEAD;
        int64_t wrong = arrange_locate(segments, segment_count, ordinals + start, some, forms,
                                       offsets, outcome);

        if (wrong >= 0)
            return start + wrong;
        for (int64_t i = 0; i < some; i++)
            __builtin_prefetch(forms[i]);
        for (int64_t i = 0; i < some; i++) {
            int64_t length = offsets[i + 1] - offsets[i], from;

            while (starts[query + 1] <= start + i)
                query++;
            from = given_offsets[query];
            if (length == given_offsets[query + 1] - from &&
                (length == 0 || memcmp(forms[i], given + from, (size_t)length) == 0))
                found[query] = ordinals[start + i];
        }
    }
    return -1;
}

void arrange_hash(const uint8_t *content, const int64_t *offsets, int64_t count,
                  const uint8_t *key, uint64_t *hashes)
{
    for (int64_t i = 0; i < count; i++) {
        const uint8_t *form = content + offsets[i];
        int64_t length = offsets[i + 1] - offsets[i];

        hashes[i] = key == NULL ? mix_whole(form, length, 0).first
                                : sip_whole(form, length, mix_load(key), mix_load(key + 8));
    }
}

int arrange_are_within(const int64_t *offsets, int64_t count, int64_t size)
{
    int is_within = offsets[0] >= 0 && offsets[count] <= size;

    for (int64_t i = 0; i < count; i++)
        is_within &= offsets[i] <= offsets[i + 1];
    return is_within;
}

int64_t arrange_put(uint8_t *out, char tag, const void *content, int64_t length)
{
    out[0] = (uint8_t)tag;
    memcpy(out + 1, content, (size_t)length);
    return 1 + length;
}

int64_t arrange_put_int(uint8_t *out, char tag, uint64_t number)
{
    number = mix_load((const uint8_t *)&number); /* little-endian on any machine */
    return arrange_put(out, tag, &number, ARRANGE_INT_BYTES);
}

uint64_t arrange_take_int(const uint8_t *content) { return mix_load(content); }
