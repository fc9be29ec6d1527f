"""MinHash of datasketch, with the same hash values, bit for bit.

A value is hashed to 32 bits (64 in "affine64") with SHA-1 or a function of the caller.  Hash value
i of a set is the minimum of a_i h + b_i over the hashes h of all its values.  There are three
schemes.  "affine32" and "affine64" of datasketch 2.0 first mix h with the finaliser of MurmurHash3
and compute modulo 2^32 and 2^64, with odd a_i.  "legacy" of earlier versions takes the low 32 bits
of (a_i h + b_i mod 2^64) mod 2^61 - 1.  The a_i and b_i come from `numpy.random.RandomState(seed)`,
whose stream numpy has frozen.
"""

import hashlib
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.core.checks import called, one_of
from simdb.core.errors import InputError, OptionError

SCHEMES = AFFINE32, AFFINE64, LEGACY = ("affine32", "affine64", "legacy")
DTYPES: dict[str, Any] = {AFFINE32: np.uint32, AFFINE64: np.uint64, LEGACY: np.uint64}
LARGEST = {AFFINE32: 2**32 - 1, AFFINE64: 2**64 - 1, LEGACY: 2**32 - 1}
GPU_MODES = ("disable", "detect")
MERSENNE_PRIME = 2**61 - 1
# Products in a batch, which fit in the cache.
PRODUCTS = 1 << 15
# Shift, multiplier, shift, multiplier, shift of the finaliser of MurmurHash3.
MIXING: dict[str, tuple[int, int, int, int, int]] = {
    AFFINE32: (16, 0x85EBCA6B, 13, 0xC2B2AE35, 16),
    AFFINE64: (33, 0xFF51AFD7ED558CCD, 33, 0xC4CEB9FE1A85EC53, 33),
}

Values = npt.NDArray[Any]
Hash = Callable[[Any], int]


def sha1_hash32(data: bytes) -> int:
    """Return a 32-bit hash of bytes: the first four bytes of their SHA-1 digest, little-endian."""
    return int.from_bytes(hashlib.sha1(data, usedforsecurity=False).digest()[:4], "little")


def sha1_hash64(data: bytes) -> int:
    """Return a 64-bit hash of bytes: the first eight bytes of their SHA-1 digest, little-endian."""
    return int.from_bytes(hashlib.sha1(data, usedforsecurity=False).digest()[:8], "little")


# For these hash functions all digests are computed together; the number is the bytes used per
# digest.
DIGEST_BYTES = 20
DIGESTED = ((sha1_hash32, 4), (sha1_hash64, 8))


