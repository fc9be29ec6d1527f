"""Importing: reads a pickle of datasketch and makes a database from it.

A pickle is a program that can call any function it names.  Here, the few names that datasketch and
numpy write stand for harmless classes and functions of this module.  Any other name raises
InputError, and nothing is imported.  The base class is Python's unpickler written in Python, since
the C version allocates memory for some lengths before it has read the bytes.
"""

import io
import os
import pickle
import struct
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from simdb import database
from simdb.compat.minwise import AFFINE32, AFFINE64, DTYPES, LARGEST, LEGACY
from simdb.compat.row_form import RowForm, chosen_bands
from simdb.core.arrays import describe
from simdb.core.dtypes import U64, Array
from simdb.core.errors import InputError, OptionError
from simdb.core.options import PERMUTATIONS_MOST
from simdb.core.values import dataclass
from simdb.database import EncodedIds
from simdb.storage import made_beside

UNFINISHED = ".importing"
WITHOUT_VALUES = (
    "a band holds no hash values; an index that was made with hashfunc= does not store them"
)
# Memory limit for the hash values of a file: 64 MB or 16 times the file, whichever is larger.
VALUES_BYTES, VALUES_TIMES = 1 << 26, 16
# The head of a LeanMinHash: seed and number of values.  If the number is negative, the scheme
# follows.
LEAN_HEAD = struct.Struct("=qi")
LEAN_SCHEMES = {1: AFFINE32, 2: AFFINE64}
NUMBERS = ("u4", "u8", "i4", "i8")
# The errors that an invalid pickle can cause in the unpickler, and in users of its result.
NONSENSE = (
    pickle.UnpicklingError, EOFError, ArithmeticError, AssertionError, AttributeError, LookupError,
    MemoryError, RecursionError, TypeError, ValueError, struct.error,
)  # fmt: skip


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
    """Make a new database from a pickled MinHashLSH, or a dict or list of MinHash.

    Either all documents are stored, or no database is made.  Open the database with
    `MinHashLSH(path=)`.

    Parameters
    ----------
    source : str
        Path of the pickle.
    path : str or path
        Directory of the new database.
    threshold : float, optional
        The similarity for which datasketch chooses bands; 0.9 if not given.  A MinHashLSH has its
        own bands, and does not take it.
    params : tuple of int, optional
        The numbers of bands and of rows, instead of `threshold`.
    seed : int, optional
        The seed of a MinHashLSH, which does not store it; 1 if not given.  MinHash store their
        seed.
    hashfuncs : collection of str
        Names of hash functions that the pickle may mention; see `read_pickle`.

    Returns
    -------
    Imported
        The number of documents and the options of the database.

    Raises
    ------
    InputError
        If the pickle cannot be imported.
    OptionError
        If an argument does not fit the pickle, or no database can have the bands.
    ExistsError
        If there is a database at `path`.
    """
    found = read_pickle(source, hashfuncs)
    if found.bands is not None and (threshold is not None or params is not None):
        raise OptionError(
            "the pickle is an index, which has its own bands; leave out threshold and params"
        )
    if None not in (found.seed, seed) and found.seed != seed:
        raise OptionError(
            f"the MinHash objects have seed {found.seed}, not {seed}; leave out the seed"
        )
    chosen = found.bands or chosen_bands(threshold, found.values.shape[1], None, params)
    given = next(each for each in (found.seed, seed, 1) if each is not None)
    form = RowForm(found.scheme, given, *chosen)

    def fill(directory: str) -> int:
        """Make the database in `directory`, write it to the disk; return its document count."""
        options = form.options
        with database.open(directory, "x", options=options, durability="process") as made:
            return made.insert_many(found.keys, signatures)

    # Before a database is made, raise for keys that cannot be stored.
    EncodedIds(found.keys).check_distinct()
    signatures = form.signatures(found.values)
    count = made_beside(os.fsdecode(path), UNFINISHED, fill)
    return Imported(count, found.scheme, given, *chosen)


@dataclass(frozen=True, slots=True, eq=False)
class Pickled:
    """The content of a pickle: hash values uint64[n, k] by key, of one scheme and seed.

    For an index, `bands` are its b and r, k is b * r, and the seed is None, because it is not
    stored.
    """

    keys: list[Any]
    values: U64
    scheme: str
    seed: int | None
    bands: tuple[int, int] | None = None


