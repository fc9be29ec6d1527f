"""Operations that search fingerprints, volatility vectors, hashes and cross-polytope keys.

The scalar variant of each C function defines its result.  All variants return the same results in
the same order.
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

# Documents that a search omits: a bitmap with one bit for each ordinal, lowest bit of a byte first;
# None for no document.  Or (bitmap, codes uint64[n, fields], wanted uint64[fields]), which also
# omits documents without codes, or with a code other than the wanted one; 2**64 - 1 wants any code.
LeftOut = U8 | tuple[U8 | None, U64, U64] | None

# For each fingerprint: the mask of the bits that are compared, uint64[n], and the number of these
# bits that may differ, uint8[n].
Judging = tuple[U64, U8]

# One run in one table.  A table of keys: keys, ordinals, directory.  A table of headers: tags,
# ordinals, directory, first ordinal, and the fingerprints starting at that ordinal.
KeyTable = tuple[U64, U32, U32]
HeaderTable = tuple[U16, U32, U32, int, Sequence[U64]]

# Limits on the signs in which a candidate may differ from a query: two numbers and a share.  The
# numbers are for a key of a run and for a fingerprint of the delta.  The share is for a key of a
# run: of the query's absolute weights behind its signs, differing signs have at most this share.
SignLimits = tuple[int, int, float]

def variants() -> list[str]:
    """Return the names of the variants this processor can run, from "scalar" to the fastest."""

def select(variant: str) -> str:
    """Switch to `variant`; return the name of the variant used before.

    Raises ValueError for a variant that this processor cannot run.
    """

def levels(weights: F32 | I32) -> U8:
    """Return the levels of the first 64 weights of each row, uint8[n, 64]: how far each is from 0.

    `weights`: float32 or int32[n, d] with d of 64 or more.  Weights are finite; the level of any
    other value is arbitrary.

    The level of weight w is min(255, floor(|w| * (64 / s))), or 255 if s = 0.  Here s is the root
    mean square of all d weights of a row.  All arithmetic is in double precision.  Eight sums
    collect the squares: sum r takes the weights j with j % 8 = r, in ascending order.  They are
    added as ((0 + 4) + (2 + 6)) + ((1 + 5) + (3 + 7)).
    """

def levels_of_vectors(vectors: U8) -> U8:
    """Return the levels of the first 64 weights of packed volatility vectors: uint8[n, 64].

    `vectors`: uint8[n, width] with width from 32 to 65,536; see `Vectors`.

    The weights are the odd integers that the halves of the bytes encode.  The root mean square, as
    in `levels`, is over all 2 * width weights.
    """

def firm_signs(vectors: U8) -> U64:
    """Return a mask of the firm signs among the first 64 of packed volatility vectors: uint64[n].

    A sign is firm unless its weight is 1 or -1, the least size: a similar document often has the
    opposite sign there.  If fewer than an eighth of the signs are not firm, all are returned as
    firm.
    """

class Tables:
    """The runs of all block permutations of one collection, prepared for lookup.

    The arrays are kept alive and not copied.  They may be read-only, at any address that their type
    allows.
    """

    def __init__(
        self,
        masks: Sequence[int],
        runs: Sequence[Sequence[KeyTable | HeaderTable]],
        delta: tuple[U64, U32],
        dead: LeftOut,
        windows: Sequence[tuple[int, int]] | None = None,
    ) -> None:
        """Prepare runs, a delta and a set of deleted documents for searching.

        `masks`: the leading bits of each table (`leading_masks` in `ground.bits`), none of them 0.
        `runs`: runs[r][t] is run r in table t, as keys or as headers.
        `delta`: fingerprints (not permuted) and ordinals, in any order, which are compared one by
        one.
        `dead`: documents that are never returned.
        `windows`: for each run, the range (start, stop) of its directories that is searched; None
        for everything.

        A table of keys has keys (permuted by masks[t], sorted), ordinals and a directory of
        2**header_bits + 1 entries, with header_bits from 0 to 32.

        A table of headers has tags, ordinals, a directory, the first ordinal of the run and the
        fingerprints (not permuted) starting at that ordinal.  A tag is the 16 bits of a key after
        its header.  The fingerprints are a list of arrays; all but the last have the same length, a
        power of two.  An entry whose ordinal has no fingerprint is never returned.  `scan`,
        `nearest` and `lookup_bands` need keys, and raise ValueError for a table of headers.

        If only the first table of a run has entries and is a table of keys, the run is compared one
        by one, like the delta.  Its keys need not be sorted.

        Lookups and probes take the buckets that begin within a window; the last one may extend
        beyond it.  A scan takes the keys within the window.  If windows cover all entries, each
        match of the run is found in exactly one window.
        """

    def over(self, delta: tuple[U64, U32], dead: LeftOut) -> Tables:
        """Return tables of the same runs with another delta and other deleted documents.

        The prepared runs are shared, so this takes a microsecond for any number of runs.
        """

    def leaving(self, dead: LeftOut) -> Tables:
        """Return tables of the same runs and delta with other deleted documents."""

    def lookup(
        self,
        queries: U64,
        *,
        distance: int,
        flips: int | Sequence[int],
        first: int,
        after: U32 | None,
    ) -> Found:
        """Return stored fingerprints within `distance` that some table reaches; each match once.

        `queries`: uint64[m].
        `distance`: 0 to 64 bits.
        `flips`: a number for all tables or one for each.  Table t reaches a fingerprint that
        differs from the query in at most flips[t] of the bits masks[t].  -1: the table is not read.
        `first`: the number of matches per query, 1 to 255, after which its search may stop.  They
        are any matches, found as fast as possible, and more may be returned.  0: all matches.
        `after`: uint32[m]; query i gets only ordinals above after[i].  None: any ordinal.

        Documents of the delta are always reached.  With flips of 0 and distance <= blocks -
        leading, the result is exact (BPHS).
        """

    def lookup_one(
        self, query: int, distance: int, flips: int | Sequence[int], first: int, most: int = ...,
        judging: Judging | None = None, dead: LeftOut = None,
    ) -> list[tuple[int, int]] | None:  # fmt: skip
        """Return (ordinal, distance) of each match of one query, in the order of `lookup`.

        `most`: None is returned if there are more matches than this.
        `judging`: for this query, as in `scan`; applies to documents of the delta.
        `dead`: documents that are omitted, in place of the `dead` of the tables.

        Other arguments: see `lookup`.  Fast to call.
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

        With one table this is Probabilistic Simhash Matching (Sood & Loguinov 2011), with several
        it is volatility multi-probe.

        `queries`: uint64[m].
        `levels`: uint8[m, 64], see the function `levels`.
        `costs`: uint8[256]; flipping bit j of queries[i] costs costs[levels[i, j]], and 255 means
        never.  If a similar document differs in that bit with probability p, the cost is
        log((1 - p) / p) in sixteenths.
        `theta`: the largest total cost of the bits in which the header of an entry may differ.
        None: the `cap` cheapest sets of bits.
        `cap`: 1 to 65,536, the largest number of sets of flipped bits for each query, table and
        header width.
        `distance`: 0 to 64 bits.
        `first`: whether to return at most one match per query, any of its matches.
        `after`: see `lookup`.
        `tables`: only this number of first tables is searched; None for all.
        `header_bits`: 0 to 64, the largest width of a header.  Shorter headers mean fewer sets,
        each of which finds more entries.  None: no limit.

        The header of an entry is the first h bits of its key if the directory of its run has
        2**h + 1 entries.  An equal header is always reached, and so is the delta.

        If more than `cap` sets cost at most `theta`, theta is lowered for that query, table and
        width.  It becomes the largest whole number within which at most `cap` sets cost.  If there
        is no such number, only the empty set is left.

        If `theta` is None, the sets are the first `cap` in the order of `FlipSets`: the empty set,
        then sets of at most `distance` bits, the cheapest first.  Bits of equal cost are ranked
        starting at the highest bit of the key.

        Each match is returned once, in the order of `lookup`.  With `first`, the empty set and
        cheaper sets are probed before the rest.
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
        """Return (ordinal, distance) of each match of one query, in the order of `lookup`.

        `levels`, `costs`: 64 and 256 bytes in any object with a buffer.
        `most`: None is returned if there are more matches than this.

        Other arguments: see `probe`.  Fast to call.
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
        """Return the number of headers that `probe` would look up for each query: int64[m].

        The number is for the run with the most entries, in the first `tables` tables, ignoring
        windows.  Without a run it is 0.
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
        """Return every stored fingerprint within `distance` of each query; all are compared.

        `judging`: for each query, the bits that are compared and how many may differ, in place of
        `distance`.  None: all bits.
        `first`, `after`: see `lookup`.
        """

    def nearest(self, queries: U64, k: int) -> Found:
        """Return the `k` (1 or more) nearest stored fingerprints of each query; all are compared.

        Among equally near documents, the lowest ordinals are returned.
        """

