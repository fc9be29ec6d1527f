/* From text to the hashes of its tokens. */

#ifndef SIMDB_TOKENS_H
#define SIMDB_TOKENS_H

#include "scratch.h"

/* A token that is given: its bytes. */
struct sketch_token {
    const uint8_t *content;
    int64_t length;
};

/* Hash what is the same for all texts of one call. */
void sketch_tokens_begin(struct sketch_scratch *scratch, const struct sketch_settings *settings);

/* Hold the hashes of the tokens of the next characters, at most a window, from `position` on;
   returns where the next window begins. */
int64_t sketch_hold_window(struct sketch_scratch *scratch, const struct sketch_text *text,
                           int64_t position, struct sketch_space *space,
                           const struct sketch_settings *settings);

/* Hold the hashes of the first of some given tokens, at most a window; returns of how many. */
int64_t sketch_hold_given(struct sketch_scratch *scratch, const struct sketch_token *tokens,
                          int64_t count, const struct sketch_settings *settings);

#endif
