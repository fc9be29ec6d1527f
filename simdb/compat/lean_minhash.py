"""LeanMinHash: a MinHash of datasketch that is never updated, and its bytes.

    seed int64 | count int32 | hash values uint32[count]                        scheme "legacy"
    seed int64 | -count int32 | code uint8 | hash values uint32 or uint64[count]   other schemes

The byte order, and whether the values are aligned, is that of a format of the `struct` module.
"""

import struct
from collections.abc import Iterable
from typing import Any

import numpy as np

from simdb.compat.minwise import AFFINE32, AFFINE64, LEGACY, MinHash, fitting, known_scheme
from simdb.errors import InputError, OptionError

# The schemes that have a code, and the formats of one hash value.
CODES = {AFFINE32: 1, AFFINE64: 2}
SCHEMES = {code: scheme for scheme, code in CODES.items()}
FORMATS = {LEGACY: "I", AFFINE32: "I", AFFINE64: "Q"}
NATIVE = "@"


class LeanMinHash(MinHash):
    """A MinHash without its permutations and hash function: small, hashable, never updated."""

    __slots__ = ("hashvalues", "scheme", "seed")

    def __init__(
        self,
        minhash: MinHash | None = None,
        seed: int | None = None,
        hashvalues: Any = None,
        scheme: str | None = None,
    ) -> None:
        """Take the hash values of a MinHash, or `seed`, `hashvalues` and their `scheme`."""
        if minhash is not None:
            if scheme not in (None, minhash.scheme):
                raise OptionError(
                    f"the MinHash has scheme {minhash.scheme!r}, not {scheme!r}; leave out scheme="
                )
            self._set(minhash.seed, minhash.hashvalues, minhash.scheme)
            return
        if seed is None or hashvalues is None:
            raise OptionError("give a MinHash, or seed=, hashvalues= and scheme=")
        if scheme is None:
            raise OptionError(
                "hashvalues= needs scheme=, the scheme they were made with; it is 'legacy' before"
                " datasketch 2.0"
            )
        self._set(seed, hashvalues, known_scheme(scheme))

    def update(self, b: Any) -> None:
        """Raise TypeError: a LeanMinHash is never updated."""
        raise TypeError("a LeanMinHash cannot be updated; update the MinHash it was made from")

    def update_batch(self, b: Iterable[Any]) -> None:
        """Raise TypeError: a LeanMinHash is never updated."""
        self.update(b)

    def copy(self) -> "LeanMinHash":
        """Return an independent copy."""
        return LeanMinHash(self)

    @classmethod
    def union(cls, *mhs: MinHash) -> "LeanMinHash":
        """Return the LeanMinHash of the union of two or more sets."""
        if len(mhs) < 2:
            raise InputError(f"union needs two or more MinHash, got {len(mhs)}")
        united = cls(mhs[0])
        for each in mhs[1:]:
            united.merge(each)
        return united

    def bytesize(self, byteorder: str = NATIVE) -> int:
        """Return the number of bytes that `serialize` writes."""
        return struct.calcsize(self._format(byteorder))

    def serialize(self, buf: Any, byteorder: str = NATIVE) -> None:
        """Write this MinHash to the start of a writable buffer, such as a bytearray.

        `byteorder` is "@", "=", "<", ">" or "!", as in the `struct` module.  Raises InputError if
        the buffer is too short.
        """
        if len(buf) < self.bytesize(byteorder):
            raise InputError(
                f"the buffer has {len(buf)} bytes, but the MinHash needs {self.bytesize(byteorder)}"
            )
        code = [CODES[self.scheme]] if self.scheme in CODES else []
        count = -len(self) if code else len(self)
        values = self.hashvalues.tolist()
        struct.pack_into(self._format(byteorder), buf, 0, self.seed, count, *code, *values)

    @classmethod
    def deserialize(cls, buf: Any, byteorder: str = NATIVE) -> "LeanMinHash":
        """Return the LeanMinHash at the start of a buffer; InputError if there is none."""
        made = cls.__new__(cls)
        made._read(buf, byteorder)
        return made

    def __hash__(self) -> int:  # type: ignore[override]
        """Return a hash of scheme, seed and hash values."""
        return hash((self.scheme, self.seed, self.hashvalues.tobytes()))

    def __getstate__(self) -> bytearray:
        """Return the bytes of `serialize`, the state that datasketch pickles."""
        content = bytearray(self.bytesize())
        self.serialize(content)
        return content

    def __setstate__(self, state: Any) -> None:
        """Take the bytes of `serialize`."""
        self._read(state, NATIVE)

    def _set(self, seed: int, hashvalues: Any, scheme: str) -> None:
        self.seed, self.scheme = seed, scheme
        self.hashvalues = np.array(fitting(hashvalues, scheme, "hashvalues"))
        if not len(self.hashvalues):
            raise OptionError("hashvalues= is empty; give one hash value or more")

    def _format(self, byteorder: str) -> str:
        code = "B" if self.scheme in CODES else ""
        return f"{byteorder}qi{code}{len(self)}{FORMATS[self.scheme]}"

    def _read(self, buf: Any, byteorder: str) -> None:
        """Take the content of a buffer."""
        content = memoryview(buf)
        head = f"{byteorder}qi"
        try:
            seed, count = struct.unpack_from(head, content)
            scheme, before = LEGACY, head
            if count < 0:
                before += "B"
                scheme = SCHEMES[struct.unpack_from(before, content)[2]]
            # Without a value the format still aligns the first one.
            start = struct.calcsize(f"{before}0{FORMATS[scheme]}")
            values = struct.unpack_from(f"{byteorder}{abs(count)}{FORMATS[scheme]}", content, start)
        except (struct.error, KeyError) as error:
            raise InputError(f"the buffer holds no LeanMinHash: {error}") from None
        self._set(seed, np.array(values, np.uint64), scheme)
