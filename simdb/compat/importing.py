"""From a pickle of datasketch to a database."""

import os
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from simdb import database
from simdb.compat.band_choice import banded, chosen_bands, new_options
from simdb.compat.pickled import read_pickle
from simdb.engine.state.incoming import EncodedIds
from simdb.errors import OptionError
from simdb.minhash import Minhash
from simdb.options import Options
from simdb.signatures import Signatures
from simdb.storage.files.new_directory import made_beside

UNFINISHED = ".importing"


@dataclass(frozen=True, slots=True)
class Imported:
    """What was imported: how many, and how they are kept."""

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
    """Make a new database of a pickled MinHashLSH, or dict or list of MinHash: all, or nothing.

    An index keeps its bands, and does not know its `seed`, 1 where none is given; MinHash know
    their seed and get bands for a `threshold` (0.9), or `params`, b and r.  See `read_pickle` for
    `hashfuncs`.  Open it by `MinHashLSH(path=)`.  InputError for what cannot be imported,
    ExistsError where there is a database.
    """
    found = read_pickle(source, hashfuncs)
    if found.bands is not None and (threshold is not None or params is not None):
        raise OptionError("the pickle is of an index, which has its bands; leave out the threshold")
    if None not in (found.seed, seed) and found.seed != seed:
        raise OptionError(f"the MinHash are of seed {found.seed}, not {seed}; leave it out")
    chosen = found.bands or chosen_bands(threshold, found.values.shape[1], None, params)
    options = new_options(chosen, found.scheme, seed if found.seed is None else found.seed)
    assert isinstance(options.sketch, Minhash)
    EncodedIds(found.keys)  # so that no database is made for keys that cannot be
    minima = banded(found.values, options)
    signatures = Signatures(minima, options.sketch, np.zeros(len(minima), np.bool_))
    count = made_beside(
        os.fsdecode(path), UNFINISHED, lambda place: _fill(place, options, found.keys, signatures)
    )
    return Imported(count, found.scheme, options.sketch.seed, *chosen)


def _fill(directory: str, options: Options, keys: list[Any], signatures: Signatures) -> int:
    """Make the database in `directory`; closing it writes all to the disk."""
    with database.open(directory, "x", options=options, durability="process") as made:
        return made.insert_many(keys, signatures)
