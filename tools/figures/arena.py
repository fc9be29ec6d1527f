"""Arena: generates fingerprints and queries for the experiments that compare BPHS and PSM.

For each size, fingerprints and queries are made anew; half of the queries have matches.  A search
is timed in three turns with different queries, so that no turn profits from cached data of the turn
before.  Searches that are compared take turns.
"""

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

import numpy as np
import numpy.typing as npt

import generated
from paper import Asked, Bphs, Psm, Searched
from scene import World

RECALL = 0.95
ATTEMPTS_MAX = 5_000
ASKED_MAX = 10_000
TURNS = 3
STEPS, LEAST = 5, 1 << 14
U64 = npt.NDArray[np.uint64]
Search = tuple[int, Callable[[generated.Queries], Searched]]  # number of queries, and the search
K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Arena:
    """`bits`, sorted fingerprints, and `queries`.

    The true matches are the planted near-duplicates within 3 bits.  Others are accidents: among
    2^24 uniform fingerprints, one query in 25 million has such a match.
    """

    bits: U64
    queries: generated.Queries
    prices: npt.NDArray[np.float64]

    @property
    def depth(self) -> int:
        """d = log2 n, rounded: 26 for 60 million, as in the paper."""
        return round(math.log2(len(self.bits)))

    def asked(self, queries: generated.Queries) -> Asked:
        """Return queries as the paper's programs take them."""
        return Asked(queries.bits, queries.levels, self.prices)

    def psm(self, header_bits: int) -> Psm:
        """Return the paper's PSM over these fingerprints."""
        return Psm(self.bits, header_bits=header_bits)

    def curve(self, psm: Psm, *, first: bool, most: int) -> npt.NDArray[np.float64]:
        """Return the relative recall with 0, 1, .. `most` flip sets, of queries with matches."""
        asked = self.queries.taken(np.flatnonzero(self.queries.matches)[:ASKED_MAX])
        found = psm.curve(self.asked(asked), most=most, first=first)
        return found / (len(asked) if first else asked.matches.sum())

    def attempts(self, psm: Psm, *, first: bool) -> int:
        """Return the least k that reaches the relative recall RECALL."""
        most = 64
        while most <= ATTEMPTS_MAX:
            reached = np.flatnonzero(self.curve(psm, first=first, most=most) >= RECALL)
            if len(reached):
                return int(reached[0])
            most *= 4
        raise ValueError(f"{most // 4} flip sets do not find {RECALL:.0%} of the matches")

    def by_psm(self, psm: Psm, *, attempts: int, first: bool) -> Search:
        """Return the search with k flip sets, of all queries."""
        return len(self.queries), lambda asked: psm.search(
            self.asked(asked), attempts=attempts, first=first
        )

    def by_bphs(self, count: int, tables: Bphs, *, first: bool) -> Search:
        """Return the search of up to `count` queries a turn in BPHS tables."""
        return count * TURNS, lambda asked: tables.search(asked.bits, first=first)

    def fastest(self, search: Search) -> Searched:
        """Return the fastest turn of one search."""
        return self.in_turns({0: search})[0]

    def in_turns(self, searches: Mapping[K, Search]) -> dict[K, Searched]:
        """Let searches take turns, each turn with other queries; return the fastest turn of each.

        A disturbance then affects the turns of all searches.
        """
        turns: dict[K, list[Searched]] = {name: [] for name in searches}
        for turn in range(TURNS):
            for name, (count, search) in searches.items():
                chosen = np.arange(min(count, len(self.queries)))
                part = np.array_split(chosen, TURNS)[turn]
                turns[name].append(search(self.queries.taken(part)))
        return {name: min(each, key=lambda turn: turn.seconds) for name, each in turns.items()}


def counts(world: World) -> list[int]:
    """Return the sizes of experiments over growing sets, each four times the one before."""
    most = world.sizes.fingerprints
    found = [most >> 2 * step for step in range(STEPS) if most >> 2 * step >= LEAST]
    return found[::-1] if len(found) > 1 else [most // 2, most]


@lru_cache(4)
def arena(world: World, count: int) -> Arena:
    """Return `count` fingerprints with queries."""
    asked = min(world.sizes.queries, count // 4)
    bits, queries = generated.world_of(world.model, count, asked, seed=world.seed)
    return Arena(bits, queries, world.generated_prices)