def read_pickle(path: str, hashfuncs: Collection[str] = ()) -> Pickled:
    """Return the MinHash in a pickled MinHashLSH, dict, list of pairs or list (keys 0, 1, 2 ...).

    `hashfuncs` are names, "package.function", of hash functions that the pickle may mention; they
    are not imported.  Any other name or content raises InputError.
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


def _of_index(index: "StoredIndex", limit: int) -> Pickled:
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
        raise InputError(WITHOUT_VALUES)
    # A key that was inserted several times has its newest bands last.
    parts = [b"".join(bands_of[-bands:]) for bands_of in stored.values()]
    if scheme is None:
        scheme = LEGACY if parts and len(parts[0]) == widest else AFFINE32
    width = np.dtype(_dtype_of(scheme)).itemsize * bands * rows
    if not all(len(part) == width for part in parts):
        raise InputError(WITHOUT_VALUES)
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
                "the MinHash objects differ in scheme, seed or num_perm; import each kind alone"
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


class PickledState:
    """The state of an object of datasketch, in place of the object."""

    __slots__ = ("state",)

    def __init__(self) -> None:
        """Make an object without a state."""
        self.state: Any = None

    def __setstate__(self, state: Any) -> None:
        """Keep the state, of any kind."""
        self.state = state

    def get(self, name: str, default: Any = None) -> Any:
        """Return an attribute, or `default`."""
        if not isinstance(self.state, dict):
            raise InputError("an object of datasketch has no attributes in the pickle")
        return self.state.get(name, default)


class StoredIndex(PickledState):
    """A MinHashLSH."""

    __slots__ = ()


class StoredKeys(PickledState):
    """A storage in memory, of keys or of one band."""

    __slots__ = ()


class StoredMinHash(PickledState):
    """A MinHash."""

    __slots__ = ()


class StoredLean(PickledState):
    """A LeanMinHash, whose state is bytes."""

    __slots__ = ()


class StoredDtype(PickledState):
    """A numpy dtype; only whole numbers are accepted."""

    __slots__ = ("name",)

    def __init__(self, name: Any, *rest: Any) -> None:
        """Keep the name, such as "u8"; ignore the other arguments that numpy writes."""
        super().__init__()
        self.name = name

    def decode(self, content: Any) -> Array:
        """Return the numbers in `content`."""
        order = self.state[1] if isinstance(self.state, tuple) else "<"
        if self.name not in NUMBERS or order not in ("<", ">", "=", "|"):
            raise InputError(f"an array has type {self.name!r}, not whole numbers")
        if not isinstance(content, bytes | bytearray):
            raise InputError("an array has no bytes")
        return np.frombuffer(content, np.dtype(f"{order}{self.name}"))


class StoredArray(PickledState):
    """A numpy array."""

    __slots__ = ()

    def row(self) -> Array:
        """Return the numbers of a one-dimensional array."""
        _, shape, dtype, _, content = self.state
        row: Array = dtype.decode(content)
        if shape != (len(row),):
            raise InputError("hash values must be in one row; a WeightedMinHash cannot be imported")
        return row


class _Function:
    """A safe function, in place of a function that the pickle names."""

    __slots__ = ("_call",)

    def __init__(self, call: Callable[..., Any]) -> None:
        self._call = call

    def __call__(self, *arguments: Any) -> Any:
        return self._call(*arguments)

    def __setstate__(self, state: Any) -> None:
        raise InputError("the pickle gives a function a state")


def _set_of(items: Any = ()) -> set[Any]:
    if not isinstance(items, list) or any(isinstance(item, tuple) for item in items):
        raise InputError("a set is not made from a list of keys")
    return set(items)


def _new_object(kind: Any, *rest: Any) -> Any:
    if not (isinstance(kind, type) and issubclass(kind, PickledState)):
        raise InputError("an object has an unknown class")
    return kind.__new__(kind)


def _array_of(content: Any, dtype: Any, shape: Any, *rest: Any) -> StoredArray:
    made = StoredArray()
    made.state = (1, shape, dtype, False, content)
    return made


def _number(dtype: Any, content: Any) -> int:
    (number,) = dtype.decode(content).tolist()
    return int(number)


def _encode(text: Any, *rest: Any) -> bytes:
    """Return bytes that the oldest pickle protocols write as text."""
    if not isinstance(text, str):
        raise InputError("bytes are not made from text")
    return text.encode("latin-1")


# Replaces methods and hash functions that are not needed.
_NOTHING = _Function(lambda *arguments: None)
_NUMPY_MULTIARRAY = {
    "_reconstruct": _Function(lambda *arguments: StoredArray()), "scalar": _Function(_number),
}  # fmt: skip
_NUMPY_NUMERIC = {"_frombuffer": _Function(_array_of)}
_BUILTINS = {
    "getattr": _NOTHING, "list": _NOTHING, "object": _NOTHING,
    "set": _Function(_set_of),
}  # fmt: skip
_RECONSTRUCTOR = {"_reconstructor": _Function(_new_object)}
NAMES: Mapping[str, Mapping[str, Any]] = {
    "datasketch.lsh": {"MinHashLSH": StoredIndex},
    "datasketch.minhash": {"MinHash": StoredMinHash},
    "datasketch.lean_minhash": {"LeanMinHash": StoredLean},
    "datasketch.storage": {"DictListStorage": StoredKeys, "DictSetStorage": StoredKeys},
    "datasketch.hashfunc": {
        "sha1_hash32": _NOTHING, "sha1_hash64": _NOTHING,
    },
    "collections": {"defaultdict": _Function(lambda *arguments: {})},
    "builtins": _BUILTINS,
    "__builtin__": _BUILTINS,
    "copyreg": _RECONSTRUCTOR,
    "copy_reg": _RECONSTRUCTOR,
    "_codecs": {"encode": _Function(_encode)},
    "numpy": {"ndarray": StoredArray, "dtype": StoredDtype},
    "numpy.core.multiarray": _NUMPY_MULTIARRAY,
    "numpy._core.multiarray": _NUMPY_MULTIARRAY,
    "numpy.core.numeric": _NUMPY_NUMERIC,
    "numpy._core.numeric": _NUMPY_NUMERIC,
}  # fmt: skip


class Unpickler(pickle._Unpickler):
    """An unpickler that knows only the names in `NAMES`."""

    dispatch: ClassVar[dict[int, Any]] = dict(pickle._Unpickler.dispatch)

    def __init__(self, file: io.BytesIO, hashfuncs: Collection[str]) -> None:
        """Read from a file in memory; `hashfuncs`: names to accept without importing them."""
        super().__init__(file)
        self._hashfuncs = frozenset(hashfuncs)

    def find_class(self, module: str, name: str) -> Any:
        """Return the harmless class or function that stands for a name here."""
        if name in (known := NAMES.get(module, {})):
            return known[name]
        if f"{module}.{name}" in self._hashfuncs:
            return _NOTHING
        raise InputError(
            f"the pickle names {module}.{name}, which is not part of datasketch; it was not"
            " imported.  If it is the hash function of your MinHash, give it with --hashfunc"
        )

    def get_extension(self, code: int) -> None:
        """Refuse names that are given as extension codes."""
        raise InputError(f"the pickle names the extension {code}; it was not imported")

    def load_bytearray8(self) -> None:
        """Read the bytes before allocating memory for them."""
        (length,) = struct.unpack("<Q", self.read(8))  # type: ignore[attr-defined]
        self.append(bytearray(self.read(length)))  # type: ignore[attr-defined]

    dispatch[pickle.BYTEARRAY8[0]] = load_bytearray8

    def _check_keys_first(self, opcode: bytes, keys: slice) -> None:
        """Run an opcode that puts `keys` of the stack into a dict or set, unless a key is a tuple.

        Hashing a deeply nested tuple would crash the process.
        """
        if any(isinstance(key, tuple) for key in self.stack[keys]):  # type: ignore[attr-defined]
            raise InputError("a key is a tuple; keys must be str, bytes or int")
        pickle._Unpickler.dispatch[opcode[0]](self)  # type: ignore[arg-type]


for _opcode, _keys in (
    (pickle.SETITEM, slice(-2, -1)), (pickle.SETITEMS, slice(None, None, 2)),
    (pickle.DICT, slice(None, None, 2)), (pickle.ADDITEMS, slice(None)),
    (pickle.FROZENSET, slice(None)),
):  # fmt: skip
    Unpickler.dispatch[_opcode[0]] = partial(
        Unpickler._check_keys_first, opcode=_opcode, keys=_keys
    )
