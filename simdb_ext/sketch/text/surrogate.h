/* Looking for lone surrogates, which UTF-8 cannot encode. */

#ifndef SIMDB_SURROGATE_H
#define SIMDB_SURROGATE_H

#include "text.h"

/* Return 1 if a text has a surrogate, else 0. */
typedef int sketch_surrogate_function(const struct sketch_text *text);

#endif
