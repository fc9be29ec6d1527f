"""Row form: the bands and keys of an index, and the stored minima for hash values of datasketch.

Datasketch's rule chooses b bands of r rows from a threshold and two weights.  Two documents of
similarity s become candidates with probability 1 - (1 - s^r)^b.  Below the threshold, the area
under this curve counts false positives; above the threshold, the area above the curve counts false
negatives.  The rule takes the b and r with the least weighted sum.

Hash values are packed into 32-bit minima for storage.  In the schemes "affine32" and "legacy" a
hash value is a minimum.  In "affine64" a hash value becomes two minima, and so does a pair (k, t)
in "weighted".  The pair is first turned into k 2^32 + t, with t mod 2^32.  These 64 bits are mixed
by the finaliser of MurmurHash3 and cut into halves, the lower half first.  The finaliser is
one-to-one, so nothing is lost.  Since it mixes, two different values agree in a half as rarely as
random numbers, so that the share of equal minima estimates the similarity.

A database has ids of str, bytes and int.  A key of one of these types is its own id.  A bool or
float key that is equal to an int is that int, as in a dict.  Each other key becomes bytes that
begin with `MARK`.  `WrittenKeys` writes None, float and tuples of keys in Python syntax.
`NumberedKeys` takes any hashable key, gives it a number and keeps it in memory.
"""

import ast
import math
from collections.abc import Hashable
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.compat.minwise import AFFINE32, AFFINE64, DTYPES, LARGEST, LEGACY, MIXING, mixed
from simdb.core.arrays import Id, describe
from simdb.core.checks import one_of, whole
from simdb.core.choices import FamilyName
from simdb.core.cold import MadeOnce
from simdb.core.documents import Signature, Signatures
from simdb.core.dtypes import F64, U32, U64
from simdb.core.errors import InputError, OptionError
from simdb.core.options import PERMUTATIONS_MOST, PERMUTATIONS_STEP, TABLES_MAX, Minhash, Options
from simdb.core.values import dataclass

USUAL_THRESHOLD, USUAL_COUNT, USUAL_WEIGHTS = 0.9, 128, (0.5, 0.5)
# The scheme of a weighted MinHash, which has none in datasketch.
WEIGHTED = "weighted"
FAMILY_OF: dict[str, FamilyName] = {
    AFFINE32: "datasketch-affine32", LEGACY: "datasketch-legacy", AFFINE64: "datasketch-affine64",
    WEIGHTED: "datasketch-weighted",
}  # fmt: skip
# The least number of minima of a database, as in earlier versions, so that old databases open.
STORED_LEAST = 16
SCHEME_OF: dict[str, str] = {family: scheme for scheme, family in FAMILY_OF.items()}
# Number of minima for a hash value.
WIDTHS = {AFFINE32: 1, LEGACY: 1, AFFINE64: 2, WEIGHTED: 2}
INT32 = np.iinfo(np.int32)

Values = npt.NDArray[Any]
MARK = b"\0simdb-key:"
# The ids that a database accepts: whole numbers of 64 bits, and 1 to 1,023 bytes.
LEAST, MOST = -(2**63), 2**64 - 1
BYTES_MOST = 1023
NESTED_MOST = 50


