#include "identifiers.h"

#include <string.h>

#include "mix.h"
#include "sip.h"

/* Ids between the request for their memory and its use. */
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

/* Return number i of packed integers of this width. */
static uint64_t packed_number(const uint8_t *numbers, int64_t i, int width)
{
    uint64_t number = 0;

    for (int byte = 0; byte < width; byte++)
        number |= (uint64_t)numbers[i * width + byte] << 8 * byte;
    return number;
}

/* Write the id in row `row` of a segment and the length of its stored form; return 0 if its offsets
   are damaged. */
static int read_form(const struct arrange_segment *segment, int64_t row,
                     struct arrange_form *form, int64_t *length)
{
    int64_t start, stop;

    if (segment->offsets == NULL) {
        struct arrange_integers how = arrange_head(segment->content);

        *length = ARRANGE_FORM_BYTES;
        *form = (struct arrange_form){
            NULL,
            how.first + (uint64_t)row * how.step +
                packed_number(segment->content + ARRANGE_HEAD_BYTES, row, how.width),
            how.tag};
        return 1;
    }
    start = segment->offsets[row], stop = segment->offsets[row + 1];
    *length = stop - start;
    *form = (struct arrange_form){segment->content + start, 0, 0};
    return start <= stop && stop <= segment->size;
}

/* Request the memory that holds the id in row `row` of a segment, or its offsets. */
static void request(const struct arrange_segment *segment, int64_t row)
{
    if (segment->offsets != NULL)
        __builtin_prefetch(segment->offsets + row);
    else
        __builtin_prefetch(segment->content + ARRANGE_HEAD_BYTES + row * segment->content[1]);
}

enum arrange_outcome arrange_locate_one(const struct arrange_segment *segments,
                                        int64_t segment_count, int64_t ordinal,
                                        struct arrange_form *form, int64_t *length)
{
    const struct arrange_segment *segment = segment_of(segments, segment_count, ordinal);

    if (segment == NULL)
        return ARRANGE_MISSING;
    return read_form(segment, ordinal - segment->first, form, length) ? ARRANGE_FOUND
                                                                      : ARRANGE_TORN;
}

int64_t arrange_locate(const struct arrange_segment *segments, int64_t segment_count,
                       const uint32_t *ordinals, int64_t count, struct arrange_form *forms,
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
                request(found[i], ordinal - found[i]->first);
        }
        for (int64_t i = 0; i < some; i++) {
            int64_t length = 0, ordinal = ordinals[start + i];

            if (found[i] == NULL ||
                !read_form(found[i], ordinal - found[i]->first, forms + start + i, &length)) {
                *outcome = found[i] == NULL ? ARRANGE_MISSING : ARRANGE_TORN;
                return start + i;
            }
            offsets[start + i + 1] = offsets[start + i] + length;
        }
    }
    return -1;
}

void arrange_gather(const struct arrange_form *forms, const int64_t *offsets, int64_t count,
                    uint8_t *content)
{
    for (int64_t i = 0; i < count; i++) {
        size_t length = (size_t)(offsets[i + 1] - offsets[i]);

        if (i + AHEAD < count)
            __builtin_prefetch(forms[i + AHEAD].stored);
        if (forms[i].stored == NULL)
            arrange_put_int(content + offsets[i], (char)forms[i].tag, forms[i].number);
        else if (length > 0)
            memcpy(content + offsets[i], forms[i].stored, length);
    }
}

/* Return whether an id has the stored form `given`. */
static int is_same(const struct arrange_form *form, const uint8_t *given, int64_t length)
{
    if (form->stored == NULL)
        return given[0] == form->tag && arrange_take_int(given + 1) == form->number;
    return length == 0 || memcmp(form->stored, given, (size_t)length) == 0;
}

int64_t arrange_find(const struct arrange_segment *segments, int64_t segment_count,
                     const uint32_t *ordinals, const int64_t *starts, int64_t count,
                     const int64_t *given_offsets, const uint8_t *given, int64_t *found,
                     enum arrange_outcome *outcome)
{
    struct arrange_form forms[AHEAD];
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
            __builtin_prefetch(forms[i].stored);
        for (int64_t i = 0; i < some; i++) {
            int64_t length = offsets[i + 1] - offsets[i], from;

            while (starts[query + 1] <= start + i)
                query++;
            from = given_offsets[query];
            if (length == given_offsets[query + 1] - from &&
                is_same(forms + i, given + from, length))
                found[query] = ordinals[start + i];
        }
    }
    return -1;
}

int arrange_are_ints(const uint8_t *content, int64_t count)
{
    int are_ints = 1;

    for (int64_t i = 0; i < count && are_ints; i++)
        are_ints = content[i * ARRANGE_FORM_BYTES] == 'i' || content[i * ARRANGE_FORM_BYTES] == 'u';
    return are_ints;
}

/* Return the number of stored form i. */
static uint64_t number_of(const uint8_t *content, int64_t i)
{
    return arrange_take_int(content + i * ARRANGE_FORM_BYTES + 1);
}

/* Return whether the numbers 0, step, .. (count - 1) * step all differ modulo 2^64. */
static int is_distinct(uint64_t step, int64_t count)
{
    uint64_t size = (int64_t)step < 0 ? 0 - step : step;

    return count < 2 || (size > 0 && size <= UINT64_MAX / (uint64_t)(count - 1));
}

