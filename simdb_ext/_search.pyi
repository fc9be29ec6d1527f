"""Looking up, scanning and sweeping sorted fingerprints; measuring volatility vectors.

Every operation has a scalar definition in C, and gives the same results in the same order in all
variants.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

U8 = npt.NDArray[np.uint8]
U16 = npt.NDArray[np.uint16]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]
F32 = npt.NDArray[np.float32]

# Matches of a batch of m queries: offsets int64[m + 1], ordinals uint32[k], distances uint8[k].
# The matches of query i are at offsets[i] .. offsets[i + 1], by distance, then by ordinal.
Found = tuple[I64, U32, U8]

# Documents to leave out: one bit for each ordinal, lowest bit of a byte first, or None; or these
# bits with the codes of documents uint64[n, fields], and the codes uint64[fields] that are wanted,
# 2**64 - 1 for any: a document with other codes, or without any, is left out, too.
LeftOut = U8 | tuple[U8 | None, U64, U64] | None

# For each of some fingerprints, the bits that count, uint64[n], and in how many of them others may
# differ, uint8[n].
Judging = tuple[U64, U8]

# One table of a run: keys, ordinals and directory; or tags, ordinals, directory, the first ordinal
# and the fingerprints from there on.
KeyTable = tuple[U64, U32, U32]
HeaderTable = tuple[U16, U32, U32, int, Sequence[U64]]

# In how many of the signs that count a key of a run may differ, and a fingerprint of the delta; and
# the share of the query's weights behind those of a key, by their size, that may be behind them.
SignLimits = tuple[int, int, float]

def variants() -> list[str]:
    """Return the names of the variants this processor can run, the slowest ("scalar") first."""

def select(variant: str) -> str:
    """Use `variant` from now on; return the name of the variant used before."""

def levels(weights: F32 | I32) -> U8:
    """Return how far the first 64 weights of each row are from flipping: uint8[n, 64].

    `weights` has 64 dimensions or more.  With s the root mean square of a row over all of them, the
    level of weight w is min(255, floor(|w| * (64 / s))), or 255 if s = 0, all in double precision.
    The squares are added in eight sums, sum r over the weights j with j % 8 = r in ascending order,
    and the sums as ((0 + 4) + (2 + 6)) + ((1 + 5) + (3 + 7)).  Weights are finite; others get some
    level.
    """

def levels_of_vectors(vectors: U8) -> U8:
    """Return the same for packed volatility vectors (`Vectors`), uint8[n, width], width >= 32.

    The weights are the odd integers for which the halves stand; s is over 2 * width of them.
    """

def firm_signs(vectors: U8) -> U64:
    """Return which of the first 64 signs of packed volatility vectors are firm: uint64[n].

    Those of weights of the least size, 1 and -1, are not: what a similar document has in their
    place says little.  All are returned as firm if fewer than an eighth are not.
    """

class Tables:
    """The runs of all block permutations of one collection, prepared for lookup.

    Keeps the arrays alive and copies nothing.  They may lie in read-only memory, at any address
    that their type allows.
    """

    def __init__(
        self,
        masks: Sequence[int],
        runs: Sequence[Sequence[KeyTable | HeaderTable]],
        delta: tuple[U64, U32],
        dead: LeftOut,
        windows: Sequence[tuple[int, int]] | None = None,
    ) -> None:
        """`masks`: the leading bits of each table (`leading_masks` in `ground.bits`); not 0.

        `runs[r][t]`: table t of run r, a table of keys or of headers.
        In a table of keys: keys (permuted by masks[t], sorted), ordinals and directory.  The
        directory has 2**header_bits + 1 entries, with header_bits from 0 to 32.
        In a table of headers: tags, the 16 bits of each key that follow its header; ordinals and
        directory; the first ordinal of the run; and the fingerprints (not permuted) of all ordinals
        from there on, in arrays that each but the last have the same power of two of them.  An
        entry whose ordinal has no fingerprint there is never returned.  Scans need keys: `scan`,
        `nearest` and `lookup_bands` raise ValueError.
        A run that has entries in its first table only is compared one by one, as the delta is, if
        that is a table of keys; they need not be sorted.
        `delta`: the delta, fingerprints (not permuted) and ordinals in any order, searched one by
        one.
        `dead`: the documents that are never returned.
        `windows[r]`: in each table of run r, only the entries start .. stop of the directory are
        searched.  Lookups and probes take the buckets that begin there (the last may reach
        farther), a scan takes the keys between them.  If windows cover all entries, each match of
        the run is found in exactly one of them.  None: everything is searched.
        """

    def over(self, delta: tuple[U64, U32], dead: LeftOut) -> Tables:
        """Return tables of the same runs with another delta and other tombstones.

        This takes a microsecond for any number of runs: what was prepared is shared.
        """

    def leaving(self, dead: LeftOut) -> Tables:
        """Return tables of the same runs and the same delta with other tombstones."""

    def lookup(
        self,
        queries: U64,
        *,
        distance: int,
        flips: int | Sequence[int],
        first: int,
        after: U32 | None,
    ) -> Found:
        """Return stored fingerprints within `distance` whose header is reached in some table.

        `flips`: a number for every table, or one number for each; -1: the table is not read.  Table
        t reaches a fingerprint that differs from the query in at most flips[t] of the bits
        masks[t].  (With flips = 0 and distance <= blocks - leading the result is exact: BPHS.)  The
        delta is always reached.  Each match is returned once, however many tables reach it.
        `first`: so many matches of each query are enough, any of them, found as fast as possible;
        0 for all, at most 255.  More may be returned.
        `after`: for query i only ordinals greater than after[i].
        """

    def lookup_one(
        self, query: int, distance: int, flips: int | Sequence[int], first: int, most: int = ...,
        judging: Judging | None = None, dead: LeftOut = None,
    ) -> list[tuple[int, int]] | None:  # fmt: skip
        """Return (ordinal, distance) of each match of one query, in the same order.  Fast to call.

        Returns None if there are more than `most` matches; by default all are returned.
        `judging`: of one query, as for `scan`, for the documents of the delta.  `dead`: other
        tombstones than those of the tables.
        """

    def probe(
        self,
        queries: U64,
        levels: U8,
        *,
        costs: U8,
        theta: int | None,
        cap: int,
        distance: int,
        first: bool,
        after: U32 | None,
        tables: int | None,
        header_bits: int | None = None,
    ) -> Found:
        """Return stored fingerprints within `distance` under headers likely for a similar document.

        This is Probabilistic Simhash Matching (Sood & Loguinov 2011) with one table, and volatility
        multi-probe with several.  Flipping bit j of queries[i] costs costs[levels[i, j]].  With p
        the probability that a similar document differs in that bit, a cost is log((1 - p) / p) in
        sixteenths; `costs` is uint8[256], and 255 means that the bit is never flipped.  `levels` is
        uint8[m, 64].

        If the directory of a run has 2**h + 1 entries, the header of an entry of the run is the h
        highest bits of its key, in each of the first `tables` tables (None: all).  With
        `header_bits` (0 to 64) a header has at most that many bits: fewer sets of bits are flipped,
        and each finds more entries.  An entry is reached if the bits in which its header differs
        from the header of the query cost at most `theta` together; an equal header is always
        reached.  If more than `cap` (1 to 65536) sets of bits of one header cost at most `theta`,
        `theta` is lowered for that query, table and width: to the largest whole number that leaves
        at most `cap` sets, or below 0, which leaves the empty set.  The delta is always reached.

        If `theta` is None, the headers of each query, table and width are exactly the first `cap`
        in the order of `FlipSets`: the empty set, then the sets of at most `distance` bits, the
        cheapest first; bits of equal cost are ranked from the highest bit of the key on.

        Each match is returned once, in the order of a lookup.  `first`: at most one match for each
        query, any of its matches; the empty set and the cheaper sets are probed before the others.
        `after`: as for a lookup.
        """

    def probe_one(
        self,
        query: int,
        levels: U8 | bytes,
        costs: U8 | bytes,
        theta: int | None,
        cap: int,
        distance: int,
        first: bool,
        tables: int | None = None,
        header_bits: int | None = None,
        most: int = ...,
    ) -> list[tuple[int, int]] | None:
        """Return (ordinal, distance) of each match of one query, in the same order.  Fast to call.

        Returns None if there are more than `most` matches; by default all are returned.  `levels`
        has 64 bytes and `costs` 256, in any object that has bytes.
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
        """Return how many headers `probe` would ask for, for each query, in the largest run.

        The number is the sum over the first `tables` tables, whatever the window; 0 without a run.
        """

    def scan(
        self,
        queries: U64,
        *,
        distance: int,
        first: int,
        after: U32 | None,
        judging: Judging | None = None,
    ) -> Found:
        """Return every stored fingerprint within `distance`; all of them are compared.

        `judging`: the bits that count and how many of them may differ, for each query; None: all
        bits count.
        """

    def nearest(self, queries: U64, k: int) -> Found:
        """Return the `k` (1 or more) nearest stored fingerprints of each query; all are compared.

        Of equally near ones, the lowest ordinals are returned.
        """

