"""Defaults: the tables of a database where its options leave them open."""

from dataclasses import replace

from simdb import index
from simdb.minhash import Minhash
from simdb.options import TABLES_MAX, USUAL_POLYTOPES, Options


def settled(options: Options) -> Options:
    """Return the options with everything chosen that their sketch allows and they leave open.

    These are `bands` and `rows`, for their similarity and recall, or `polytopes`.  OptionError if
    the sketch has too few permutations for any choice.
    """
    sketch = options.sketch
    if not isinstance(sketch, Minhash):
        is_open = options.polytopes is None and sketch.vector_bytes > 0
        return replace(options, polytopes=USUAL_POLYTOPES) if is_open else options
    if options.bands is not None:
        return options
    chosen = index.banding.choose(
        sketch.permutations, options.similarity, options.recall,
        stored_bits=sketch.stored_bits, bands_max=TABLES_MAX,
    )  # fmt: skip
    return replace(options, bands=chosen.bands, rows=chosen.rows)
