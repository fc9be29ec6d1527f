"""What is asked of a search, and of what: the planner's two sides."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

from simdb.errors import OptionError
from simdb.plan.cost import FINGERPRINT_BYTES

KEY_BYTES = 8
ORDINAL_BYTES = 4
HEADER_BYTES = 4
ASKING_SECONDS = 0.4e-6  # fetching a stored document and the levels of its bits, to ask with it


@dataclass(frozen=True, slots=True)
class Criterion:
    """What counts as a match.

    At most `distance` differing bits and at least `similarity`, where they are not None (one of
    them is not), found with probability `recall`, by `method`.  `is_weighted`: every query has
    weights; `is_stored`: they are stored documents, whose weights are rounded.  `rotations` of
    method="rotation"; None: as many as the recall takes.
    """

    similarity: float | None
    distance: int | None
    recall: float
    method: str
    is_weighted: bool = False
    is_stored: bool = False
    rotations: int | None = None


@dataclass(frozen=True, slots=True)
class Population:
    """What is searched: so many fingerprints, in tables of `blocks` choose `leading` blocks."""

    STORES: ClassVar[str] = "fingerprints"

    count: int
    blocks: int
    leading: int
    header_bits: int  # fewest leading bits of any table
    directory_bits: int  # width of the widest directory
    has_vectors: bool
    is_swept: bool = False  # all pairs are asked for, each from one side
    vector_bytes: int = 0  # of one volatility vector
    crowding: float = 1.0  # how many times the mean a stored document's header holds of others
    unseen: int = 0  # documents of those that the calibration does not cover

    def grown(self, count: int, directory_bits: int) -> "Population":
        """Return the same tables with `count` documents in one run."""
        return replace(self, count=count, directory_bits=directory_bits, unseen=0)

    def check(self, criterion: Criterion) -> None:
        """Raise OptionError if no plan can answer the criterion."""
        if criterion.similarity is not None and not self.has_vectors:
            raise OptionError(
                "similarity= needs stored volatility, and this database has none; create it with"
                " Simhash(store_volatility=True), or ask by distance="
            )

    @property
    def tables(self) -> int:
        """Number of tables."""
        return math.comb(self.blocks, self.leading)

    def entries_of(self, header_bits: int) -> float:
        """How many entries a probe of so many header bits compares, in the mean."""
        return 1 + self.crowding * self.count / (1 << header_bits)

    @property
    def asking_seconds(self) -> float:
        """What it takes to make a query, where it is not given but a stored document."""
        return ASKING_SECONDS if self.is_swept else 0.0

    def bytes_of(self, tables: int, *, has_headers: bool, is_measured: bool) -> float:
        """What a search through so many tables reads from, in bytes a document."""
        entry = FINGERPRINT_BYTES + ORDINAL_BYTES
        headers = HEADER_BYTES * (1 << self.directory_bits) / max(self.count, 1)
        vectors = self.vector_bytes if is_measured else 0
        return tables * (entry + has_headers * headers) + vectors


class Curve(Protocol):
    """What bands find, by similarity alone."""

    @property
    def table_count(self) -> int:
        """Number of bands."""

    @property
    def rows(self) -> int:
        """Minima of each."""

    def reach(self, similarity: float) -> float:
        """The share of documents of just that similarity that is found."""

    def recall(self, similarity: float) -> float:
        """The share of those at least so similar."""

    def candidates(self, documents: int) -> float:
        """How many of so many documents are found and not similar."""


@dataclass(frozen=True, slots=True)
class BandedPopulation:
    """What is searched: so many signatures of `vector_bytes` each, in a table for each band."""

    STORES: ClassVar[str] = "signatures"

    count: int
    curve: Curve
    directory_bits: int  # width of the widest directory
    vector_bytes: int
    is_swept: bool = False  # all pairs are asked for, each from one side

    def grown(self, count: int, directory_bits: int) -> "BandedPopulation":
        """Return the same tables with `count` documents in one run."""
        return replace(self, count=count, directory_bits=directory_bits)

    def check(self, criterion: Criterion) -> None:
        """Accept every criterion: all signatures can be measured."""

    def bytes_of(self, tables: int) -> float:
        """What a search through so many tables reads from, in bytes a document."""
        headers = HEADER_BYTES * (1 << self.directory_bits) / max(self.count, 1)
        return tables * (KEY_BYTES + ORDINAL_BYTES + headers) + self.vector_bytes