def lookup_bands(bands: Sequence[Tables], keys: U64, most: int, dead: LeftOut = None) -> U32 | None:
    """Return the ordinals, ascending, of documents with keys[b] in bands[b], for any b.

    `bands`: the runs of each band, in tables of the mask of all bits; their deltas, and what they
    leave out, are not looked at.  `dead`: the documents to leave out.  Returns None if the bands
    find more than `most` entries in all: a document counts once for each of its bands.
    """

class FlipSets(Iterator[tuple[int, ...]]):
    """An iterator over the sets of ranks to flip, the cheapest set first: VOSH.

    Sood & Loguinov 2011, Algorithm 2.  `costs`: of flipping each rank, int64[n], n <= 64, never
    falling, each of them within 2**49.  Every set of 1 to `distance` ranks comes once, as an
    ascending tuple.  Of sets with equal sums the smaller ones come first, then those in the order
    of the tuples.  The first k sets take Theta(k log k) time and Theta(k) memory.
    """

    def __init__(self, costs: I64, distance: int) -> None:
        """Begin before the first set."""

    def __next__(self) -> tuple[int, ...]:
        """Return the next set."""

    @property
    def held(self) -> int:
        """How many sets the heap holds."""

def flip_set_children(parent: Sequence[int], count: int) -> list[tuple[int, ...]]:
    """Return the children of a set of ranks among the first `count` ranks, in the tree of VOSH."""