class MinHash:
    """A MinHash signature of a set, with the names, arguments and results of datasketch.

    `hashvalues`: uint32[num_perm], or uint64 in the schemes "affine64" and "legacy".
    """

    def __init__(
        self,
        num_perm: int = 128,
        seed: int = 1,
        gpu_mode: str = "disable",
        hashfunc: Hash | None = None,
        hashobj: object = None,
        hashvalues: npt.ArrayLike | None = None,
        permutations: Any = None,
        scheme: str | None = None,
    ) -> None:
        """Make the MinHash of an empty set, or from hash values.

        Parameters
        ----------
        num_perm : int, default 128
            Number of hash values.
        seed : int, default 1
            Seed of the permutations.
        gpu_mode : {"disable", "detect"}, default "disable"
            Changes nothing.
        hashfunc : callable, optional
            Function that hashes an added value to 32 bits, or to 64 bits in scheme "affine64";
            SHA-1 if not given.
        hashobj : object, optional
            Deprecated in datasketch; changes nothing.
        hashvalues : array_like, optional
            Hash values that were made with `scheme`.
        permutations : array_like, optional
            The a_i and b_i, if they do not come from `seed`.
        scheme : {"affine32", "affine64", "legacy"}, optional
            How values are hashed; "affine32" if not given.  It is needed with `hashvalues` and
            `permutations`.

        Raises
        ------
        OptionError
            If an argument is invalid, or `scheme` is missing.
        """
        if gpu_mode not in GPU_MODES:
            raise OptionError(
                f"gpu_mode must be one of {', '.join(map(repr, GPU_MODES))}, got {gpu_mode!r};"
                " simdb computes on the processor"
            )
        if hashobj is not None:
            warnings.warn("hashobj= does nothing; use hashfunc=", DeprecationWarning, stacklevel=2)
        if scheme is None and (hashvalues is not None or permutations is not None):
            raise OptionError(
                "hashvalues= and permutations= need scheme=, the scheme they were made with; it is"
                " 'legacy' before datasketch 2.0"
            )
        self.scheme = AFFINE32 if scheme is None else scheme
        one_of("scheme", self.scheme, SCHEMES)
        self.seed = seed
        called("hashfunc", hashfunc)
        self.hashfunc = hashfunc or (sha1_hash64 if self.scheme == AFFINE64 else sha1_hash32)
        if hashvalues is not None:
            self.hashvalues = fitting(hashvalues, self.scheme, "hashvalues")
            num_perm = len(self.hashvalues)
        if num_perm < 1:
            raise OptionError(f"num_perm must be 1 or more, got {num_perm}")
        self.num_perm = num_perm
        if hashvalues is None:
            self.hashvalues = np.full(num_perm, LARGEST[self.scheme], DTYPES[self.scheme])
        if permutations is None:
            self.permutations = _permutations(self.scheme, seed, num_perm)
        else:
            self.permutations = _given_permutations(permutations, self.scheme)
        if len(self.permutations[0]) != num_perm:
            raise OptionError(
                f"permutations= has {len(self.permutations[0])} columns, but there are {num_perm}"
                " hash values"
            )

    def update(self, b: Any) -> None:
        """Add one value to the set."""
        self.update_batch([b])

    def update_batch(self, b: Iterable[Any]) -> None:
        """Add many values to the set."""
        hashes = self._hash(b)
        step = max(PRODUCTS // self.num_perm, 1)
        multipliers, increments = self.permutations
        for start in range(0, len(hashes), step):
            part = hashes[start : start + step, None] * multipliers + increments
            if self.scheme == LEGACY:
                part = part % np.uint64(MERSENNE_PRIME) & np.uint64(LARGEST[LEGACY])
            self.hashvalues = np.minimum(self.hashvalues, part.min(axis=0))

    def jaccard(self, other: "MinHash") -> float:
        """Return the estimated Jaccard similarity of both sets."""
        self._check_alike(other)
        return float(np.count_nonzero(self.hashvalues == other.hashvalues)) / len(self)

    def count(self) -> float:
        """Return the estimated number of distinct values in the set (Cohen 1994)."""
        shares = self.hashvalues / float(LARGEST[self.scheme])
        return float(float(len(self)) / np.sum(shares) - 1.0)

    def merge(self, other: "MinHash") -> None:
        """Turn this MinHash into the MinHash of the union of both sets."""
        self._check_alike(other)
        self.hashvalues = np.minimum(other.hashvalues, self.hashvalues)

    def digest(self) -> Values:
        """Return a copy of the hash values."""
        return self.hashvalues.copy()

    def is_empty(self) -> bool:
        """Return whether no value was added."""
        return bool((self.hashvalues == LARGEST[self.scheme]).all())

    def clear(self) -> None:
        """Turn this MinHash into the MinHash of an empty set."""
        self.hashvalues = np.full(len(self), LARGEST[self.scheme], DTYPES[self.scheme])

    def copy(self) -> "MinHash":
        """Return an independent copy."""
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        made.hashvalues = self.digest()
        return made

    def __len__(self) -> int:
        """Return the number of hash values."""
        return len(self.hashvalues)

    def __eq__(self, other: object) -> bool:
        """Return whether classes, schemes, seeds and hash values are equal."""
        if not isinstance(other, MinHash) or type(self) is not type(other):
            return NotImplemented
        return (self.scheme, self.seed) == (other.scheme, other.seed) and np.array_equal(
            self.hashvalues, other.hashvalues
        )

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def union(cls, *mhs: "MinHash") -> "MinHash":
        """Return the MinHash of the union of two or more sets."""
        if len(mhs) < 2:
            raise InputError(f"union needs two or more MinHash, got {len(mhs)}")
        united = mhs[0].copy()
        for each in mhs[1:]:
            united.merge(each)
        return united

    @classmethod
    def bulk(cls, b: Iterable[Iterable[Any]], **minhash_kwargs: Any) -> list["MinHash"]:
        """Return a MinHash for each of many sets, all made with the same arguments."""
        return list(cls.generator(b, **minhash_kwargs))

    @classmethod
    def generator(cls, b: Iterable[Iterable[Any]], **minhash_kwargs: Any) -> Iterator["MinHash"]:
        """Yield a MinHash for each of many sets, all made with the same arguments."""
        empty = cls(**minhash_kwargs)
        for values in b:
            made = empty.copy()
            made.update_batch(values)
            yield made

    def _hash(self, values: Iterable[Any]) -> Values:
        """Return the hashes of values, mixed unless the scheme is "legacy"."""
        try:
            found = self._hash_unmixed(values)
        except OverflowError:
            raise InputError(
                f"hashfunc returned more than {np.dtype(DTYPES[self.scheme]).itemsize * 8} bits or"
                f" a negative number in scheme {self.scheme!r}; use a hashfunc of 32 bits, or"
                " scheme='affine64'"
            ) from None
        return found if self.scheme == LEGACY else mixed(found, self.scheme)

    def _hash_unmixed(self, values: Iterable[Any]) -> Values:
        dtype = np.dtype(DTYPES[self.scheme])
        taken = next((size for each, size in DIGESTED if each is self.hashfunc), None)
        if taken is None or taken > dtype.itemsize:
            return np.array([self.hashfunc(value) for value in values], dtype)
        digests = [hashlib.sha1(value, usedforsecurity=False).digest() for value in values]
        rows = np.frombuffer(b"".join(digests), np.uint8).reshape(-1, DIGEST_BYTES)
        return np.ascontiguousarray(rows[:, :taken]).view(f"<u{taken}")[:, 0].astype(dtype)

    def _check_alike(self, other: "MinHash") -> None:
        """Raise InputError unless the hash values of both can be compared."""
        left = (self.scheme, self.seed, len(self))
        right = (getattr(other, "scheme", LEGACY), other.seed, len(other))
        if left != right:
            raise InputError(
                f"both MinHash must have the same scheme, seed and num_perm, got {left} and {right}"
            )


def fitting(values: Any, scheme: str, name: str, most: int | None = None) -> Values:
    """Return whole numbers as an array of the scheme's type.

    Raises InputError if one does not fit.
    """
    given = np.asarray(values, None if isinstance(values, np.ndarray) else object)
    largest = min(most or LARGEST[scheme], np.iinfo(DTYPES[scheme]).max)
    is_whole = given.dtype.kind in "iu" or all(
        isinstance(each, int | np.integer) for each in given.flat
    )
    if given.ndim != 1 or not is_whole:
        raise InputError(f"{name} must be whole numbers in one row")
    if len(given) and (int(given.min()) < 0 or int(given.max()) > largest):
        raise InputError(f"{name} of scheme {scheme!r} must be from 0 to {largest}")
    return given.astype(DTYPES[scheme])


def mixed(hashes: Values, scheme: str) -> Values:
    """Return the hashes mixed by the finaliser of MurmurHash3, a one-to-one function."""
    dtype = DTYPES[scheme]
    first, one, second, two, third = map(dtype, MIXING[scheme])
    hashes = (hashes ^ (hashes >> first)) * one
    hashes = (hashes ^ (hashes >> second)) * two
    return np.asarray(hashes ^ (hashes >> third))


@lru_cache(maxsize=64)
def _permutations(scheme: str, seed: int, count: int) -> Values:
    """Return the a_i and b_i of a seed, in one row each."""
    stream = np.random.RandomState(seed)
    if scheme == LEGACY:
        pairs = [
            (
                stream.randint(1, MERSENNE_PRIME, dtype=np.uint64),
                stream.randint(0, MERSENNE_PRIME, dtype=np.uint64),
            )
            for _ in range(count)
        ]
        made = np.array(pairs, np.uint64).T.copy()
    else:
        dtype, width = DTYPES[scheme], np.dtype(DTYPES[scheme]).itemsize * 8
        halves = stream.randint(0, 1 << (width - 1), count, dtype=dtype)
        increments = stream.randint(0, 1 << width, count, dtype=dtype)
        made = np.array([halves * dtype(2) + dtype(1), increments])
    made.flags.writeable = False  # shared by all MinHash with this seed
    return made


def _given_permutations(permutations: Any, scheme: str) -> Values:
    """Check and return the caller's a_i and b_i."""
    if len(permutations) != 2:
        raise OptionError(f"permutations= must have two rows, a_i and b_i, got {len(permutations)}")
    made = np.array([fitting(row, scheme, "permutations", 2**64 - 1) for row in permutations])
    if scheme != LEGACY and (made[0] & DTYPES[scheme](1) == 0).any():
        raise OptionError(f"each a_i in permutations= must be odd in scheme {scheme!r}")
    return made
