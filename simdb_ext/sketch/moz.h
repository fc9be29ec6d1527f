/* The fingerprint of simhash-cpp, as weights. */

#ifndef SIMDB_MOZ_H
#define SIMDB_MOZ_H

#include <stdint.h>

#include "project.h"
#include "text/text.h"

#define MOZ_WINDOW_MAX 64
#define MOZ_TOKENS_MAX (INT32_MAX / 2) /* above this a weight could overflow */

/* Write weights int32[count][128] and numbers of tokens of texts, up to the first text with an
   error; `done` becomes the number of texts before it. */
enum sketch_outcome sketch_moz_texts(const struct sketch_text *texts, int64_t count, int window,
                                     int is_replaced, int32_t *weights, int64_t *features,
                                     int64_t *done);

#endif