int arrange_are_integers(const uint8_t *content, int64_t count, struct arrange_integers *out)
{
    /* XOR with `turn` makes signed numbers compare as unsigned ones. */
    uint64_t turn = 0, low = UINT64_MAX, high = 0, first, step;
    int is_row;

    if (count == 0 || (content[0] != 'i' && content[0] != 'u'))
        return 0;
    turn = content[0] == 'i' ? (uint64_t)1 << 63 : 0;
    first = number_of(content, 0);
    step = count > 1 ? number_of(content, 1) - first : 0;
    is_row = is_distinct(step, count);
    for (int64_t i = 0; i < count; i++) {
        uint64_t number = number_of(content, i);

        if (content[i * ARRANGE_FORM_BYTES] != content[0])
            return 0;
        is_row &= number == first + (uint64_t)i * step;
        number ^= turn;
        low = number < low ? number : low;
        high = number > high ? number : high;
    }
    *out = (struct arrange_integers){first, step, content[0], 0};
    if (!is_row) {
        *out = (struct arrange_integers){low ^ turn, 0, content[0], 1};
        while (out->width < ARRANGE_INT_BYTES && (high - low) >> 8 * out->width)
            out->width++;
    }
    return 1;
}

void arrange_pack(const uint8_t *content, int64_t count, struct arrange_integers how, uint8_t *out)
{
    memset(out, 0, ARRANGE_HEAD_BYTES);
    /* Each call writes a tag byte before its number; the call after it overwrites that byte. */
    arrange_put_int(out + 15, 0, how.step);
    arrange_put_int(out + 7, 0, how.first);
    out[0] = how.tag;
    out[1] = how.width;
    out += ARRANGE_HEAD_BYTES;
    for (int64_t i = 0; i < count; i++) {
        uint64_t number = number_of(content, i) - how.first - (uint64_t)i * how.step;

        for (int byte = 0; byte < how.width; byte++)
            *out++ = (uint8_t)(number >> 8 * byte);
    }
}

struct arrange_integers arrange_head(const uint8_t *packed)
{
    return (struct arrange_integers){arrange_take_int(packed + 8), arrange_take_int(packed + 16),
                                     packed[0], packed[1]};
}

void arrange_unpack(const uint8_t *packed, int64_t count, uint8_t *content)
{
    struct arrange_integers how = arrange_head(packed);

    for (int64_t i = 0; i < count; i++) {
        uint64_t number = packed_number(packed + ARRANGE_HEAD_BYTES, i, how.width);

        arrange_put_int(content + i * ARRANGE_FORM_BYTES, (char)how.tag,
                        number + how.first + (uint64_t)i * how.step);
    }
}

/* Return whether a bit is set in a bitmap. */
static int is_dead(const uint8_t *dead, int64_t dead_size, uint64_t ordinal)
{
    return ordinal / 8 < (uint64_t)dead_size && dead[ordinal / 8] >> ordinal % 8 & 1;
}

/* Return the place of a number in a row; at least the length of the row if it is not there. */
static uint64_t place_in(const struct arrange_row *row, uint64_t number)
{
    uint64_t apart = number - row->first, step = row->step;

    if ((int64_t)step < 0) {
        apart = 0 - apart;
        step = 0 - step;
    }
    if (step == 1)
        return apart;
    if (step == 0)
        return apart == 0 ? 0 : row->count;
    return apart % step == 0 ? apart / step : row->count;
}

void arrange_find_in_rows(const struct arrange_row *rows, int64_t row_count,
                          const int64_t *given_offsets, const uint8_t *given, int64_t count,
                          const uint8_t *dead, int64_t dead_size, int64_t *found)
{
    for (int64_t q = 0; q < count; q++) {
        const uint8_t *form = given + given_offsets[q];

        if (found[q] >= 0 || given_offsets[q + 1] - given_offsets[q] != ARRANGE_FORM_BYTES)
            continue;
        for (int64_t r = 0; r < row_count; r++) {
            uint64_t place;

            if (rows[r].tag != form[0])
                continue;
            place = place_in(rows + r, arrange_take_int(form + 1));
            if (place < rows[r].count && !is_dead(dead, dead_size, rows[r].start + place)) {
                found[q] = (int64_t)(rows[r].start + place);
                break;
            }
        }
    }
}

void arrange_candidates(const struct arrange_bare_table *table, const uint64_t *hashes,
                        int64_t count, const uint8_t *dead, int64_t dead_size, int64_t *starts,
                        uint32_t *out)
{
    int64_t used = 0;

    starts[0] = 0;
    for (int64_t q = 0; q < count; q++) {
        /* Two shifts, because one shift by 64 is undefined: there may be 0 header bits. */
        uint64_t header = hashes[q] >> 1 >> (63 - table->header_bits);
        int64_t at = table->directory[header], stop = table->directory[header + 1];

        if (q + AHEAD < count)
            __builtin_prefetch(table->directory +
                               (hashes[q + AHEAD] >> 1 >> (63 - table->header_bits)));
        for (stop = stop < table->size ? stop : table->size; at < stop; at++) {
            if (is_dead(dead, dead_size, table->ordinals[at]))
                continue;
            if (out != NULL)
                out[used] = table->ordinals[at];
            used++;
        }
        starts[q + 1] = used;
    }
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
