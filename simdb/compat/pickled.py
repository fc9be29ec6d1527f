"""Pickles of datasketch: reads the MinHash in them.

A pickle can contain an object once and refer to it many times, so the memory for the hash values is
limited by the size of the file.
"""

import io
import struct
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.compat.minwise import AFFINE32, AFFINE64, DTYPES, LARGEST, LEGACY
from simdb.compat.unpickler import (
    NONSENSE,
    StoredArray,
    StoredIndex,
    StoredKeys,
    StoredLean,
    StoredMinHash,
    Unpickler,
)
from simdb.ground.errors import InputError
from simdb.settings.minhash import PERMUTATIONS_MOST
from simdb.values.arrays import describe

# Memory limit for the hash values of a file: the larger of a fixed size and 16 times the file.
ROOM_BYTES, ROOM_TIMES = 1 << 26, 16
# The head of a LeanMinHash: seed and number of values.  If this is negative, the scheme follows.
LEAN_HEAD = struct.Struct("=qi")
LEAN_SCHEMES = {1: AFFINE32, 2: AFFINE64}

Values = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True, eq=False)
class Pickled:
    """The content of a pickle: hash values uint64[n, k] by key, of one scheme and seed.

    For an index, `bands` are its b and r, k is b * r, and the seed is None, as it is not stored.
    """

    keys: list[Any]
    values: Values
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
        room = max(ROOM_BYTES, ROOM_TIMES * len(content))
        return _of_index(found, room) if isinstance(found, StoredIndex) else _of_many(found, room)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    except NONSENSE as error:
        raise InputError(f"{path} is not a pickle of datasketch: {error!r}") from None


def _of_index(index: StoredIndex, room: int) -> Pickled:
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
    _check_room(len(stored) * widest, room)
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


def _of_many(found: Any, room: int) -> Pickled:
    """Return the content of a dict, a list of pairs or a list of MinHash."""
    if isinstance(found, dict):
        keys, many = list(found), list(found.values())
    elif isinstance(found, list | tuple) and all(
        isinstance(each, tuple) and len(each) == 2 for each in found
    ):
        keys, many = [key for key, _ in found], [each for _, each in found]
    elif isinstance(found, list | tuple):
        keys, many = list(range(len(found))), list(found)
    else:
        raise InputError(
            f"the pickle holds {describe(found)}, not a MinHashLSH, or a dict or list of MinHash"
        )
    if not many:
        raise InputError("the pickle holds no MinHash")
    scheme, seed, first = _one(many[0])
    _check_room(len(many) * first.nbytes, room)
    values = np.empty((len(many), len(first)), np.uint64)
    for at, each in enumerate(many):
        *kind, row = _one(each)
        if (*kind, len(row)) != (scheme, seed, len(first)):
            raise InputError(
                "the MinHash differ in scheme, seed or num_perm; import each kind separately"
            )
        values[at] = row
    return Pickled(keys, _checked(values, scheme), scheme, seed)


def _one(each: Any) -> tuple[str, int, Values]:
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


def _of_lean(state: Any) -> tuple[str, int, Values]:
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


def _checked(values: Values, scheme: str) -> Values:
    if values.size and int(values.max()) > LARGEST[scheme]:
        raise InputError(f"a hash value has more than 32 bits, in scheme {scheme!r}")
    return values


def _check_room(size: int, room: int) -> None:
    if size > room:
        raise InputError(f"the file describes {size} bytes of hash values, many times its own size")


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and 0 < value <= PERMUTATIONS_MOST
