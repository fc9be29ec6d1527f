/* The operations that have a variant for each instruction set, and which variant is in use.

   Variants differ in speed only.  The header of each operation says what it does; its scalar
   variant is the definition. */

#ifndef SIMDB_VARIANTS_H
#define SIMDB_VARIANTS_H

#include <stddef.h>

#include "descent.h"
#include "entry_sum.h"
#include "keep.h"
#include "permute.h"

struct arrange_operations {
    const char *name; /* of the variant */
    arrange_permute_function *permute;
    arrange_keep_function *keep;
    arrange_descent_function *descent;
    arrange_entry_sum_function *entry_sum;
};

/* The variant in use: the scalar one, until the Python module selects the fastest at import. */
extern const struct arrange_operations *arrange_operations;

/* Return variant number `index` of those that this processor can run, the slowest first; NULL
   beyond the last. */
const struct arrange_operations *arrange_variant(size_t index);

#endif
