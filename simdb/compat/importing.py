"""Importing: reads a pickle of datasketch, and makes a database of it."""

import io
import os
import struct
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from simdb import database
from simdb.compat.minwise import AFFINE32, AFFINE64, DTYPES, LARGEST, LEGACY
from simdb.compat.row_form import banded, chosen_bands, new_options
from simdb.compat.unpickler import (
    NONSENSE,
    StoredArray,
    StoredIndex,
    StoredKeys,
    StoredLean,
    StoredMinHash,
    Unpickler,
)
from simdb.core.arrays import describe
from simdb.core.documents import Signatures
from simdb.core.dtypes import U64
from simdb.core.errors import InputError, OptionError
from simdb.core.options import PERMUTATIONS_MOST, Minhash, Options
from simdb.database import EncodedIds
from simdb.storage import made_beside

UNFINISHED = ".importing"
# Memory limit for the hash values of a file: the larger of a fixed size and 16 times the file.
VALUES_BYTES, VALUES_TIMES = 1 << 26, 16
# The head of a LeanMinHash: seed and number of values.  If this is negative, the scheme follows.
LEAN_HEAD = struct.Struct("=qi")
LEAN_SCHEMES = {1: AFFINE32, 2: AFFINE64}


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


@dataclass(frozen=True, slots=True, eq=False)
class Pickled:
    """The content of a pickle: hash values uint64[n, k] by key, of one scheme and seed.

    For an index, `bands` are its b and r, k is b * r, and the seed is None, as it is not stored.
    """

    keys: list[Any]
    values: U64
    scheme: str
    seed: int | None
    bands: tuple[int, int] | None = None


def read_pickle(path: str, hashfuncs: Collection[str] = ()) -> Pickled:
    """Return the MinHash in a pickled MinHashLSH, dict, list of pairs or list (keys 0, 1, 2 ...).

    `hashfuncs` are names, "package.function", of hash functions that the pickle can mention; they
    are not imported.  Raises InputError for any other name or content.
    """
    content = Path(path).read_bytes()
    try:
        found = Unpickler(io.BytesIO(content), hashfuncs).load()
        limit = max(VALUES_BYTES, VALUES_TIMES * len(content))
        return _of_index(found, limit) if isinstance(found, StoredIndex) else _of_many(found, limit)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    except NONSENSE as error:
        raise InputError(f"{path} is not a pickle of datasketch: {error!r}") from None


def _of_index(index: StoredIndex, limit: int) -> Pickled:
    """Return the content of a MinHashLSH, from the hash values in its bands."""
    storage = index.get("keys")
    bands, rows = index.get("b"), index.get("r")
    if not isinstance(storage, StoredKeys) or not (_is_count(bands) and _is_count(rows)):
        raise InputError("the MinHashLSH has no keys, or its storage is not 'dict'")
    if index.get("prepickle"):
        raise InputError("the keys of the MinHashLSH are pickled; create it with prepickle=False")
    stored = storage.get("_dict", {})
    scheme = index.get("_minhash_scheme")
    widest = 8 * bands * rows
    _check_size(len(stored) * widest, limit)
    if any(len(band) > widest for bands_of in stored.values() for band in bands_of):
        raise InputError(
            "a band holds no hash values; an index that was made with hashfunc= does not store them"
        )
    # A key that was inserted several times has its newest bands last.
    parts = [b"".join(bands_of[-bands:]) for bands_of in stored.values()]
    if scheme is None:
        scheme = LEGACY if parts and len(parts[0]) == widest else AFFINE32
    width = np.dtype(_dtype_of(scheme)).itemsize * bands * rows
    if not all(len(part) == width for part in parts):
        raise InputError(
            "a band holds no hash values; an index that was made with hashfunc= does not store them"
        )
    order = np.dtype(_dtype_of(scheme)).newbyteorder(">")
    values = np.frombuffer(b"".join(parts), order).reshape(len(parts), bands * rows)
    return Pickled(
        list(stored), _checked(values.astype(np.uint64), scheme), scheme, None, (bands, rows)
    )


def _of_many(found: Any, limit: int) -> Pickled:
    """Return the content of a dict, a list of pairs or a list of MinHash."""
    if isinstance(found, dict):
        pairs = list(found.items())
    elif isinstance(found, list | tuple):
        is_paired = all(isinstance(each, tuple) and len(each) == 2 for each in found)
        pairs = list(found if is_paired else enumerate(found))
    else:
        raise InputError(
            f"the pickle holds {describe(found)}, not a MinHashLSH, or a dict or list of MinHash"
        )
    if not pairs:
        raise InputError("the pickle holds no MinHash")
    keys, many = map(list, zip(*pairs, strict=True))
    scheme, seed, first = _one(many[0])
    _check_size(len(many) * first.nbytes, limit)
    values = np.empty((len(many), len(first)), np.uint64)
    for at, each in enumerate(many):
        *kind, row = _one(each)
        if (*kind, len(row)) != (scheme, seed, len(first)):
            raise InputError(
                "the MinHash differ in scheme, seed or num_perm; import each kind separately"
            )
        values[at] = row
    return Pickled(keys, _checked(values, scheme), scheme, seed)


def _one(each: Any) -> tuple[str, int, U64]:
    """Return scheme, seed and hash values of one MinHash."""
    if isinstance(each, StoredLean):
        return _of_lean(each.state)
    if not isinstance(each, StoredMinHash):
        raise InputError(f"the pickle holds {describe(each)} instead of a MinHash")
    scheme, seed, row = each.get("scheme", LEGACY), each.get("seed"), each.get("hashvalues")
    if not isinstance(row, StoredArray) or not isinstance(seed, int):
        raise InputError("a MinHash has no hash values or no seed")
    _dtype_of(scheme)
    return scheme, seed, row.row().astype(np.uint64)


def _of_lean(state: Any) -> tuple[str, int, U64]:
    if not isinstance(state, bytes | bytearray):
        raise InputError("a LeanMinHash has no bytes")
    seed, count = LEAN_HEAD.unpack_from(state)
    scheme, start = LEGACY, LEAN_HEAD.size
    if count < 0:
        scheme, start, count = LEAN_SCHEMES[state[start]], start + 4, -count
    dtype = np.uint64 if scheme == AFFINE64 else np.uint32
    return scheme, seed, np.frombuffer(state, dtype, count, start).astype(np.uint64)


def _dtype_of(scheme: Any) -> Any:
    if not isinstance(scheme, str) or scheme == AFFINE64 or scheme not in DTYPES:
        raise InputError(
            f"the MinHash have scheme {scheme!r}; only {AFFINE32!r} and {LEGACY!r} can be imported."
            "  Insert them with simdb.compat.datasketch.MinHashLSH"
        )
    return DTYPES[scheme]


def _checked(values: U64, scheme: str) -> U64:
    if values.size and int(values.max()) > LARGEST[scheme]:
        raise InputError(f"a hash value has more than 32 bits, in scheme {scheme!r}")
    return values


def _check_size(size: int, limit: int) -> None:
    if size > limit:
        raise InputError(f"the file describes {size} bytes of hash values, many times its own size")


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and 0 < value <= PERMUTATIONS_MOST