def sweep(
    keys: U64, ordinals: U32, masks: Sequence[int], table: int, distance: int,
    cursor: tuple[int, int], left: U32, right: U32, distances: U8, flips: int | Sequence[int] = 0,
    flipped: int = 0, width: int | None = None, stop: int | None = None,
    judging: Judging | None = None,
) -> tuple[int, int, int]:  # fmt: skip
    """Write the pairs within `distance` whose headers differ in `flipped`, from one sorted table.

    `keys` are permuted by masks[table] and sorted.  A header is the first `width` (0 to 64) bits of
    a key; None: as many as masks[table] has.  The headers of a pair differ in the bits `flipped` of
    the fingerprints, and in no others.  Table t reaches a pair that differs in at most flips[t] of
    the bits masks[t].  `flips`: a number for every table, or one number for each; -1: the table
    reaches nothing.  A pair that the table does not reach, or that an earlier table reaches, is
    left out.  So with flips = 0 and no `flipped` these are the pairs that agree on masks[table] and
    on no earlier mask.  With an empty mask every two entries are measured.  `judging`: the bits of
    keys[i] that count and how many of them may differ in a later key.  Writes at most
    len(left) pairs, left[i] < right[i] by ordinal, in the order of positions (i, j), i < j, from
    `cursor` = (i, j) on, with i below `stop` (None: len(keys)); begin with (0, 1).  Returns the
    number written and the cursor to continue from, the first pair without room; its first member is
    `stop` when all is done.
    """