@dataclass(frozen=True)
class RowForm:
    """The form of an index by `bands` of `rows` hash values.

    The index takes MinHash of one `scheme` and `seed`.  They have `length` hash values, or, if that
    is None, at least the number that the bands need.
    """

    scheme: str
    seed: int
    bands: int
    rows: int
    length: int | None = None

    @MadeOnce
    def options(self) -> Options:
        """Options of a database of this form; raise OptionError if no database can have it."""
        return new_options((self.bands, self.rows), self.scheme, self.seed)

    @MadeOnce
    def sketch(self) -> Minhash:
        """Sketch of a database of this form."""
        assert isinstance(self.options.sketch, Minhash)
        return self.options.sketch

    @MadeOnce
    def fits_database(self) -> bool:
        """Return whether a database can have this number of bands and minima."""
        try:
            return self.options is not None
        except OptionError:
            return False

    @MadeOnce
    def _places(self) -> npt.NDArray[np.intp]:
        """Position in a row for each stored minimum, since some minima are stored twice.

        Only the minima in bands are stored.  Their number is rounded up to a multiple of 8 by
        repeating the first minima, which does not bias the estimated similarity.
        """
        return np.arange(self.sketch.permutations) % (self.bands * self.band_minima)

    @property
    def band_minima(self) -> int:
        """Number of minima in a band."""
        return self.rows * WIDTHS[self.scheme]

    def row(self, minhash: Any) -> U32:
        """Return the minima of a MinHash that are in bands: uint32[bands * band_minima]."""
        known = kind_of(minhash)
        if known != (self.scheme, self.seed):
            raise InputError(
                f"the MinHash has scheme {known[0]!r} and seed {known[1]}, but the index has"
                f" {self.scheme!r} and {self.seed}; make the index with MinHashLSH(scheme=, seed=)"
            )
        values, needed = minhash.hashvalues, self.bands * self.rows
        if len(values) < needed or self.length not in (None, len(values)):
            raise InputError(
                f"the MinHash has {len(values)} hash values, but the index needs"
                f" {self.length or f'at least {needed}'}"
            )
        return packed(values[:needed], self.scheme)

    def signature(self, row: U32) -> Signature:
        """Return a row as a document of a database."""
        return Signature(row[self._places], self.sketch)

    def signatures(self, rows: npt.NDArray[Any]) -> Signatures:
        """Return rows [n, minima in bands or more] as documents of a database."""
        minima = np.ascontiguousarray(rows[:, self._places], np.uint32)
        return Signatures(minima, self.sketch, np.zeros(len(rows), np.bool_))

    def keys_of(self, row: U32) -> list[bytes]:
        """Return the hash values of each band as the bytes that datasketch looks up."""
        values = unpacked(row.reshape(self.bands, self.band_minima), self.scheme)
        return [band.tobytes() for band in values.byteswap()]


