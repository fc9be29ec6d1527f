"""Pickles of datasketch, read without running anything that they name.

A pickle is a program that may call whatever it names.  Here the few names that datasketch and numpy
write stand for harmless parts of this module, and every other name is refused; nothing is imported.
The unpickler is Python's own in Python, since the one in C believes some lengths before it has seen
the bytes.  An object may stand in a file once and be meant often; what is made of them is held
against the size of the file.
"""

import io
import pickle
import struct
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from simdb.compat.minwise import AFFINE32, AFFINE64, DTYPES, LARGEST, LEGACY
from simdb.errors import InputError
from simdb.minhash import PERMUTATIONS_MOST
from simdb.values import describe

# What the hash values of a file may take: so much, or so many times the file.
ROOM_BYTES, ROOM_TIMES = 1 << 26, 16
NUMBERS = ("u4", "u8", "i4", "i8")
# What a wrong program of a pickle makes the unpickler or the parts below raise.
NONSENSE = (
    pickle.UnpicklingError, EOFError, ArithmeticError, AssertionError, AttributeError, LookupError,
    MemoryError, RecursionError, TypeError, ValueError, struct.error,
)  # fmt: skip
# Seed, number of values and, where that is below 0, the scheme of a LeanMinHash.
LEAN_HEAD = struct.Struct("=qi")
LEAN_SCHEMES = {1: AFFINE32, 2: AFFINE64}

Values = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True, eq=False)
class Pickled:
    """What a pickle holds: hash values uint64[n, k] by key, of one scheme and seed.

    Of an index: its `bands`, b and r, whose b * r hash values they are; it does not know the seed.
    """

    keys: list[Any]
    values: Values
    scheme: str
    seed: int | None
    bands: tuple[int, int] | None = None


def read_pickle(path: str, hashfuncs: Collection[str] = ()) -> Pickled:
    """The MinHash of a pickled MinHashLSH, dict, list of pairs or list, whose keys count from 0.

    `hashfuncs`: names of functions, "package.function", that the MinHash were made with; they are
    passed over.  InputError for any other name and for whatever else is in the file.
    """
    content = Path(path).read_bytes()
    try:
        found = _Unpickler(io.BytesIO(content), hashfuncs).load()
        room = max(ROOM_BYTES, ROOM_TIMES * len(content))
        return _of_index(found, room) if isinstance(found, _Index) else _of_many(found, room)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    except NONSENSE as error:
        raise InputError(f"{path} is no pickle of datasketch: {error!r}") from None


class _Object:
    """In the place of an object of datasketch: its state."""

    __slots__ = ("state",)

    def __init__(self) -> None:
        self.state: Any = None

    def __setstate__(self, state: Any) -> None:
        self.state = state

    def get(self, name: str, default: Any = None) -> Any:
        """An attribute."""
        if not isinstance(self.state, dict):
            raise InputError("an object of datasketch has no attributes")
        return self.state.get(name, default)


class _Index(_Object):
    __slots__ = ()


class _Storage(_Object):
    __slots__ = ()


class _MinHash(_Object):
    __slots__ = ()


class _Lean(_Object):
    __slots__ = ()


class _Dtype(_Object):
    """In the place of a numpy dtype; only whole numbers are of interest."""

    __slots__ = ("name",)

    def __init__(self, name: Any, *rest: Any) -> None:
        super().__init__()
        self.name = name

    def decode(self, content: Any) -> npt.NDArray[Any]:
        """The numbers in `content`."""
        order = self.state[1] if isinstance(self.state, tuple) else "<"
        if self.name not in NUMBERS or order not in ("<", ">", "=", "|"):
            raise InputError(f"there is an array of type {self.name!r}, where numbers are wanted")
        if not isinstance(content, bytes | bytearray):
            raise InputError("there is an array without its bytes")
        return np.frombuffer(content, np.dtype(f"{order}{self.name}"))


class _Array(_Object):
    """In the place of a numpy array."""

    __slots__ = ()

    def row(self) -> npt.NDArray[Any]:
        """The numbers of an array of one dimension."""
        _, shape, dtype, _, content = self.state
        row: npt.NDArray[Any] = dtype.decode(content)
        if shape != (len(row),):
            raise InputError("hash values are in one row; those of a WeightedMinHash are not")
        return row


class _Function:
    """In the place of a function: one that is safe."""

    __slots__ = ("_call",)

    def __init__(self, call: Callable[..., Any]) -> None:
        self._call = call

    def __call__(self, *arguments: Any) -> Any:
        return self._call(*arguments)

    def __setstate__(self, state: Any) -> None:
        raise InputError("a function is given a state")


def _nothing(*arguments: Any) -> None:
    """In the place of what is not needed, as the methods and hash functions that are stored."""


def _empty_map(*arguments: Any) -> dict[Any, Any]:
    return {}


