"""Keying: the keys that the tables of a database store, chosen by its options."""

from dataclasses import replace

from simdb.index.banding import Banding, choose
from simdb.index.bands import Bands
from simdb.index.permutation import Permutations
from simdb.minhash import Minhash
from simdb.options import TABLES_MAX, Options

Keying = Permutations | Bands


def keying_of(options: Options) -> Keying:
    """Return block permutations for fingerprints, or bands for signatures.

    The options must be `settled`.
    """
    if options.is_minhash:
        return bands_of(options)
    return Permutations(options.blocks, options.leading)


def bands_of(options: Options) -> Bands:
    """Return the bands for signatures; the options must be `settled`."""
    assert isinstance(options.sketch, Minhash)
    assert options.bands is not None
    assert options.rows is not None
    return Bands(options.sketch, Banding(options.bands, options.rows))


def settled(options: Options) -> Options:
    """Return the options with `bands` and `rows` chosen for their similarity and recall if missing.

    OptionError if the sketch has too few permutations for any choice.
    """
    sketch = options.sketch
    if not isinstance(sketch, Minhash) or options.bands is not None:
        return options
    chosen = choose(
        sketch.permutations, options.similarity, options.recall,
        stored_bits=sketch.stored_bits, bands_max=TABLES_MAX,
    )  # fmt: skip
    return replace(options, bands=chosen.bands, rows=chosen.rows)