def form_of(options: Options, length: int | None) -> RowForm | None:
    """Return the form of a database of datasketch; None for any other database."""
    sketch = options.sketch
    if not isinstance(sketch, Minhash) or not sketch.is_ready or sketch.stored_bits != 32:
        return None
    assert options.bands is not None
    assert options.rows is not None
    scheme = SCHEME_OF[sketch.family]
    return RowForm(scheme, sketch.seed, options.bands, options.rows // WIDTHS[scheme], length)


def kind_of(minhash: Any) -> tuple[str, int]:
    """Return the scheme and the seed of a MinHash; raise InputError for any other object."""
    values = getattr(minhash, "hashvalues", None)
    seed = getattr(minhash, "seed", None)
    if not isinstance(values, np.ndarray) or seed is None:
        raise InputError(
            f"{describe(minhash)} has no hash values and seed; give a MinHash of"
            " simdb.compat.datasketch or of datasketch"
        )
    if values.ndim == 2:
        return WEIGHTED, seed
    return getattr(minhash, "scheme", LEGACY), seed


def new_options(
    bands: tuple[int, int], scheme: str | None = None, seed: int | None = None
) -> Options:
    """Return the options of a new database for `bands`, the numbers (b, r) of bands and rows."""
    scheme = AFFINE32 if scheme is None else scheme
    one_of("scheme", scheme, tuple(FAMILY_OF))
    count, rows = bands
    minima = count * rows * WIDTHS[scheme]
    if count > TABLES_MAX:
        raise OptionError(
            f"{count} bands are too many: a database has at most {TABLES_MAX}; use fewer with"
            " params=(b, r), a higher threshold= or a smaller num_perm="
        )
    if minima > PERMUTATIONS_MOST:
        raise OptionError(
            f"{count} bands of {rows} hash values are {minima} minima of 32 bits: a database has at"
            f" most {PERMUTATIONS_MOST}; use fewer with params=(b, r) or a smaller num_perm="
        )
    steps = -(-max(minima, STORED_LEAST) // PERMUTATIONS_STEP)
    sketch = Minhash(
        permutations=steps * PERMUTATIONS_STEP, family=FAMILY_OF[scheme],
        seed=1 if seed is None else seed,
    )  # fmt: skip
    return Options(sketch=sketch, bands=count, rows=rows * WIDTHS[scheme])


def chosen_bands(
    threshold: float | None,
    num_perm: int | None,
    weights: tuple[float, float] | None,
    params: tuple[int, int] | None,
) -> tuple[int, int]:
    """Return the b and r that datasketch chooses; raise OptionError for invalid arguments."""
    threshold = USUAL_THRESHOLD if threshold is None else threshold
    if not 0 <= threshold <= 1:
        raise OptionError(f"threshold must be from 0 to 1, got {threshold!r}")
    positive, negative = weights = weights or USUAL_WEIGHTS
    if min(positive, negative) < 0 or not math.isclose(positive + negative, 1):
        raise OptionError(f"weights must be two numbers of at least 0 with sum 1, got {weights!r}")
    count = USUAL_COUNT if num_perm is None else num_perm
    whole("num_perm", count, 2, 2**32)
    bands, rows = params or choose_bands(threshold, count, positive, negative)
    if bands < 2 or rows < 1 or bands * rows > count:
        raise OptionError(
            f"b={bands} bands of r={rows} hash values are not possible: use b of at least 2, and"
            f" b * r of at most num_perm={count}"
        )
    return bands, rows


@lru_cache(maxsize=64)
def choose_bands(
    threshold: float, num_perm: int, false_positive_weight: float, false_negative_weight: float
) -> tuple[int, int]:
    """Return the b and r with the least error; at equal error, with the fewest bands, then rows."""
    least, chosen = np.inf, (0, 0)
    below, below_shares = _points(0.0, threshold, num_perm)
    above, above_shares = _points(threshold, 1.0, num_perm)
    for bands in range(1, num_perm + 1):
        rows = np.arange(1, num_perm // bands + 1)[:, None]
        found = (1 - (1 - below**rows) ** bands) @ below_shares
        missed = (1 - above**rows) ** bands @ above_shares
        errors = found * false_positive_weight + missed * false_negative_weight
        best = int(errors.argmin())
        if errors[best] < least:
            least, chosen = float(errors[best]), (bands, best + 1)
    return chosen


def packed(values: Values, scheme: str) -> U32:
    """Return the minima uint32[n * width] of hash values [n], or of pairs [n, 2]."""
    if scheme == WEIGHTED:
        return _halves(_paired(values))
    if values.dtype.kind != "u" or values.ndim != 1:
        raise InputError(f"hash values must be unsigned numbers in one row, got {describe(values)}")
    if scheme == AFFINE64:
        return _halves(values.astype(np.uint64, copy=False))
    if values.dtype != np.uint32 and int(values.max(initial=0)) > LARGEST[LEGACY]:
        raise InputError(f"a hash value has more than 32 bits, in scheme {scheme!r}")
    return values.astype(np.uint32, copy=False)


def unpacked(minima: U32, scheme: str) -> Values:
    """Return the hash values of minima [..., n * width], in the type of datasketch."""
    if WIDTHS[scheme] == 1:
        return minima.astype(DTYPES[scheme])
    # Undo `mixed`.
    shift, first, _, second, _ = MIXING[AFFINE64]
    values = np.ascontiguousarray(minima, "<u4").view("<u8").astype(np.uint64)
    # A shift by more than half of the bits is its own inverse, and the multipliers are odd.
    for multiplier in (second, first):
        values = values ^ (values >> np.uint64(shift))
        values = values * np.uint64(pow(multiplier, -1, 2**64))
    whole = np.asarray(values ^ (values >> np.uint64(shift)))
    if scheme == AFFINE64:
        return whole
    pairs = np.empty((*whole.shape, 2), np.int64)
    pairs[..., 0] = (whole >> np.uint64(32)).astype(np.int64)
    pairs[..., 1] = whole.astype(np.uint32).view(np.int32)
    return pairs


def _paired(values: Values) -> U64:
    """Return pairs int64[n, 2] as one number each."""
    if values.dtype.kind not in "iu" or values.ndim != 2 or values.shape[1] != 2:
        raise InputError(
            f"the hash values of a weighted MinHash must be whole numbers [n, 2], got"
            f" {describe(values)}"
        )
    places, steps = values[:, 0].astype(np.int64), values[:, 1].astype(np.int64)
    fits = (places >= 0) & (places < 2**32) & (steps >= INT32.min) & (steps <= INT32.max)
    if not fits.all():
        raise InputError(
            f"the pair {values[~fits][0].tolist()} of a weighted MinHash does not fit into 32 bits"
            " each; scale the weights so that they are nearer to 1"
        )
    return places.astype(np.uint64) << np.uint64(32) | steps.astype(np.uint32).astype(np.uint64)


def _halves(values: U64) -> U32:
    return mixed(values, AFFINE64).astype("<u8").view("<u4").astype(np.uint32)


def _points(start: float, stop: float, num_perm: int) -> tuple[F64, F64]:
    """Return the points and weights of Gauss-Legendre quadrature from `start` to `stop`.

    The curve is a polynomial of degree `num_perm` at most; n points are exact to degree 2 n - 1.
    """
    places, shares = np.polynomial.legendre.leggauss(num_perm // 2 + 1)
    half = (stop - start) / 2
    return start + half * (places + 1), shares * half


class WrittenKeys:
    """The keys of an index at a path, all stored in the database."""

    def encode(self, key: Any) -> Id:
        """Return the id of a key; raise InputError for a type that is not stored."""
        plain = _plain(key)
        return MARK + repr(_written(key)).encode() if plain is None else plain

    def find(self, key: Any) -> Id | None:
        """Return the id of a key that may be unknown; None if no index can have the key."""
        try:
            return self.encode(key)
        except InputError:
            return None

    def decode(self, id: Id) -> Any:
        """Return the key of an id."""
        if not isinstance(id, bytes) or not id.startswith(MARK):
            return id
        try:
            return ast.literal_eval(id[len(MARK) :].decode())
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            return id

    def forget(self, id: Id) -> None:
        """Do nothing, since nothing is kept in memory."""


class NumberedKeys:
    """The keys of a temporary index; keys that cannot be ids of a database are kept in memory."""

    def __init__(self) -> None:
        """Start without keys."""
        self._ids: dict[Any, bytes] = {}
        self._keys: dict[bytes, Any] = {}
        self._next = 0

    def encode(self, key: Hashable) -> Id:
        """Return the id of a key, and remember the key if it is not itself an id."""
        known = self.find(key)
        if known is not None:
            return known
        made = MARK + b"%d" % self._next
        self._next += 1
        self._ids[key], self._keys[made] = made, key
        return made

    def find(self, key: Hashable) -> Id | None:
        """Return the id of a key; None for an unknown key."""
        plain = _plain(key)
        try:
            return self._ids.get(key) if plain is None else plain
        except TypeError:
            raise InputError(
                f"the key is {describe(key)}, which has no hash; give a key that a dict accepts"
            ) from None

    def decode(self, id: Id) -> Any:
        """Return the key of an id."""
        return self._keys.get(id, id) if isinstance(id, bytes) else id

    def forget(self, id: Id) -> None:
        """Forget the key of an id that was removed."""
        if isinstance(id, bytes) and id in self._keys:
            del self._ids[self._keys.pop(id)]


Keys = WrittenKeys | NumberedKeys


def _plain(key: Any) -> Id | None:
    """Return the key if it can be an id; None for every other key."""
    if isinstance(key, str):
        try:
            return str(key) if 0 < len(key.encode()) <= BYTES_MOST else None
        except UnicodeEncodeError:
            return None
    if isinstance(key, bytes):
        is_plain = 0 < len(key) <= BYTES_MOST and not key.startswith(MARK)
        return bytes(key) if is_plain else None
    if isinstance(key, int | float | np.integer) and math.isfinite(key) and key == int(key):
        return int(key) if LEAST <= key <= MOST else None
    return None


def _written(key: Any, depth: int = 0) -> Any:
    """Return a key of plain types equal to `key`; raise InputError for other types."""
    if isinstance(key, tuple) and depth < NESTED_MOST:
        return tuple(_written(each, depth + 1) for each in key)
    if isinstance(key, int | float | np.integer) and math.isfinite(key):
        return int(key) if key == int(key) else float(key)
    if key is None or isinstance(key, str):
        return key if key is None else str(key)
    if isinstance(key, bytes):
        return bytes(key)
    raise InputError(
        f"the key is {describe(key)}; an index with path= stores keys of str, bytes, int, float,"
        " None and tuples of these: give such a key, for example str(key)"
    )
