"""The arena: generated fingerprints and queries for the experiments that compare BPHS and PSM.

For each size n = 2^d, fingerprints and queries are made anew; half of the queries have matches.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

import generated
from paper import Bphs, Psm, Searched
from scene import World

RECALL = 0.95
ATTEMPTS_MAX = 5_000
ASKED_MAX = 10_000
U64 = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Arena:
    """`bits`, 2^depth sorted fingerprints, and `queries`.

    The true matches are the planted near-duplicates within 3 bits.  Others are accidents: among
    2^24 uniform fingerprints, one query in 25 million has such a match.
    """

    bits: U64
    queries: generated.Queries
    prices: npt.NDArray[np.float64]

    @property
    def depth(self) -> int:
        """d = log2 n."""
        return int(math.log2(len(self.bits)))

    def psm(self, header_bits: int) -> Psm:
        """Return the paper's PSM over these fingerprints."""
        return Psm(self.bits, header_bits=header_bits, is_sorted=True)

    def curve(self, psm: Psm, *, first: bool, most: int) -> npt.NDArray[np.float64]:
        """Return the relative recall with 0, 1, .. `most` flip sets, of queries with matches."""
        asked = self.queries.taken(np.flatnonzero(self.queries.matches)[:ASKED_MAX])
        found = psm.curve(asked.bits, asked.levels, self.prices, most=most, first=first)
        return found / (len(asked) if first else asked.matches.sum())

    def attempts(self, psm: Psm, *, first: bool, share: float = RECALL) -> int:
        """Return the least k that reaches a relative recall."""
        most = 64
        while most <= ATTEMPTS_MAX:
            reached = np.flatnonzero(self.curve(psm, first=first, most=most) >= share)
            if len(reached):
                return int(reached[0])
            most *= 4
        raise ValueError(f"{most // 4} flip sets do not find {share:.0%} of the matches")

    def timed(self, psm: Psm, *, attempts: int, first: bool) -> Searched:
        """Search with k flip sets; the fastest of three turns."""
        queries = self.queries
        turns = [
            psm.search(queries.bits, queries.levels, self.prices, attempts=attempts, first=first)
            for _ in range(3)
        ]
        return min(turns, key=lambda each: each.seconds)

    def bphs(self, count: int, tables: Bphs, *, first: bool) -> Searched:
        """Search the first `count` queries in BPHS tables; the fastest of three turns."""
        asked = np.ascontiguousarray(self.queries.bits[:count])
        return min((tables.search(asked, first=first) for _ in range(3)), key=lambda s: s.seconds)


def depths(world: World, *, least: int = 14) -> list[int]:
    """Return the sizes, as d, of experiments over growing sets."""
    most = int(math.log2(world.sizes.fingerprints))
    low = min(max(least, most - 8), most - 1)
    return list(range(low, most + 1, 2 if most - low > 4 else 1))


@lru_cache(4)
def arena(world: World, depth: int) -> Arena:
    """Return 2^depth fingerprints with queries."""
    asked = min(world.sizes.queries, (1 << depth) // 4)
    bits, queries = generated.world_of(world.model, 1 << depth, asked, seed=world.seed)
    return Arena(bits, queries, world.generated_prices)
