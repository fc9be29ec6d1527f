"""Unpickler: reads pickles of datasketch without running any code that they name.

A pickle is a program that can call any function it names.  Here, the few names that datasketch and
numpy write mean harmless classes and functions of this module.  Any other name raises InputError,
and nothing is imported.  The base class is Python's unpickler in Python, since the one in C
allocates memory for some lengths before it has read the bytes.
"""

import io
import pickle
import struct
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np

from simdb.core.dtypes import Array
from simdb.core.errors import InputError

NUMBERS = ("u4", "u8", "i4", "i8")
# The errors that an invalid pickle can cause in the unpickler, and in users of its result.
NONSENSE = (
    pickle.UnpicklingError, EOFError, ArithmeticError, AssertionError, AttributeError, LookupError,
    MemoryError, RecursionError, TypeError, ValueError, struct.error,
)  # fmt: skip


class PickledState:
    """The state of an object of datasketch, instead of the object."""

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
        """Take the name, such as "u8"; ignore the other arguments that numpy writes."""
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
        """Return the numbers of an array of one dimension."""
        _, shape, dtype, _, content = self.state
        row: Array = dtype.decode(content)
        if shape != (len(row),):
            raise InputError("hash values must be in one row; a WeightedMinHash cannot be imported")
        return row


class _Function:
    """A safe function, instead of one that the pickle names."""

    __slots__ = ("_call",)

    def __init__(self, call: Callable[..., Any]) -> None:
        self._call = call

    def __call__(self, *arguments: Any) -> Any:
        return self._call(*arguments)

    def __setstate__(self, state: Any) -> None:
        raise InputError("the pickle gives a function a state")


def _nothing(*arguments: Any) -> None:
    """Return None, instead of calling a method or hash function that is not needed."""


def _empty_map(*arguments: Any) -> dict[Any, Any]:
    return {}


def _set_of(items: Any = ()) -> set[Any]:
    if not isinstance(items, list) or any(isinstance(item, tuple) for item in items):
        raise InputError("a set is not made from a list of keys")
    return set(items)


def _new_object(kind: Any, *rest: Any) -> Any:
    if not (isinstance(kind, type) and issubclass(kind, PickledState)):
        raise InputError("an object has an unknown class")
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
    """Return bytes, which the oldest pickle protocols write as text."""
    if not isinstance(text, str):
        raise InputError("bytes are not made from text")
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
    """An unpickler that knows only the names in `NAMES`."""

    dispatch: ClassVar[dict[int, Any]] = dict(pickle._Unpickler.dispatch)

    def __init__(self, file: io.BytesIO, hashfuncs: Collection[str]) -> None:
        """Read a whole file in memory; `hashfuncs` are names that are accepted but not imported."""
        super().__init__(file)
        self._hashfuncs = frozenset(hashfuncs)

    def find_class(self, module: str, name: str) -> Any:
        """Return the harmless class or function that a name means here."""
        if name in (known := NAMES.get(module, {})):
            return known[name]
        if f"{module}.{name}" in self._hashfuncs:
            return _Function(_nothing)
        raise InputError(
            f"the pickle names {module}.{name}, which is not part of datasketch; it was not"
            " imported.  If it is the hash function of your MinHash, give it with --hashfunc"
        )

    def get_extension(self, code: int) -> None:
        """Refuse names that are given as numbers."""
        raise InputError(f"the pickle names the extension {code}; it was not imported")

    def load_bytearray8(self) -> None:
        """Read the bytes before memory is allocated for them."""
        (length,) = struct.unpack("<Q", self.read(8))  # type: ignore[attr-defined]
        self.append(bytearray(self.read(length)))  # type: ignore[attr-defined]

    dispatch[pickle.BYTEARRAY8[0]] = load_bytearray8

    def _check_keys_first(self, opcode: bytes, keys: slice) -> None:
        """Run an opcode that puts `keys` of the stack into a dict or set; refuse tuples.

        Hashing a deeply nested tuple would end the process.
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
