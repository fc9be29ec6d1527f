"""Row form: which MinHash an index takes, and the row of minima that it keeps of each."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.compat.band_choice import (
    SCHEME_OF,
    WEIGHTED,
    WIDTHS,
    banded,
    new_options,
    packed,
    places_of,
    unpacked,
)
from simdb.compat.minwise import LEGACY
from simdb.ground.errors import InputError, OptionError
from simdb.settings.minhash import Minhash
from simdb.settings.options import Options
from simdb.values.arrays import describe
from simdb.values.signatures import Signature, Signatures

U32 = npt.NDArray[np.uint32]


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


@dataclass(frozen=True)
class RowForm:
    """The form of an index by `bands` of `rows` hash values.

    The index takes MinHash of one `scheme` and `seed`, with `length` hash values; if that is None,
    with as many as the bands need, or more.
    """

    scheme: str
    seed: int
    bands: int
    rows: int
    length: int | None = None

    @cached_property
    def options(self) -> Options:
        """The options of a database of this form; OptionError if no database can have it."""
        return new_options((self.bands, self.rows), self.scheme, self.seed)

    @cached_property
    def sketch(self) -> Minhash:
        """The sketch of a database of this form."""
        assert isinstance(self.options.sketch, Minhash)
        return self.options.sketch

    @cached_property
    def fits_database(self) -> bool:
        """Whether a database can have so many bands and minima."""
        try:
            return self.options is not None
        except OptionError:
            return False

    @cached_property
    def _places(self) -> npt.NDArray[np.intp]:
        return places_of(self.options)

    @property
    def band_minima(self) -> int:
        """The number of minima in a band."""
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

    def signatures(self, rows: U32) -> Signatures:
        """Return rows [n, ...] as documents of a database."""
        return Signatures(banded(rows, self.options), self.sketch, np.zeros(len(rows), np.bool_))

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
