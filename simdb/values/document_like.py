"""Document-like values: the types of what the verbs take as one document, for type checkers.

Text as `str`, or as UTF-8 `bytes`; a list of tokens; `Features`; a `Fingerprint`, or a `Signature`
in a database of signatures; a vector, which is a float array of one dimension or one row of a CSR
matrix; a ready fingerprint, which is a whole number from 0 to 2**64 - 1.

A type checker then finds `query(3.5)` and `query(None)`.  At run time documents are checked as
before.  Code that passes a document on can name its type:
`def seen(document: simdb.DocumentLike) -> bool`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from simdb.ground.ids import IdT_co
from simdb.values.arrays import Fingerprint
from simdb.values.features import Features
from simdb.values.signatures import Signature

if TYPE_CHECKING:
    from simdb.values.signatures import Signature


class CsrRow(Protocol):
    """One row of a CSR matrix, such as scipy's: the attributes by which it is recognised."""

    @property
    def indptr(self) -> Any:
        """Where each row begins and ends in the other arrays: integer[2]."""

    @property
    def indices(self) -> Any:
        """The column of each entry."""

    @property
    def data(self) -> Any:
        """The value of each entry."""

    @property
    def shape(self) -> Any:
        """The numbers of rows and of columns."""


DocumentLike: TypeAlias = (
    str
    | bytes
    | Sequence[str | bytes]
    | Features
    | Fingerprint
    | Signature
    | npt.NDArray[np.floating[Any]]
    | CsrRow
    | int
    | np.integer[Any]
)


@dataclass(frozen=True, slots=True)
class Document(Generic[IdT_co]):
    """A stored document: the user's id, its fingerprint and the metadata given with it.

    The weights of the fingerprint are as stored: odd whole numbers from -15 to 15.  `signature` is
    None unless the database stores MinHash signatures; then the bits of `fingerprint` are a hash of
    the signature, so equal signatures have equal fingerprints.
    """

    id: IdT_co
    fingerprint: Fingerprint
    metadata: Any = None
    signature: "Signature | None" = None
