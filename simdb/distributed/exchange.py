"""Exchange: how documents are spread over parts, so that every matching pair meets in one of them.

A document travels as a *row* of bytes: its fingerprint, its volatility vector or its packed
signature.  It goes to one part or more, which its row alone decides.  A pair can meet in several
parts; it belongs to the first of them, so each pair is reported once and no part needs to know what
another has found.
"""

from collections.abc import Iterator
from typing import Protocol

import numpy as np
import numpy.typing as npt

from simdb.engine.search.couples import Couples

U8 = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]
I64 = npt.NDArray[np.int64]


class Exchange(Protocol):
    """One way to spread documents; each module `by_*` has one."""

    @property
    def part_count(self) -> int:
        """The number of parts."""

    @property
    def row_bytes(self) -> int:
        """The length of a row."""

    def parts(self, rows: U8) -> tuple[I64, U32]:
        """Return the parts of each row, ascending: offsets int64[n + 1] and parts uint32[k]."""

    def pairs(self, part: int, rows: U8, threads: int) -> Iterator[Couples]:
        """Yield the matching pairs of rows that belong to a part, by position, left below right.

        `rows`: of documents that go to the part.  Similarities are as users get them, or NaN.
        """
