"""Importing: makes a database from a pickle of datasketch."""

import os
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from simdb import database
from simdb.compat.band_choice import banded, chosen_bands, new_options
from simdb.compat.pickled import read_pickle
from simdb.engine.state.incoming import EncodedIds
from simdb.ground.errors import OptionError
from simdb.settings.minhash import Minhash
from simdb.settings.options import Options
from simdb.storage.files.new_directory import made_beside
from simdb.values.signatures import Signatures

UNFINISHED = ".importing"


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of an import: the number of documents and the options of the database."""

    documents: int
    scheme: str
    seed: int
    bands: int
    rows: int


def import_datasketch(
    source: str,
    path: str | os.PathLike[str],
    *,
    threshold: float | None = None,
    params: tuple[int, int] | None = None,
    seed: int | None = None,
    hashfuncs: Collection[str] = (),
) -> Imported:
    """Make a new database from a pickled MinHashLSH, or a dict or list of MinHash, all or nothing.

    A MinHashLSH has its own bands but does not store its `seed`, which is 1 if not given.  MinHash
    store their seed, and get bands for `threshold` (0.9) or by `params`, b and r.  `read_pickle`
    describes `hashfuncs`.  Open the database with `MinHashLSH(path=)`.  Raises InputError for a
    pickle that cannot be imported, and ExistsError if there is a database at `path`.
    """
    found = read_pickle(source, hashfuncs)
    if found.bands is not None and (threshold is not None or params is not None):
        raise OptionError(
            "the pickle is an index, which has its own bands; leave out threshold and params"
        )
    if None not in (found.seed, seed) and found.seed != seed:
        raise OptionError(f"the MinHash have seed {found.seed}, not {seed}; leave out the seed")
    chosen = found.bands or chosen_bands(threshold, found.values.shape[1], None, params)
    options = new_options(chosen, found.scheme, seed if found.seed is None else found.seed)
    assert isinstance(options.sketch, Minhash)
    # Raises for keys that cannot be stored, before a database is made.
    EncodedIds(found.keys).check_distinct()
    minima = banded(found.values, options)
    signatures = Signatures(minima, options.sketch, np.zeros(len(minima), np.bool_))
    count = made_beside(
        os.fsdecode(path), UNFINISHED, lambda place: _fill(place, options, found.keys, signatures)
    )
    return Imported(count, found.scheme, options.sketch.seed, *chosen)


def _fill(directory: str, options: Options, keys: list[Any], signatures: Signatures) -> int:
    """Make the database in `directory`, write it to the disk and return its document count."""
    with database.open(directory, "x", options=options, durability="process") as made:
        return made.insert_many(keys, signatures)