class Vectors:
    """The packed volatility vectors of documents by ordinal, in segments of consecutive ordinals.

    A packed vector of `width` bytes has 2 * width dimensions of 4 bits: byte i holds dimension i in
    its low half and dimension i + width in its high half.  A half of value q stands for the weight
    2 q - 15.  The similarity of two vectors is the cosine of those integers: the integer dot
    product, divided in double precision by the square root of the (double) product of the integer
    squared norms, then rounded to float32.
    """

    def __init__(self, width: int, segments: Sequence[tuple[int, U8]]) -> None:
        """Take segments: first ordinal and vectors uint8[k, width]; sorted and disjoint."""

    def followed_by(self, first: int, vectors: U8) -> Vectors:
        """Return the same segments and one more, from the ordinal `first` on."""

    def similarity(self, queries: U8, offsets: I64, ordinals: U32) -> F32:
        """Compare queries[i] (uint8[m, width]) with each of ordinals[offsets[i]:offsets[i + 1]]."""

    def measure_one(
        self, query: U8, found: list[tuple[int, int]], similarity: float
    ) -> list[tuple[int, int, float]]:
        """Return (ordinal, distance, similarity) of all similar (ordinal, distance), best first.

        `query` has the bytes of one vector.  The order and the comparison with `similarity` are
        those of `scan`.  Fast to call.
        """

    def agree_one(self, query: U8, ordinals: U32, bits: int, least: int) -> list[tuple[int, int]]:
        """Return (ordinal, number of minima in which it agrees with `query`), if at least `least`.

        The vectors are packed signatures, of minima of `bits` bits: 1, 2, 8 or 32.  Those that
        agree in most minima come first, then in the order of `ordinals`.  Fast to call.
        """

    def between(self, left: U32, right: U32) -> F32:
        """Compare the stored vectors left[i] and right[i]."""

    def scan(
        self, queries: U8, *, similarity: float, skip: LeftOut, after: U32 | None
    ) -> tuple[I64, U32, F32]:
        """Return every stored vector at least `similarity` to each query; all of them are compared.

        The arrays are offsets, ordinals and similarities; the matches of a query are in descending
        order of similarity, then by ordinal.  Similarities, and `similarity`, are compared as
        float32.  `skip`: the documents to leave out.
        """

    def nearest(self, queries: U8, k: int, skip: LeftOut) -> tuple[I64, U32, F32]:
        """Return the `k` (1 or more) most similar stored vectors of each query, as `scan` does.

        Of equally similar ones, the lowest ordinals are returned.
        """

    def differing(self, queries: U8, offsets: I64, ordinals: U32) -> U16:
        """Return in how many bits queries[i] and each of its ordinals differ: uint16[k].

        Here and below the vectors are hashes of 4 to 64 bytes, a multiple of 4, without weights.
        The ordinals of query i are ordinals[offsets[i]:offsets[i + 1]].
        """

    def differing_between(self, left: U32, right: U32) -> U16:
        """Return in how many bits the stored hashes left[i] and right[i] differ: uint16[k]."""

    def within(
        self, queries: U8, *, distance: int, skip: LeftOut, after: U32 | None, first: int = 0
    ) -> tuple[I64, U32, U16]:
        """Return every stored hash within `distance` of each query; all of them are compared.

        The arrays are offsets, ordinals and distances; the matches of a query are by distance, then
        by ordinal.  `skip`: the documents to leave out.  `after`: for query i only ordinals greater
        than after[i].  `first`: of each query, only so many matches, those with the lowest
        ordinals; 0 for all.
        """

    def closest(self, queries: U8, k: int, skip: LeftOut) -> tuple[I64, U32, U16]:
        """Return the `k` (1 or more) nearest stored hashes of each query, as `within` does.

        Of equally near ones, the lowest ordinals are returned.
        """

    def gather(self, ordinals: U32) -> U8:
        """Return copies of vectors: uint8[len(ordinals), width]."""

def polytope_keys(vectors: U8, table_count: int, first_table: int = 0) -> U64:
    """Return the cross-polytope keys of packed vectors in each table: uint64[table_count, n].

    `vectors` is uint8[n, w] with w from 1 to 128 (see `Vectors`).  The first of the tables has the
    number `first_table`; there are 16 in all.  The 22 highest bits of a key are the code: the
    vertices nearest to the rotated vector, in 7, 6, 5 and 4 bits.  The 42 lowest bits are those of
    the fingerprint.  The first 7, 13, 18 or 22 bits of a key are a header.
    `simdb_ext/search/polytope.h` has the definition to the bit.

    Seen from a vector, a vertex costs (m - value) * ratio >> 8, where `value` is the coordinate of
    the rotated vector that the vertex stands for, with its sign, and m the largest in that slice.
    The nearest header costs nothing, and any other the sum of its vertices and of the normaliser of
    the vector in that table, which is the larger, the more vertices are nearly as near as the
    nearest: see `normaliser_of` in `polytope.c`.
    """

def polytope_costs(left: U8, right: U8, width: int, table_count: int) -> F32:
    """Return the least cost of the header of right[i], seen from left[i], in any table: float32[n].

    The unit is the standard deviation of a rotated coordinate of left[i], sqrt(128) times the
    length of the vector, or 8 times it if the vector has more than 64 bytes; with at most 32 bytes
    it is 1.05 standard deviations.  Each cost is the
    least threshold, as a float32, with which a search from left[i] looks up the header of
    `width` bits of right[i] in some table, if it is not too many headers; infinity if no threshold
    does.
    """

def polytope_reaches(
    left: U8, right: U8, thresholds: F32 | float, widths: U8 | int, table_count: int
) -> npt.NDArray[np.bool_]:
    """Return whether a search from left[i] looks up the header of right[i] in some table: bool[n].

    thresholds[i] and widths[i] are the threshold and the bits of a header of the run with right[i];
    a single number is for all.  Here and below, a threshold is rounded to float32, as a search
    takes it.
    """

def polytope_probe(
    query: U8, stored: U8, width: int, table_count: int, threshold: float
) -> tuple[int, float, int, int] | None:
    """Return how a search from `query` reaches `stored`; None if it does not.

    The answer is the first table that reaches it; what the header costs there, in the unit of
    `polytope_costs`; and the headers of `width` bits of `query` and of `stored` in that table.
    Where vertices differ (7, 6, 5 and 4 bits), the search has replaced the query's.
    """