def lookup_bands(bands: Sequence[Tables], keys: U64, most: int, dead: LeftOut = None) -> U32 | None:
    """Return the ordinals, ascending, of documents whose key in any band b is keys[b].

    `bands`: the runs of each band, as tables of the mask of all bits.  Their deltas and deleted
    documents are ignored.
    `keys`: uint64, one for each band.
    `most`: None is returned if the bands find more entries; a document counts once for each band.
    `dead`: documents that are omitted.
    """

class FlipSets(Iterator[tuple[int, ...]]):
    """An iterator over sets of ranks to flip, the cheapest set first (VOSH).

    The algorithm is Sood & Loguinov 2011, Algorithm 2.  The iterator yields every set of 1 to
    `distance` ranks once, as an ascending tuple.  Sets of equal cost are ordered by size, then as
    tuples.  The first k sets take Theta(k log k) time and Theta(k) memory.
    """

    def __init__(self, costs: I64, distance: int) -> None:
        """Begin before the first set.

        `costs`: int64[n], n <= 64, the cost of flipping each rank; ascending and within +-2**49.
        `distance`: the largest number of ranks in a set.
        """

    def __next__(self) -> tuple[int, ...]:
        """Return the next set."""

    @property
    def held(self) -> int:
        """The number of sets in the heap."""

