#include "select.h"

#include "hash/murmur.h"
#include "hash/shingles.h"
#include "minhash/agree.h"
#include "minhash/consistent.h"
#include "minhash/minima.h"
#include "text/cut.h"
#include "text/fold.h"
#include "text/words.h"
#include "weights/counts.h"
#include "weights/idf.h"
#include "weights/quantise.h"
#include "weights/units.h"
#include "weights/weigh.h"

void sketch_select(int variant)
{
    agree_select(variant);
    consistent_select(variant);
    minima_select(variant);
    sketch_counts_select(variant);
    sketch_cut_select(variant);
    sketch_fold_select(variant);
    sketch_hash_select(variant);
    sketch_idf_select(variant);
    sketch_quantise_select(variant);
    sketch_shingles_select(variant);
    sketch_units_select(variant);
    sketch_weigh_select(variant);
    sketch_words_select(variant);
}
