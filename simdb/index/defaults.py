"""Defaults: the tables of a database where its options leave them open."""

from dataclasses import replace

from simdb import index
from simdb.ground.checks import share
from simdb.settings.options import TABLES_MAX, USUAL_POLYTOPES, Minhash, Options


def settled(
    options: Options, *, similarity: float | None = None, recall: float | None = None
) -> Options:
    """Return the options with everything chosen that their sketch allows and they leave open.

    These are `bands` and `rows`, or `polytopes`.  Bands are chosen for `similarity` and `recall`,
    or for those of the options; no bands reach a recall of 1.  OptionError if the sketch has too
    few permutations for any choice.
    """
    for name, value in (("similarity", similarity), ("recall", recall)):
        if value is not None:
            share(name, value)
    sketch = options.sketch
    if not isinstance(sketch, Minhash):
        is_open = options.polytopes is None and sketch.vector_bytes > 0
        return replace(options, polytopes=USUAL_POLYTOPES) if is_open else options
    if options.bands is not None:
        return options
    chosen = index.bands.choose(
        sketch.permutations,
        options.similarity if similarity is None else similarity,
        options.recall if recall is None or recall >= 1 else recall,
        stored_bits=sketch.stored_bits, bands_max=TABLES_MAX,
    )  # fmt: skip
    return replace(options, bands=chosen.bands, rows=chosen.rows)