def _set_of(items: Any = ()) -> set[Any]:
    if not isinstance(items, list) or any(isinstance(item, tuple) for item in items):
        raise InputError("a set is made of something else than a list of keys")
    return set(items)


def _new_object(kind: Any, *rest: Any) -> Any:
    if not (isinstance(kind, type) and issubclass(kind, _Object)):
        raise InputError("an object of an unknown class is made")
    return kind.__new__(kind)


def _new_array(*arguments: Any) -> _Array:
    return _Array()


def _array_of(content: Any, dtype: Any, shape: Any, *rest: Any) -> _Array:
    made = _Array()
    made.state = (1, shape, dtype, False, content)
    return made


def _number(dtype: Any, content: Any) -> int:
    (number,) = dtype.decode(content).tolist()
    return int(number)


def _encode(text: Any, *rest: Any) -> bytes:
    """Bytes as the oldest protocols write them."""
    if not isinstance(text, str):
        raise InputError("bytes are made of something else than text")
    return text.encode("latin-1")


_NUMPY_MULTIARRAY = {"_reconstruct": _Function(_new_array), "scalar": _Function(_number)}
_NUMPY_NUMERIC = {"_frombuffer": _Function(_array_of)}
_BUILTINS = {
    "getattr": _Function(_nothing), "list": _Function(_nothing), "object": _Function(_nothing),
    "set": _Function(_set_of),
}  # fmt: skip
_RECONSTRUCTOR = {"_reconstructor": _Function(_new_object)}
NAMES: Mapping[str, Mapping[str, Any]] = {
    "datasketch.lsh": {"MinHashLSH": _Index},
    "datasketch.minhash": {"MinHash": _MinHash},
    "datasketch.lean_minhash": {"LeanMinHash": _Lean},
    "datasketch.storage": {"DictListStorage": _Storage, "DictSetStorage": _Storage},
    "datasketch.hashfunc": {
        "sha1_hash32": _Function(_nothing), "sha1_hash64": _Function(_nothing),
    },
    "collections": {"defaultdict": _Function(_empty_map)},
    "builtins": _BUILTINS,
    "__builtin__": _BUILTINS,
    "copyreg": _RECONSTRUCTOR,
    "copy_reg": _RECONSTRUCTOR,
    "_codecs": {"encode": _Function(_encode)},
    "numpy": {"ndarray": _Array, "dtype": _Dtype},
    "numpy.core.multiarray": _NUMPY_MULTIARRAY,
    "numpy._core.multiarray": _NUMPY_MULTIARRAY,
    "numpy.core.numeric": _NUMPY_NUMERIC,
    "numpy._core.numeric": _NUMPY_NUMERIC,
}  # fmt: skip


class _Unpickler(pickle._Unpickler):
    """Python's unpickler, whose names are those above."""

    dispatch: ClassVar[dict[int, Any]] = dict(pickle._Unpickler.dispatch)

    def __init__(self, file: io.BytesIO, hashfuncs: Collection[str]) -> None:
        super().__init__(file)
        self._hashfuncs = frozenset(hashfuncs)

    def find_class(self, module: str, name: str) -> Any:
        """What stands in the place of a name."""
        if name in (known := NAMES.get(module, {})):
            return known[name]
        if f"{module}.{name}" in self._hashfuncs:
            return _Function(_nothing)
        raise InputError(
            f"the pickle names {module}.{name}, which datasketch's own do not; it was not imported."
            " If it is the hashfunc of your MinHash, give that name as --hashfunc"
        )

    def get_extension(self, code: int) -> None:
        """Refuse names by number."""
        raise InputError(f"the pickle names the extension {code}; it was not imported")

    def load_bytearray8(self) -> None:
        """Take no memory before the bytes have come."""
        (length,) = struct.unpack("<Q", self.read(8))  # type: ignore[attr-defined]
        self.append(bytearray(self.read(length)))  # type: ignore[attr-defined]

    dispatch[pickle.BYTEARRAY8[0]] = load_bytearray8

    def _hash_first(self, opcode: bytes, keys: slice) -> None:
        """Do what puts `keys` of the stack into a dict or set, unless tuples are among them.

        Hashing a tuple of tuples of tuples, very deep, ends the process.
        """
        if any(isinstance(key, tuple) for key in self.stack[keys]):  # type: ignore[attr-defined]
            raise InputError("there is a key that is a tuple; keys are str, bytes or int")
        pickle._Unpickler.dispatch[opcode[0]](self)  # type: ignore[arg-type]


for _opcode, _keys in (
    (pickle.SETITEM, slice(-2, -1)), (pickle.SETITEMS, slice(None, None, 2)),
    (pickle.DICT, slice(None, None, 2)), (pickle.ADDITEMS, slice(None)),
    (pickle.FROZENSET, slice(None)),
):  # fmt: skip
    _Unpickler.dispatch[_opcode[0]] = partial(_Unpickler._hash_first, opcode=_opcode, keys=_keys)


