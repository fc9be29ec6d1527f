#include "project.h"

#include <string.h>

#include "mix.h"
#include "variants.h"

#define HELD 1024 /* features counted together */

struct lookup {
    uint32_t a, b, c;
};

static uint32_t turned(uint32_t word, int turn)
{
    return word << turn | word >> (32 - turn);
}

/* Mix a full block as in Jenkins' lookup3. */
static void mix_words(struct lookup *state)
{
    uint32_t a = state->a, b = state->b, c = state->c;

    a = (a - c) ^ turned(c, 4), c += b;
    b = (b - a) ^ turned(a, 6), a += c;
    c = (c - b) ^ turned(b, 8), b += a;
    a = (a - c) ^ turned(c, 16), c += b;
    b = (b - a) ^ turned(a, 19), a += c;
    c = (c - b) ^ turned(b, 4), b += a;
    *state = (struct lookup){a, b, c};
}

/* Mix the last block and return both words of lookup3. */
static uint64_t end_words(struct lookup *state)
{
    uint32_t a = state->a, b = state->b, c = state->c;

    c = (c ^ b) - turned(b, 14);
    a = (a ^ c) - turned(c, 11);
    b = (b ^ a) - turned(a, 25);
    c = (c ^ b) - turned(b, 16);
    a = (a ^ c) - turned(c, 4);
    b = (b ^ a) - turned(a, 14);
    c = (c ^ b) - turned(b, 24);
    return (uint64_t)c << 32 | b;
}

static int is_letter(uint32_t code)
{
    return (code | 0x20) - 'a' < 26;
}

/* Return up to 4 letters as a little-endian word. */
static inline uint32_t letters_at(const struct sketch_text *text, int64_t start, int64_t stop)
{
    uint32_t word = 0;

    if (text->width == 1 && stop - start >= 4) {
        const uint8_t *letters = (const uint8_t *)text->characters + start;
        return (uint32_t)letters[0] | (uint32_t)letters[1] << 8 | (uint32_t)letters[2] << 16 |
               (uint32_t)letters[3] << 24;
    }
    for (int i = 0; i < 4 && start + i < stop; i++)
        word |= character_at(text, start + i) << 8 * i;
    return word;
}

/* Return hashlittle2 of lookup3 with both seeds 0, the first word above the second. */
static inline uint64_t token_hash(const struct sketch_text *text, int64_t start, int64_t stop)
{
    uint32_t begun = 0xDEADBEEFu + (uint32_t)(stop - start);
    struct lookup state = {begun, begun, begun};

    for (;; start += 12) {
        state.a += letters_at(text, start, stop);
        state.b += letters_at(text, start + 4, stop);
        state.c += letters_at(text, start + 8, stop);
        if (stop - start <= 12)
            return end_words(&state);
        mix_words(&state);
    }
}

/* Count in how many features of a text each bit is set; return the number of features. */
static inline int64_t count_ones(const struct sketch_text *text, int window, uint32_t *ones)
{
    uint64_t features[HELD], latest[MOZ_WINDOW_MAX] = {0}, cyclic = 0;
    int64_t count = 0;

    for (int64_t start = 0, stop; start < text->length; start = stop + 1) {
        for (stop = start; stop < text->length && is_letter(character_at(text, stop));)
            stop++;
        if (stop > start) {
            uint64_t *oldest = &latest[count % window];
            uint64_t hash = token_hash(text, start, stop);
            cyclic = mix_rotate(cyclic, 1) ^ mix_rotate(*oldest, (unsigned)window) ^ hash;
            *oldest = hash;
            features[count++ % HELD] = cyclic;
            if (count % HELD == 0)
                sketch_operations->counts(features, features, HELD, ones);
        }
        if (stop < text->length && character_at(text, stop) == 0)
            break;
    }
    sketch_operations->counts(features, features, count % HELD, ones);
    return count;
}

/* A separate copy of the loop for each width of characters, a constant. */
static int64_t count_text(const struct sketch_text *text, int window, uint32_t *ones)
{
    struct sketch_text one = {text->characters, text->length, 1, 0};
    struct sketch_text two = {text->characters, text->length, 2, 0};
    struct sketch_text four = {text->characters, text->length, 4, 0};

    if (text->width == 1)
        return count_ones(&one, window, ones);
    return text->width == 2 ? count_ones(&two, window, ones) : count_ones(&four, window, ones);
}

/* simhash-cpp reverses the order of the bits, and sets a bit only if it is set in more than half of
   the features. */
static void write_weights(const uint32_t *ones, int64_t count, int32_t *weights)
{
    memset(weights, 0, SKETCH_DIMENSIONS * sizeof *weights);
    for (int j = 0; j < 64 && count > 0; j++) {
        int32_t sum = (int32_t)(2 * (int64_t)ones[63 - j] - count);
        weights[j] = sum == 0 ? -1 : 2 * sum;
    }
}

enum sketch_outcome sketch_moz_texts(const struct sketch_text *texts, int64_t count, int window,
                                     int is_replaced, int32_t *weights, int64_t *features,
                                     int64_t *done)
{
    for (*done = 0; *done < count; ++*done) {
        uint32_t ones[SKETCH_DIMENSIONS] = {0};
        if (!is_replaced && sketch_operations->surrogate(&texts[*done]))
            return SKETCH_SURROGATE;
        features[*done] = count_text(&texts[*done], window, ones);
        if (features[*done] > MOZ_TOKENS_MAX)
            return SKETCH_TOO_MANY;
        write_weights(ones, features[*done], weights + SKETCH_DIMENSIONS * *done);
    }
    return SKETCH_DONE;
}