def flip_set_children(parent: Sequence[int], count: int) -> list[tuple[int, ...]]:
    """Return the children of a set of ranks, below `count`, in the tree of VOSH."""

def sweep(
    keys: U64, ordinals: U32, masks: Sequence[int], table: int, distance: int,
    cursor: tuple[int, int], left: U32, right: U32, distances: U8, flips: int | Sequence[int] = 0,
    flipped: int = 0, width: int | None = None, stop: int | None = None,
    judging: Judging | None = None,
) -> tuple[int, int, int]:  # fmt: skip
    """Write the pairs within `distance` whose headers differ in `flipped`, from one sorted table.

    `keys`, `ordinals`: the table; keys are permuted by masks[table] and sorted.
    `masks`, `table`: the leading bits of all tables, and the number of this table.
    `distance`: 0 to 64 bits.
    `cursor`: positions (i, j) with i < j, the first pair to look at; begin with (0, 1).
    `left`, `right`, `distances`: outputs of the same length, at least 1; left[i] < right[i].
    `flips`: a number for all tables or one for each.  Table t reaches a pair that differs in at
    most flips[t] of the bits masks[t]; -1: it reaches no pair.
    `flipped`: the bits of fingerprints in which the headers of a pair differ; the rest of the
    headers is equal.
    `width`: 0 to 64, the bits of a header; None: the number of bits in masks[table].
    `stop`: only pairs with i below this are written; None for len(keys).
    `judging`: for each key, the bits that are compared in later keys and how many may differ, in
    place of `distance`.

    A pair is omitted unless this table reaches it and no earlier table does.  So with flips = 0 and
    flipped = 0, the pairs agree on masks[table] and on no earlier mask.  With an empty mask, all
    pairs are measured.

    Pairs are in ascending order of (i, j).  Returns the number of pairs written and the next cursor
    (i, j): the first pair without room, or i = `stop` when all are written.
    """

