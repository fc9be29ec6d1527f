/* From text to the hashes of its tokens. */

#ifndef SIMDB_TOKENS_H
#define SIMDB_TOKENS_H

#include "scratch.h"

/* A given token: its bytes. */
struct sketch_token {
    const uint8_t *content;
    int64_t length;
};

/* Hash the tokens of one ASCII character, which depend on the seed alone; call this once before any
   text is read. */
void sketch_tokens_begin(struct sketch_scratch *scratch, const struct sketch_settings *settings);

/* Hold the hashes of the tokens from `position` on, of at most a window of characters; return where
   the next window begins. */
int64_t sketch_hold_window(struct sketch_scratch *scratch, const struct sketch_text *text,
                           int64_t position, struct sketch_space *space,
                           const struct sketch_settings *settings);

/* Hold the hashes of the first of some given tokens, at most a window; return how many tokens. */
int64_t sketch_hold_given(struct sketch_scratch *scratch, const struct sketch_token *tokens,
                          int64_t count, const struct sketch_settings *settings);

#endif