def polytope_headers(
    vectors: U8, width: int, threshold: float, table_count: int
) -> tuple[I64, U32]:
    """Return the headers of `width` bits that each vector looks up, ascending, and offsets.

    Those of vector i in table t are headers[offsets[j]:offsets[j + 1]], j = i * table_count + t.
    """

class Polytopes:
    """The runs of cross-polytope keys and the vectors of one collection, prepared for searching.

    Keeps the arrays alive and copies nothing.  They may lie in read-only memory, at any address
    that their type allows.
    """

    def __init__(
        self,
        vector_width: int,
        segments: Sequence[tuple[int, U8]],
        runs: Sequence[Sequence[tuple[U64, U32, U32]]],
        delta: tuple[U64, U32],
        dead: LeftOut,
        windows: Sequence[tuple[int, int]] | None = None,
        *,
        first_table: int = 0,
        are_whole: bool = False,
    ) -> None:
        """`segments`: the vectors of all documents by ordinal, as in `Vectors`; width 1 to 128.

        `runs[r][t]`: keys (`polytope_keys`, sorted), ordinals and directory of run r in table
        `first_table` + t.  The directory has 2**width + 1 entries, with a width of 7, 13, 18 or 22
        that all tables of the run share.  If they `are_whole`, fingerprints take the places of the
        keys, which tell candidates from others by 64 bits in place of 42.
        `delta`: fingerprints and ordinals, in any order, compared one by one.
        `dead`: the documents that are never returned.
        `windows[r]`: in each table of run r, only the buckets that begin at the entries start ..
        stop of the directory are searched.  None: everything is.
        """

    def leaving(self, dead: LeftOut) -> Polytopes:
        """Return the same runs, delta and vectors with other tombstones."""

    def over(self, delta: tuple[U64, U32], dead: LeftOut, vectors: Vectors) -> Polytopes:
        """Return the same runs with another delta, other tombstones and the vectors of both.

        This takes a microsecond for any number of documents: what was prepared is shared.
        ValueError if the vectors have another width.
        """

    def search(
        self,
        vectors: U8,
        *,
        thresholds: F32,
        similarity: float,
        limits: tuple[SignLimits, SignLimits],
        first: int,
        after: U32 | None,
        members: U32 | None = None,
        parents: U32 | None = None,
    ) -> tuple[I64, U32, U8, F32]:
        """Return the stored vectors at least `similarity` to each query that some table reaches.

        The arrays are offsets, ordinals, distances of the fingerprints, and similarities as
        `Vectors` measures them.  The matches of a query are in descending order of similarity, then
        by ordinal; each is returned once.

        `vectors` is uint8[m, vector_width].  In each table of run r, a query looks up the headers
        that cost at most thresholds[r] (at least 0) in the unit of `polytope_costs`.  While these
        are more than 16384, the cut, which is the cost rounded down to a whole number, is lowered
        by an eighth, rounded down, and 1; below 0, only the query's own header is left.  Costs
        above 32767 are never reached.

        Entries with these headers are candidates if the 42 lowest bits of their keys differ from
        the query's in few of the firm ones of the query (`firm_signs`), and if the weights of the
        query behind these bits are, by their absolute values, at most a share of those behind all
        firm ones of the 42, in whole numbers rounded down.  The share does not count if fewer than
        five eighths of all weights are above the least size.  Documents of the delta are candidates
        if their fingerprints differ in few of the firm bits of 64.  `limits`: for queries of which
        all signs are firm, and for the others.
        `first`: so many matches of each query are enough, any of them; 0 for all, at most 255.
        Then near headers are looked up before the others.  `after`: for query i only ordinals
        greater than after[i].
        `members`: each query's ordinal, if all are documents; none is a match of itself.
        `parents`: of a `Forest` over ordinals; what is in the component of the query is no match.
        CorruptError: a candidate has no vector.
        """

    def search_one(
        self, vector: U8 | bytes, thresholds: F32, similarity: float,
        limits: tuple[SignLimits, SignLimits], first: int, room: int, most: int = 0,
    ) -> list[tuple[int, int, float]] | None:  # fmt: skip
        """Return (ordinal, distance, similarity) of each match of one query.  Fast to call.

        The order is that of `search`.  Returns None if there are more than `room` matches.
        `most`: from 1 to 64, return only so many, the best.
        `vector` has `vector_width` bytes, in any object that has bytes.
        """