def _of_index(index: _Index, room: int) -> Pickled:
    """Of a MinHashLSH, by the hash values of its bands."""
    storage = index.get("keys")
    bands, rows = index.get("b"), index.get("r")
    if not isinstance(storage, _Storage) or not (_is_count(bands) and _is_count(rows)):
        raise InputError("there is a MinHashLSH without keys, or its storage is not 'dict'")
    if index.get("prepickle"):
        raise InputError("the keys of the MinHashLSH are pickles; make it with prepickle=False")
    stored = storage.get("_dict", {})
    scheme = index.get("_minhash_scheme")
    widest = 8 * bands * rows
    _check_room(len(stored) * widest, room)
    if any(len(band) > widest for bands_of in stored.values() for band in bands_of):
        raise InputError("a band is not of the hash values themselves; a hashfunc= leaves them out")
    # A key that was inserted again without a check has the newest last.
    parts = [b"".join(bands_of[-bands:]) for bands_of in stored.values()]
    if scheme is None:
        scheme = LEGACY if parts and len(parts[0]) == widest else AFFINE32
    width = np.dtype(_dtype_of(scheme)).itemsize * bands * rows
    if not all(len(part) == width for part in parts):
        raise InputError("a band is not of the hash values themselves; a hashfunc= leaves them out")
    order = np.dtype(_dtype_of(scheme)).newbyteorder(">")
    values = np.frombuffer(b"".join(parts), order).reshape(len(parts), bands * rows)
    return Pickled(
        list(stored), _checked(values.astype(np.uint64), scheme), scheme, None, (bands, rows)
    )


def _of_many(found: Any, room: int) -> Pickled:
    """Of MinHash by key, or one after the other."""
    if isinstance(found, dict):
        keys, many = list(found), list(found.values())
    elif isinstance(found, list | tuple) and all(
        isinstance(each, tuple) and len(each) == 2 for each in found
    ):
        keys, many = [key for key, _ in found], [each for _, each in found]
    elif isinstance(found, list | tuple):
        keys, many = list(range(len(found))), list(found)
    else:
        raise InputError(f"there is {describe(found)}, and no MinHashLSH, dict or list of MinHash")
    if not many:
        raise InputError("there is no MinHash")
    scheme, seed, first = _one(many[0])
    _check_room(len(many) * first.nbytes, room)
    values = np.empty((len(many), len(first)), np.uint64)
    for at, each in enumerate(many):
        *kind, row = _one(each)
        if (*kind, len(row)) != (scheme, seed, len(first)):
            raise InputError("the MinHash are of several schemes, seeds or num_perm; import each")
        values[at] = row
    return Pickled(keys, _checked(values, scheme), scheme, seed)


def _one(each: Any) -> tuple[str, int, Values]:
    """Scheme, seed and hash values of one MinHash."""
    if isinstance(each, _Lean):
        return _of_lean(each.state)
    if not isinstance(each, _MinHash):
        raise InputError(f"there is {describe(each)} in the place of a MinHash")
    scheme, seed, row = each.get("scheme", LEGACY), each.get("seed"), each.get("hashvalues")
    if not isinstance(row, _Array) or not isinstance(seed, int):
        raise InputError("there is a MinHash without hash values or seed")
    _dtype_of(scheme)
    return scheme, seed, row.row().astype(np.uint64)


def _of_lean(state: Any) -> tuple[str, int, Values]:
    if not isinstance(state, bytes | bytearray):
        raise InputError("there is a LeanMinHash without its bytes")
    seed, count = LEAN_HEAD.unpack_from(state)
    scheme, start = LEGACY, LEAN_HEAD.size
    if count < 0:
        scheme, start, count = LEAN_SCHEMES[state[start]], start + 4, -count
    dtype = np.uint64 if scheme == AFFINE64 else np.uint32
    return scheme, seed, np.frombuffer(state, dtype, count, start).astype(np.uint64)


def _dtype_of(scheme: Any) -> Any:
    if not isinstance(scheme, str) or scheme == AFFINE64 or scheme not in DTYPES:
        raise InputError(
            f"the MinHash are of scheme {scheme!r}; databases take {AFFINE32!r} and {LEGACY!r},"
            " of 32 bits"
        )
    return DTYPES[scheme]


def _checked(values: Values, scheme: str) -> Values:
    if values.size and int(values.max()) > LARGEST[scheme]:
        raise InputError(f"there are hash values of more than 32 bits in scheme {scheme!r}")
    return values


def _check_room(size: int, room: int) -> None:
    if size > room:
        raise InputError(
            f"the file stands for {size} bytes of hash values, which is many times what is in it"
        )


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and 0 < value <= PERMUTATIONS_MOST