class Vectors:
    """The packed volatility vectors of documents by ordinal, in segments of consecutive ordinals.

    A packed vector of `width` bytes has 2 * width dimensions of 4 bits.  Byte i holds dimension i
    in its low half and i + width in its high half.  A half of value q encodes the weight 2 q - 15.

    The similarity of two vectors is the cosine of these weights.  It is the integer dot product
    divided by the square root of the product of both squared norms.  This is computed in double
    precision and rounded to float32.

    Methods that take ordinals raise CorruptError if an ordinal has no vector.
    """

    def __init__(self, width: int, segments: Sequence[tuple[int, U8]]) -> None:
        """Take sorted, disjoint segments: first ordinal and vectors uint8[k, width]."""

    def followed_by(self, first: int, vectors: U8) -> Vectors:
        """Return these segments and one more, whose first ordinal is `first`."""

    def similarity(self, queries: U8, offsets: I64, ordinals: U32) -> F32:
        """Return the similarities of queries to given documents: float32[len(ordinals)].

        `queries`: uint8[m, width].
        `offsets`: int64[m + 1]; query i is compared with ordinals[offsets[i]:offsets[i + 1]].
        """

    def measure_one(
        self, query: U8, found: list[tuple[int, int]], similarity: float
    ) -> list[tuple[int, int, float]]:
        """Return (ordinal, distance, similarity) of the documents at least `similarity` to a query.

        `query`: the bytes of one vector.
        `found`: (ordinal, distance) of the documents to measure.

        Results are ordered and compared with `similarity` as by `scan`.  Fast to call.
        """

    def agree_one(self, query: U8, ordinals: U32, bits: int, least: int) -> list[tuple[int, int]]:
        """Return (ordinal, number of equal minima) of documents with `least` or more; fast to call.

        `query`: the bytes of one packed signature; the stored vectors are packed signatures.
        `bits`: 1, 2, 8 or 32, the bits of a minimum.

        Documents with more equal minima precede; ties keep the order of `ordinals`.
        """

    def between(self, left: U32, right: U32) -> F32:
        """Return the similarities of the stored vectors left[i] and right[i]: float32[n]."""

    def scan(
        self, queries: U8, *, similarity: float, skip: LeftOut, after: U32 | None
    ) -> tuple[I64, U32, F32]:
        """Return every stored vector at least `similarity` to each query; all of them are compared.

        `queries`: uint8[m, width].
        `similarity`: rounded to float32, like the similarities that it is compared with.
        `skip`: documents that are omitted.
        `after`: uint32[m]; query i gets only ordinals above after[i].  None: any ordinal.

        Returns offsets int64[m + 1], ordinals and similarities.  The matches of a query are in
        descending order of similarity, then by ordinal.
        """

    def nearest(self, queries: U8, k: int, skip: LeftOut) -> tuple[I64, U32, F32]:
        """Return the `k` (1 or more) most similar stored vectors of each query, as `scan` does.

        Among equally similar documents, the lowest ordinals are returned.
        """

    def differing(self, queries: U8, offsets: I64, ordinals: U32) -> U16:
        """Return the number of bits in which queries and given hashes differ: uint16[k].

        `queries`: uint8[m, width].
        `offsets`: int64[m + 1]; query i is compared with ordinals[offsets[i]:offsets[i + 1]].

        Here and in the next methods, the stored vectors are hashes of 4, 8, .. 64 bytes.
        """

    def differing_between(self, left: U32, right: U32) -> U16:
        """Return the number of bits in which stored hashes left[i], right[i] differ: uint16[n]."""

    def within(
        self, queries: U8, *, distance: int, skip: LeftOut, after: U32 | None, first: int = 0
    ) -> tuple[I64, U32, U16]:
        """Return every stored hash within `distance` of each query; all of them are compared.

        `queries`: uint8[m, width].
        `skip`, `after`: see `scan`.
        `first`: the number of matches per query, those with the lowest ordinals; 0 for all.

        Returns offsets int64[m + 1], ordinals and distances.  The matches of a query are in
        ascending order of distance, then ordinal.
        """

    def closest(self, queries: U8, k: int, skip: LeftOut) -> tuple[I64, U32, U16]:
        """Return the `k` (1 or more) nearest stored hashes of each query, as `within` does.

        Among equally near documents, the lowest ordinals are returned.
        """

    def gather(self, ordinals: U32) -> U8:
        """Return copies of vectors: uint8[len(ordinals), width]."""

