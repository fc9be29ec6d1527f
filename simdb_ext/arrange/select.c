#include "select.h"

#include "descent.h"
#include "keep.h"
#include "permute.h"

void arrange_select(int variant)
{
    arrange_descent_select(variant);
    arrange_keep_select(variant);
    arrange_permute_select(variant);
}
