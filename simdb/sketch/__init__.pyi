from simdb.sketch import (
    hashes as hashes,
    lookalikes as lookalikes,
    markup as markup,
    minhash_sketcher as minhash_sketcher,
    weighing as weighing,
)
from simdb.sketch.exact_pairs import ExactPairs as ExactPairs, RecurringPairs as RecurringPairs
from simdb.sketch.exact_similarity import (
    COSINE as COSINE,
    ExactSimilarity as ExactSimilarity,
    gram_sketch as gram_sketch,
)
from simdb.sketch.fitting import fit as fit
from simdb.sketch.hashes import (
    HashSketcher as HashSketcher,
    hash_bits as hash_bits,
    likely_bits as likely_bits,
    read_hashes as read_hashes,
    sketch_of_texts as sketch_of_texts,
)
from simdb.sketch.markup import as_read as as_read
from simdb.sketch.minhash_sketcher import (
    MinHashSketcher as MinHashSketcher,
    narrowed as narrowed,
    permutations_of as permutations_of,
)
from simdb.sketch.pipeline import (
    CONCERNS as CONCERNS,
    NO_RESOURCES as NO_RESOURCES,
    installed_versions as installed_versions,
    take_resources as take_resources,
    warn_of_changes as warn_of_changes,
)
from simdb.sketch.sketcher import (
    AnySketcher as AnySketcher,
    ReadySketcher as ReadySketcher,
    Sketcher as Sketcher,
    check_content as check_content,
    sketcher_of as sketcher_of,
    widened as widened,
)
from simdb.sketch.tuning.sample import (
    SHORT_WORDS as SHORT_WORDS,
    TAG as TAG,
    DrawnTexts as DrawnTexts,
    as_text as as_text,
    count_words as count_words,
    is_telling as is_telling,
    median_features as median_features,
)
from simdb.sketch.tuning.tune import FITTED_TEXTS as FITTED_TEXTS
from simdb.sketch.vectors import as_vectors as as_vectors
from simdb.sketch.winnowing import (
    WINDOW_GRAMS as WINDOW_GRAMS,
    ContainmentQuery as ContainmentQuery,
    Winnower as Winnower,
    WordOrder as WordOrder,
    asked_of as asked_of,
    containments as containments,
    most_covered as most_covered,
    spans_of as spans_of,
)