def polytope_keys(vectors: U8, table_count: int, first_table: int = 0) -> U64:
    """Return the cross-polytope keys of packed vectors in each table: uint64[table_count, n].

    `vectors`: uint8[n, w] with w from 1 to 128; see `Vectors`.
    `table_count`, `first_table`: consecutive tables of the 16 that exist.

    The 22 highest bits of a key are its code: the vertices nearest to the rotated vector, in 7, 6,
    5 and 4 bits.  The 42 lowest bits are from the fingerprint.  The first 7, 13, 18 or 22 bits
    of a key are a header.  `simdb_ext/search/polytope.h` has the exact definition.

    Each vertex stands for one coordinate of the rotated vector with a sign, its value.  Its cost,
    seen from the vector, is (m - value) * ratio >> 8, where m is the largest value in the slice.
    The nearest header costs nothing.  Any other header costs the sum of its vertices and of the
    normaliser of the vector in that table.  The normaliser grows with the number of vertices that
    are nearly as near as the nearest; see `normaliser_of` in `polytope.c`.
    """

def polytope_costs(left: U8, right: U8, width: int, table_count: int) -> F32:
    """Return the least cost in any table of the header of right[i], seen from left[i]: float32[n].

    `left`, `right`: packed vectors, see `polytope_keys`.
    `width`: 7, 13, 18 or 22, the bits of a header.
    `table_count`: 1 to 16, the first tables.

    A cost is the least threshold, as a float32, with which a search from left[i] looks up that
    header in some table, if it looks up few enough headers.  It is infinity if no threshold does.

    The unit is the standard deviation of a rotated coordinate of left[i].  This is sqrt(128) times
    the length of the vector, or 8 times for a vector of more than 64 bytes.  For vectors of at most
    32 bytes, the unit is 1.05 standard deviations.
    """

def polytope_reaches(
    left: U8, right: U8, thresholds: F32 | float, widths: U8 | int, table_count: int
) -> npt.NDArray[np.bool_]:
    """Return whether a search from left[i] looks up the header of right[i] in some table: bool[n].

    `thresholds`, `widths`: the threshold, and the bits of a header of the run with right[i]; one
    number applies to all pairs.  Thresholds are rounded to float32, as in a search.
    """

def polytope_probe(
    query: U8, stored: U8, width: int, table_count: int, threshold: float
) -> tuple[int, float, int, int] | None:
    """Return how a search from `query` reaches the vector `stored`, or None if it does not.

    Returns the first table that reaches it, the cost of its header there (see `polytope_costs`),
    and the headers of both in that table.  The search replaced the query's vertices (7, 6, 5 and 4
    bits of the headers) where these two differ.
    """

def polytope_headers(
    vectors: U8, width: int, threshold: float, table_count: int
) -> tuple[I64, U32]:
    """Return the headers of `width` bits that each vector looks up: offsets int64, headers uint32.

    In table t, vector i looks up headers[offsets[j]:offsets[j + 1]], ascending, where j is
    i * table_count + t.
    """

