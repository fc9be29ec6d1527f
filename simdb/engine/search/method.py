"""Method: the interface of a search method, the functions that carry out its plans.

A method is a record of functions.  The default of each field serves a method that leaves it out.
The methods are in `engine/search/methods/`, and `methods/register.py` lists them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from simdb.engine.search.rows import Rows
from simdb.engine.state.state import State
from simdb.plan.problem import Criterion
from simdb.results.matches import Match
from simdb.results.plans import Plan, Probe
from simdb.running import kernel
from simdb.storage.runs.run import Run
from simdb.storage.runs.table import Table
from simdb.values.arrays import Sketches

if TYPE_CHECKING:
    from simdb.engine.search.couples import Couples

U8 = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]
Search = Callable[[State, Sketches, Criterion, Plan, int, U32 | None], Rows]
OneFound = list[Match] | Rows | None
SearchOne = Callable[[State, Sketches, Criterion, Plan, int, int | None], OneFound]
SearchBits = Callable[[State, int, Plan, int], list[tuple[int, int]] | Rows | None]
Links = Callable[[State, Criterion, Plan], "Iterator[Couples] | None"]
Joining = Callable[[State, Criterion, Plan, kernel.Forest], "Iterator[Couples] | None"]
Nearest = Callable[[State, Sketches, int, bool], Rows]
LinksAmong = Callable[[State, Criterion, Plan, U32], "Iterator[Couples]"]


class PairMember(NamedTuple):
    """One of two documents of which it is asked how a search for one finds the other.

    `levels`: uint8[64], and `vector`: the packed vector; None without weights.  `ordinal`: None if
    the document is not stored.
    """

    bits: int
    levels: U8 | None = None
    vector: U8 | None = None
    ordinal: int | None = None


class FindProbe(Protocol):
    """A function that finds the first probe with which a plan reaches a stored document."""

    def __call__(
        self, state: State, criterion: Criterion, plan: Plan, query: PairMember, stored: PairMember
    ) -> Probe | None:
        """Return the probe; None if no probe reaches the document."""


# If so many candidates of a query are enough, one in this many of them must match; otherwise all
# candidates are looked at.
SURE_SHARE = 4


def no_tables(state: State, plan: Plan, run: Run) -> Iterator[Table]:
    """Yield no table."""
    return iter(())


def never(plan: Plan) -> bool:
    """Return False."""
    return False


def none_compared(state: State, plan: Plan, ordinal: int) -> bool:
    """Return False."""
    return False


def all_compared(state: State, plan: Plan, ordinal: int) -> bool:
    """Return True."""
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """The functions that carry out the plans of one method.

    `search(state, sketches, criterion, plan, first, after)` returns the matches of every sketch,
    best first.  All sketches have features.  `first`: so many candidates of each query are enough,
    any of them, if one in `SURE_SHARE` of them matches, and more may be looked at; 1 for any one
    match, 0 for all, at most 255.
    `after`: only ordinals greater than after[i] for query i.  A method without `search` can only
    find all pairs.
    `search_one` is the fast form for one query with weights.  It takes a limit in place of `after`.
    It returns matches, rows if they are many, or None to leave the work to `search`.
    `search_bits` is the fast form for one ready fingerprint; it returns ordinals and distances,
    rows if they are many, or None.
    `links` returns every matching pair once, in chunks, or None if each document must be looked up.
    `joining` is the fast form where only connected components are wanted: it takes a forest over
    ordinals, in which each chunk of pairs is joined before the next is asked for, and may leave out
    pairs within a component.  None if it has no such form of the plan.
    `links_among` returns the matching pairs among some documents, by position.
    `nearest(state, sketches, k, by_similarity)` returns the best k documents of every sketch, best
    first, by comparing all.  All sketches have features, and weights if `by_similarity`.
    `tables`: the tables of a run that a plan reads.  `scans_vectors`: whether a plan measures
    every stored vector and reads no table.  `compares`: whether every query is compared with a
    stored document, given by its ordinal.  `find_probe` tells which probe finds a document.
    """

    search: Search | None = None
    search_one: SearchOne | None = None
    search_bits: SearchBits | None = None
    links: Links | None = None
    joining: Joining | None = None
    links_among: LinksAmong | None = None
    nearest: Nearest | None = None
    tables: Callable[[State, Plan, Run], Iterator[Table]] = no_tables
    scans_vectors: Callable[[Plan], bool] = never
    compares: Callable[[State, Plan, int], bool] = none_compared
    find_probe: FindProbe | None = None
