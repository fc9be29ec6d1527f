"""Looking up, scanning and sweeping sorted fingerprints; measuring volatility vectors.

Every operation has a scalar definition in C and answers like `simdb.fallback.search`, to the
order of its results.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

U8 = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]
F32 = npt.NDArray[np.float32]

# Matches of a batch of m queries: offsets int64[m + 1], ordinals uint32[k], distances uint8[k].
# Those of query i stand at offsets[i] .. offsets[i + 1], by distance, then by ordinal.
Found = tuple[I64, U32, U8]

def variants() -> list[str]:
    """Names of the variants this processor can run, the slowest ("scalar") first."""

def select(variant: str) -> str:
    """Use `variant` from now on; returns the name of the one in use before."""

def levels(weights: F32 | I32) -> U8:
    """How far the first 64 weights of each row are from flipping: uint8[n, 64].

    `weights` has 64 dimensions or more.  With s = the root mean square of a row over all of them,
    the level of weight j is min(255, floor(|w| * (64 / s))); where s = 0 it is 255.  Everything is
    in double precision.  The squares are added in eight sums, sum r of those whose j % 8 = r in
    ascending order, and these as ((0 + 4) + (2 + 6)) + ((1 + 5) + (3 + 7)).  Weights are finite;
    others have some level.
    """

def levels_of_vectors(vectors: U8) -> U8:
    """The same from packed volatility vectors (`Vectors`), uint8[n, width], width >= 32.

    The weights are the odd integers that the halves stand for; s is over 2 * width of them.
    """

class Tables:
    """The runs of all block permutations of one collection, prepared for lookup.

    Keeps the arrays alive and copies nothing; they may lie in read-only memory at any address
    that their type allows.
    """

    def __init__(
        self,
        masks: Sequence[int],
        runs: Sequence[Sequence[tuple[U64, U32, U32]]],
        loose: tuple[U64, U32],
        dead: U8 | None,
        windows: Sequence[tuple[int, int]] | None = None,
    ) -> None:
        """`masks`: the leading bits of each table (`simdb.bits.leading_masks`); none is empty.

        `runs[r][t]`: keys (permuted by masks[t], sorted), ordinals and directory of run r in
        table t; the directory has 2**header_bits + 1 entries with header_bits of 0 to 32.
        `loose`: fingerprints (not permuted) and ordinals in no order, searched one by one.
        `dead`: a bit per ordinal, lowest bit of a byte first; those set are never returned.
        `windows[r]`: of run r, in each table, only the entries start .. stop of the directory are
        looked at: lookups and probes take the buckets that begin there (the last may reach
        farther), a scan what lies between.  Each match of the whole run is found in just one of
        windows that cover all entries.  None: everything.
        """

    def lookup(
        self, queries: U64, *, distance: int, flips: int, first: bool, after: U32 | None
    ) -> Found:
        """Stored fingerprints within `distance` whose header is reached in some table.

        Table t reaches a fingerprint when it differs from the query in at most `flips` of the
        bits masks[t].  (With flips = 0 and distance <= blocks - leading this is exact, BPHS.)
        Loose fingerprints are reached always.  Each is returned once, whatever number of tables
        reach it.  `first`: at most one match for each query, any one of them, found as fast as
        possible.  `after`: for query i only ordinals greater than after[i].
        """

    def lookup_one(
        self, query: int, distance: int, flips: int, first: bool, most: int = ...
    ) -> list[tuple[int, int]] | None:
        """(ordinal, distance) of the matches of one query, in the same order.  Fast to call.

        None when there are more than `most`, by default as many as there may be.
        """

    def probe(
        self,
        queries: U64,
        levels: U8,
        *,
        costs: U8,
        theta: int,
        cap: int,
        distance: int,
        first: bool,
        after: U32 | None,
        tables: int | None,
        header_bits: int | None = None,
    ) -> Found:
        """Stored fingerprints within `distance` whose header is likely to come of the query's.

        Probabilistic Simhash Matching (Sood & Loguinov 2011) with one table, volatility
        multi-probe with several.  Flipping bit j of queries[i] costs costs[levels[i, j]]: with p
        the probability that a similar document differs there, log((1 - p) / p) in sixteenths,
        which is from uint8[256] and at 255 means that the bit is never flipped.  `levels` is
        uint8[m, 64].

        The header of an entry of a run whose directory has 2**h + 1 entries is the h highest bits
        of its key, in each of the first `tables` tables (None: all); with `header_bits` (0 to 64)
        no more than so many: fewer sets of bits are flipped, and each finds more entries.  An
        entry is reached when the bits in which its header differs from the query's cost at most
        `theta` together.
        None differs: that is always reached.  Where more than `cap` (1 to 65536) sets of bits of
        one header cost as little, `theta` is lowered for that query, table and width to the
        largest whole number that leaves `cap` sets, or below 0, which leaves the empty one.
        Loose fingerprints are reached always.

        Each match is returned once, in the order of a lookup.  `first`: at most one match for
        each query, any one of them; the empty set and the cheaper ones are probed before the
        others.  `after`: as for a lookup.
        """

    def probe_one(
        self,
        query: int,
        levels: U8 | bytes,
        costs: U8 | bytes,
        theta: int,
        cap: int,
        distance: int,
        first: bool,
        tables: int | None = None,
        header_bits: int | None = None,
        most: int = ...,
    ) -> list[tuple[int, int]] | None:
        """(ordinal, distance) of the matches of one query, in the same order.  Fast to call.

        None when there are more than `most`, by default as many as there may be.  `levels` are 64
        and `costs` 256 bytes, of any object that has bytes.
        """

    def count_probes(
        self,
        levels: U8,
        *,
        costs: U8,
        theta: int,
        cap: int,
        tables: int | None,
        header_bits: int | None = None,
    ) -> I64:
        """How many headers `probe` would ask for, for each query, in the largest run.

        The sum over the first `tables` tables, in whatever window; 0 where there is no run.
        """

    def scan(self, queries: U64, *, distance: int, first: bool, after: U32 | None) -> Found:
        """Every stored fingerprint within `distance`, by comparing with all of them."""

def sweep(
    keys: U64,
    ordinals: U32,
    masks: Sequence[int],
    table: int,
    distance: int,
    cursor: tuple[int, int],
    left: U32,
    right: U32,
    distances: U8,
) -> tuple[int, int, int]:
    """Pairs within `distance` whose bits masks[table] are equal, among one sorted table.

    `keys` are permuted by masks[table] and sorted.  A pair that agrees on all bits of an earlier
    mask is left out: it belongs to that table.  An empty mask makes every two entries a pair to
    be measured.  Writes at most len(left) pairs, left[i] < right[i] by ordinal, in the order of
    positions (i, j), i < j, starting at `cursor` = (i, j); (0, 1) to begin.  Returns the number
    written and the cursor to go on from, the first pair that had no room; its first member is
    len(keys) when all is done.
    """

class Vectors:
    """Packed volatility vectors by ordinal, over segments of consecutive ordinals.

    A packed vector of `width` bytes has 2 * width dimensions of 4 bits: byte i holds dimension i
    in its low and dimension i + width in its high half.  A half of value q stands for the weight
    2 q - 15.  The similarity of two vectors is the cosine of those integers: the integer dot
    product, divided in double precision by the square root of the (double) product of the integer
    squared norms, then rounded to float32.
    """

    def __init__(self, width: int, segments: Sequence[tuple[int, U8]]) -> None:
        """Each segment: its first ordinal and vectors uint8[k, width].  Sorted and disjoint."""

    def similarity(self, queries: U8, offsets: I64, ordinals: U32) -> F32:
        """Of queries[i] (uint8[m, width]) with each of ordinals[offsets[i]:offsets[i + 1]]."""

    def between(self, left: U32, right: U32) -> F32:
        """Of the stored vectors left[i] and right[i]."""

    def scan(
        self, queries: U8, *, similarity: float, skip: U8 | None, after: U32 | None
    ) -> tuple[I64, U32, F32]:
        """Every stored vector at least that similar to each query, by comparing with all.

        Similarities are compared as float32, `similarity` too.
        Offsets, ordinals and similarities; those of a query are in descending order of
        similarity, then by ordinal.  `skip`: a bit per ordinal, as `dead` in `Tables`.
        """

    def gather(self, ordinals: U32) -> U8:
        """Copies: uint8[len(ordinals), width]."""
