"""The interface of a search method: how the plans of one name are carried out.

A method is a record of functions; what it leaves out has a general form, given beside each field.
The methods are in `engine/search/methods/`, and `methods/register.py` lists them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from simdb.engine.search.couples import Couples
from simdb.engine.search.rows import Rows
from simdb.engine.state.state import State
from simdb.plan.problem import Criterion
from simdb.plans import Plan, Probe
from simdb.values import Match, Sketches

U8 = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]
Search = Callable[[State, Sketches, Criterion, Plan, bool, U32 | None], Rows]
SearchOne = Callable[[State, Sketches, Criterion, Plan, bool, int | None], list[Match] | None]
SearchBits = Callable[[State, int, Plan, bool], list[tuple[int, int]] | None]
Links = Callable[[State, Criterion, Plan], Iterator[Couples] | None]
LinksAmong = Callable[[State, Criterion, Plan, U32], Iterator[Couples]]


class FindProbe(Protocol):
    """Finds the first probe by which a plan reaches a stored fingerprint."""

    def __call__(
        self, plan: Plan, query: int, stored: int, levels: U8 | None, masks: Sequence[int]
    ) -> Probe | None:
        """Return the probe, None if no probe reaches it.

        `levels` uint8[64] of the query, None if it has no weights; `masks`: the leading bits of
        each table.
        """


def no_tables(state: State, plan: Plan) -> Sequence[int]:
    """Return no table."""
    return ()


def never(plan: Plan) -> bool:
    """Return False."""
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """The functions that carry out the plans of one method.

    `search(state, sketches, criterion, plan, first, after)` returns the matches of every sketch,
    best first.  All sketches have features.  `first`: any one match of each will do.  `after`: only
    ordinals greater than after[i] for query i.  None: the method finds all pairs only.
    `search_one` is the shortest way for one document with weights, with a limit in the place of
    `after`; it may return None to leave the work to `search`.  `search_bits` is the same for one
    ready fingerprint, and returns ordinals and distances.
    `links` returns every matching pair once, in chunks, or None to have each document looked up.
    `links_among` returns the pairs of some documents among themselves, by position.
    `tables`: the numbers of the tables that a plan reads.  `scans_vectors`: whether a plan measures
    every stored vector and reads no table.  `compares_all`: it compares every stored document.
    `find_probe` explains by which probe a document is found.
    """

    search: Search | None = None
    search_one: SearchOne | None = None
    search_bits: SearchBits | None = None
    links: Links | None = None
    links_among: LinksAmong | None = None
    tables: Callable[[State, Plan], Sequence[int]] = no_tables
    scans_vectors: Callable[[Plan], bool] = never
    compares_all: bool = False
    find_probe: FindProbe | None = None