class Polytopes:
    """The runs of cross-polytope keys and the vectors of one collection, prepared for searching.

    The arrays are kept alive and not copied.  They may be read-only, at any address that their type
    allows.
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
        """Prepare runs, a delta and vectors for searching.

        `vector_width`: 1 to 128, the bytes of a vector.
        `segments`: the vectors of all documents by ordinal, as in `Vectors`.
        `runs`: runs[r][t] has keys (`polytope_keys`, sorted), ordinals and directory of run r in
        table `first_table` + t.  The directory has 2**width + 1 entries, with a width of 7, 13, 18
        or 22 that all tables of the run share.
        `delta`: fingerprints and ordinals, in any order, which are compared one by one.
        `dead`: documents that are never returned.
        `windows`: for each run, the range (start, stop) of its directories; only buckets that begin
        there are searched.  None: everything.
        `are_whole`: whether runs hold whole fingerprints in place of keys.  Candidates are then
        sifted by 64 bits instead of 42.
        """

    def leaving(self, dead: LeftOut) -> Polytopes:
        """Return the same runs, delta and vectors with other deleted documents."""

    def over(self, delta: tuple[U64, U32], dead: LeftOut, vectors: Vectors) -> Polytopes:
        """Return the same runs with another delta, other deleted documents and vectors for both.

        The prepared runs are shared, so this takes a microsecond for any number of documents.
        Raises ValueError if the vectors have another width.
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
        """Return stored vectors at least `similarity` to each query that some table reaches.

        `vectors`: uint8[m, vector_width], the queries.
        `thresholds`: float32, at least 0, one for each run.  In each table of run r, a query looks
        up the headers that cost at most thresholds[r], in the unit of `polytope_costs`.
        `similarity`: see `Vectors.scan`.
        `limits`: limits on differing signs, for queries whose signs are all firm and for all other
        queries.
        `first`: the number of matches per query, 1 to 255, after which its search may stop.  They
        are any matches, and near headers are looked up before the rest.  0: all matches.
        `after`: uint32[m]; query i gets only ordinals above after[i].  None: any ordinal.
        `members`: uint32[m], the ordinals of the queries if all are documents; no document matches
        itself.
        `parents`: `Forest.parents` over ordinals; documents in the component of a query do not
        match it.

        Returns offsets int64[m + 1], ordinals, distances of the fingerprints, and similarities as
        in `Vectors`.  Each match is returned once.  The matches of a query are in descending order
        of similarity, then by ordinal.  Raises CorruptError if a candidate has no vector.

        The cut is the threshold in coordinates, rounded down to a whole number.  While more than
        16,384 headers cost at most the cut, it is lowered by an eighth, rounded down, and by 1.  A
        cut below 0 leaves only the query's own header.  No cost above 32,767 is reached.

        An entry of a run is a candidate if the 42 lowest bits of its key differ from the query's in
        few enough firm bits (`firm_signs`).  The weights behind the differing bits must also be at
        most the given share of the weights behind all firm bits of the 42, by absolute value and
        rounded down.  The share is ignored if fewer than five eighths of all weights are above the
        least size.

        A document of the delta is a candidate if its fingerprint differs in few enough firm bits.
        """

    def search_one(
        self, vector: U8 | bytes, thresholds: F32, similarity: float,
        limits: tuple[SignLimits, SignLimits], first: int, room: int, most: int = 0,
    ) -> list[tuple[int, int, float]] | None:  # fmt: skip
        """Return (ordinal, distance, similarity) of each match of one query, or None.

        `vector`: `vector_width` bytes in any object with a buffer.
        `room`: None is returned if there are more matches than this.
        `most`: 1 to 64, only this number of best matches is returned; 0 for all.

        Other arguments and order: see `search`.  Fast to call.
        """
