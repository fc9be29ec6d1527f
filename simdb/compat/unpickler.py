"""An unpickler for datasketch that runs nothing of what a pickle names.

A pickle is a program that may call whatever it names.  Here the few names that datasketch and numpy
write stand for harmless parts of this module, and every other name is refused; nothing is imported.
The unpickler is Python's own in Python, since the one in C believes some lengths before it has seen
the bytes.
"""

import io
import pickle
import struct
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from simdb.errors import InputError

NUMBERS = ("u4", "u8", "i4", "i8")
# What a wrong program of a pickle makes the unpickler raise, and whoever believes what it gives.
NONSENSE = (
    pickle.UnpicklingError, EOFError, ArithmeticError, AssertionError, AttributeError, LookupError,
    MemoryError, RecursionError, TypeError, ValueError, struct.error,
)  # fmt: skip


class Stored:
    """In the place of an object of datasketch: its state."""

    __slots__ = ("state",)

    def __init__(self) -> None:
        """Without a state yet."""
        self.state: Any = None

    def __setstate__(self, state: Any) -> None:
        """Take it, whatever it is."""
        self.state = state

    def get(self, name: str, default: Any = None) -> Any:
        """An attribute."""
        if not isinstance(self.state, dict):
            raise InputError("an object of datasketch has no attributes")
        return self.state.get(name, default)


class StoredIndex(Stored):
    """A MinHashLSH."""

    __slots__ = ()


class StoredKeys(Stored):
    """A storage of keys, or of a band, in memory."""

    __slots__ = ()


class StoredMinHash(Stored):
    """A MinHash."""

    __slots__ = ()


class StoredLean(Stored):
    """A LeanMinHash, whose state is bytes."""

    __slots__ = ()


class StoredDtype(Stored):
    """In the place of a numpy dtype; only whole numbers are of interest."""

    __slots__ = ("name",)

    def __init__(self, name: Any, *rest: Any) -> None:
        """As numpy writes it: "u8" and the like, and what is of no use here."""
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


class StoredArray(Stored):
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
    if not (isinstance(kind, type) and issubclass(kind, Stored)):
        raise InputError("an object of an unknown class is made")
    return kind.__new__(kind)


def _new_array(*arguments: Any) -> StoredArray:
    return StoredArray()


def _array_of(content: Any, dtype: Any, shape: Any, *rest: Any) -> StoredArray:
    made = StoredArray()
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
    "datasketch.lsh": {"MinHashLSH": StoredIndex},
    "datasketch.minhash": {"MinHash": StoredMinHash},
    "datasketch.lean_minhash": {"LeanMinHash": StoredLean},
    "datasketch.storage": {"DictListStorage": StoredKeys, "DictSetStorage": StoredKeys},
    "datasketch.hashfunc": {
        "sha1_hash32": _Function(_nothing), "sha1_hash64": _Function(_nothing),
    },
    "collections": {"defaultdict": _Function(_empty_map)},
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
    """Python's unpickler, whose names are those above."""

    dispatch: ClassVar[dict[int, Any]] = dict(pickle._Unpickler.dispatch)

    def __init__(self, file: io.BytesIO, hashfuncs: Collection[str]) -> None:
        """Of a whole file in memory; `hashfuncs`: names that are passed over."""
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
    Unpickler.dispatch[_opcode[0]] = partial(Unpickler._hash_first, opcode=_opcode, keys=_keys)
