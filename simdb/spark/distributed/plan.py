"""Plan of pairs: spreads documents over tasks that together find all matching pairs.

Documents are spread over parts so that every matching pair meets in at least one part.  A document
travels as a *row* of bytes: its fingerprint, volatility vector, packed signature or hash.  The row
alone decides to which parts it goes.  A pair that meets in several parts belongs to the first of
them.  So each pair is reported once, and no part needs the results of another.

There are four exchanges: `ByBlocks`, `ByHashes`, `ByVertices` and `ByBands`.  The method `parts` of
an exchange returns the parts of each row, ascending, as offsets int64[n + 1] and parts uint32[k].
`pairs` yields the matching pairs that belong to a part, as positions of its rows, left below right.
Their similarities are as users get them, or NaN.

`ByVertices` spreads volatility vectors by cross-polytope hashes (Andoni et al. 2015).  Each table
rotates the weights of a document, and its parts are the vertices of a cross-polytope.  A document
goes to every vertex that is nearly as near as its nearest one.  The hashes are short, so that few
copies travel; within a part, other tables find the similar pairs.

Estimated costs, measured on one AVX2 core, are the time for rows that travel (many packed together)
and for comparisons within parts.  They only choose among plans that all reach the recall, so no
result depends on them.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from simdb import database, plan
from simdb.core import kernel
from simdb.core.arrays import Fingerprints, check_many, describe
from simdb.core.bits import ALL_BITS, FINGERPRINT_BITS, fmix64, leading_masks
from simdb.core.checks import instance, one_of, shown, whole
from simdb.core.choices import VerifyName
from simdb.core.decoding import all_texts
from simdb.core.documents import Signatures, differing, estimates
from simdb.core.dtypes import F32, I64, U8, U32, U64, Array, Bools
from simdb.core.errors import InputError, OptionError
from simdb.core.options import HASH_BLOCK_BITS, AnySketch, Bits, Minhash, Options, Simhash
from simdb.core.scales import HASHES, SimilarityScale
from simdb.core.stored_options import Resources
from simdb.core.text_sketch import TextSketch
from simdb.core.threads import mapped, parts_of, thread_count
from simdb.core.values import dataclass, replace
from simdb.core.vector_form import pack_minima, signs_of
from simdb.sketch import ExactSimilarity
from simdb.storage import Table, make_table, polytope_header_bits

BY_BLOCKS, BY_VERTICES, BY_BANDS = ("blocks", "vertices", "bands")
# The exchange may cause this share of the missed pairs; the search within parts causes the rest.
EXCHANGE_SHARE = 0.8
ID_BYTES = 8
ROW_SECONDS = 3e-6
COMPARE_SECONDS = 1 / 2.3e9
# Seconds for each document of a part that is searched by tables, which pays for large parts.
LOOKED_UP_SECONDS = 4e-6
PART_BITS_MAX = 16
TABLES_MAX = 16
# A task gets several parts, which evens out their sizes.
PARTS_OF_TASK = 4
# A part with more documents is cut into cells, and its documents travel once for each chunk.  To
# avoid that, a plan makes parts of half this size if it can.
CELL_DOCUMENTS = 200_000
# If it cannot, parts up to this size are not cut: their rows alone take 1.2 GB.
LARGE_CELL_DOCUMENTS = 16_000_000
# The search within a part uses at most distance + BLOCKS_MORE blocks.
BLOCKS_MORE = 4
# A part is one vertex of the first slice of a key.
VERTEX_BITS = 7
# A task finds the pairs of two chunks of hashes in about 3 s with 0.5 GB of memory.
CHUNK_HASHES = 500_000
MARKED_ROWS = 1 << 14
# Comparing this number of vectors with each other takes less time than building tables for them.
COMPARED_MAX = 1 << 14
TABLES = 4


@dataclass(frozen=True, slots=True, eq=False)
class PartPairs:
    """A chunk of matching pairs of one part.

    Attributes
    ----------
    left, right : ndarray of int64, shape (k,)
        Positions of the two rows of each pair.  Within one set of rows, left is below right.
        Between two sets, left is a position in the first and right in the second.
    distance : ndarray of uint8, shape (k,)
        The number of bits that differ; uint16 for hashes of another length than 64 bits.
    similarity : ndarray of float32, shape (k,)
        The similarity; NaN if the rows are fingerprints or hashes alone.
    """

    left: I64
    right: I64
    distance: U8
    similarity: F32

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.left)


class Split(NamedTuple):
    """An assignment of rows to parts.

    Attributes
    ----------
    positions : ndarray of uint32, shape (k,)
        Positions of rows: those from offsets[p] to offsets[p + 1], ascending, go to part p.
    offsets : ndarray of int64, shape (parts + 1,)
        Where the positions of each part begin.
    """

    positions: U32
    offsets: I64


class Cell(NamedTuple):
    """A task of a large part: it compares two of its chunks, or one chunk with itself.

    Attributes
    ----------
    part : int
        The part.
    first, second : int
        The two chunks of the part; equal if the rows of one chunk are compared with each other.
    """

    part: int
    first: int
    second: int


@dataclass(frozen=True, slots=True)
class PairsPlan:
    """A plan by which tasks find all matching pairs of a collection; see `plan_pairs`.

    Each task gets all rows of one part and finds the pairs that belong to the part.  Together, the
    parts find each pair of the collection once.

    Attributes
    ----------
    documents : float
        The number of documents that was planned for.
    method : str
        "blocks", "vertices" or "bands".
    recall : float
        The least share of the matching pairs that is found; 1 for a distance.
    copies : float
        The mean number of rows that travel for each document.
    seconds : float
        The estimated time of all tasks together on one core.
    exchange : object
        The rule that spreads rows over parts and finds the pairs of a part.
    scale : SimilarityScale
        How similarities are reported.
    """

    documents: float
    method: str
    recall: float
    copies: float
    seconds: float
    exchange: "ByBlocks | ByHashes | ByBands | ByVertices"
    scale: SimilarityScale = HASHES

    @property
    def part_count(self) -> int:
        """Number of parts."""
        return self.exchange.part_count

    @property
    def row_bytes(self) -> int:
        """Length of a row in bytes."""
        return self.exchange.row_bytes

    @property
    def bytes_per_document(self) -> float:
        """Uncompressed bytes that travel for each document: rows, each with an id of 8 bytes."""
        return self.copies * (self.row_bytes + ID_BYTES)

    def rows(self, sketches: Any) -> U8:
        """Return documents as rows.

        Parameters
        ----------
        sketches : Fingerprints, Signatures or ndarray
            The documents.  For a plan by distance alone, an array also serves: uint64[n], or
            uint8[n, bits / 8] for hashes of another length than 64 bits.  Remove documents without
            features first (`is_empty`), since they match nothing.

        Returns
        -------
        ndarray of uint8, shape (n, row_bytes)
            A row for each document.

        Raises
        ------
        InputError
            If the sketches are of another kind or size than planned.
        """
        if self.method == BY_BANDS:
            if not isinstance(sketches, Signatures):
                raise InputError(f"the plan is for signatures, got {describe(sketches)}")
            return self._checked(pack_minima(sketches.minima, sketches.sketch.stored_bits))
        bits = sketches.bits if isinstance(sketches, Fingerprints) else sketches
        if isinstance(self.exchange, ByHashes):
            return self._checked(bits)
        if self.row_bytes == plan.FINGERPRINT_BYTES:
            if not isinstance(bits, np.ndarray) or bits.dtype != np.uint64 or bits.ndim != 1:
                raise InputError(
                    f"the plan is for fingerprints, uint64[n] or Fingerprints, got {describe(bits)}"
                )
            return (
                np.ascontiguousarray(bits, "<u8").view(np.uint8).reshape(-1, plan.FINGERPRINT_BYTES)
            )
        if not isinstance(sketches, Fingerprints) or (
            sketches.weights is None and sketches.vectors is None
        ):
            raise InputError(
                "the plan is for fingerprints with weights or vectors, as simdb.fingerprints makes"
                f" them, got {describe(sketches)}"
            )
        if sketches.vectors is not None:
            return self._checked(sketches.vectors)
        assert sketches.weights is not None
        return self._checked(kernel.quantise(sketches.weights)[1])

    def split(self, rows: U8) -> Split:
        """Assign rows to parts.

        Parameters
        ----------
        rows : ndarray of uint8, shape (n, row_bytes)
            The rows of some documents.

        Returns
        -------
        Split
            The positions of the rows of each part.

        Raises
        ------
        InputError
            If `rows` are not of the plan.
        """
        offsets, parts = self.exchange.parts(self._checked(rows))
        keys = parts.astype(np.uint64)
        positions = np.repeat(np.arange(len(rows), dtype=np.uint32), np.diff(offsets))
        kernel.sort(keys, positions)
        bounds = np.arange(self.part_count + 1, dtype=np.uint64)
        return Split(positions, np.searchsorted(keys, bounds).astype(np.int64))

    def find_pairs(
        self, part: int, rows: U8, others: U8 | None = None, *, threads: int | None = 1
    ) -> Iterator[PartPairs]:
        """Yield the matching pairs that belong to a part, each once, in chunks of bounded size.

        Parameters
        ----------
        part : int
            The part.
        rows : ndarray of uint8, shape (n, row_bytes)
            All rows of the part; for a cell of a large part, the rows of its first chunk.
        others : ndarray of uint8, shape (m, row_bytes), optional
            The rows of another chunk.  Then only pairs between both chunks are found.
        threads : int, default 1
            Number of threads; None for all cores.

        Yields
        ------
        PartPairs
            Some of the pairs.

        Raises
        ------
        OptionError
            If there is no such part.
        InputError
            If `rows` or `others` are not of the plan.
        """
        whole("part", part, 0, self.part_count - 1)
        every, first = self._checked(rows), 0
        if others is not None:
            every, first = np.concatenate([every, self._checked(others)]), len(rows)
        for found in self.exchange.pairs(part, every, thread_count(threads)):
            if others is not None:
                found = found.taken((found.left < first) & (found.right >= first))
            if len(found):
                left, right = found.left.astype(np.int64), found.right.astype(np.int64)
                similarities = self.scale.shown(found.similarities)
                yield PartPairs(left, right - first, found.distances, similarities)

    def find_links(
        self, part: int, rows: U8, others: U8 | None = None, *, threads: int | None = 1
    ) -> tuple[I64, I64]:
        """Return links, fewer than rows, with the same components as the pairs of a part.

        Parameters
        ----------
        part : int
            The part.
        rows : ndarray of uint8, shape (n, row_bytes)
            All rows of the part; for a cell of a large part, the rows of its first chunk.
        others : ndarray of uint8, shape (m, row_bytes), optional
            The rows of another chunk; see `find_pairs`.
        threads : int, default 1
            Number of threads; None for all cores.

        Returns
        -------
        left, right : ndarray of int64, shape (k,)
            Two positions for each link, left below right.  Those in `others` begin at `len(rows)`.

        Raises
        ------
        OptionError
            If there is no such part.
        InputError
            If `rows` or `others` are not of the plan.
        """
        count = len(rows) + (0 if others is None else len(others))
        forest = kernel.Forest(count)
        for pairs in self.find_pairs(part, rows, others, threads=threads):
            right = pairs.right if others is None else pairs.right + len(rows)
            forest.join(pairs.left.astype(np.uint32), right.astype(np.uint32))
        labels = forest.labels().astype(np.int64)
        joined = np.flatnonzero(labels != np.arange(count))
        return labels[joined], joined

    @property
    def cell_documents(self) -> int:
        """Number of documents above which a part is cut into cells, far above the usual size."""
        if isinstance(self.exchange, ByHashes) and self.part_count == 1:
            return CHUNK_HASHES
        mean = self.copies * self.documents / self.part_count
        return int(min(max(2 * mean, CELL_DOCUMENTS), LARGE_CELL_DOCUMENTS))

    def cells(self, sizes: I64, most: int | None = None) -> list[Cell]:
        """Return the tasks of all parts, each with about 2 x `most` rows or fewer.

        A part with more than `most` rows is cut into chunks (see `chunks_of`).  It has a task for
        each chunk and for each two chunks.

        Parameters
        ----------
        sizes : ndarray of int64, shape (parts,)
            The number of rows of each part.
        most : int, optional
            The largest number of rows of a chunk; `cell_documents` if not given.

        Returns
        -------
        list of Cell
            The tasks.
        """
        most = self.cell_documents if most is None else most
        found = []
        for part, size in enumerate(np.asarray(sizes).tolist()):
            chunks = -(-size // most)
            found += [
                Cell(part, first, second)
                for first in range(chunks)
                for second in range(first, chunks)
            ]
        return found

    def _checked(self, rows: U8) -> U8:
        if not isinstance(rows, np.ndarray) or rows.dtype != np.uint8 or rows.ndim != 2:
            raise InputError(f"rows must be uint8[n, {self.row_bytes}], got {describe(rows)}")
        if rows.shape[1] != self.row_bytes:
            raise InputError(
                f"the plan is for rows of {self.row_bytes} bytes, got {rows.shape[1]}; make the"
                " sketches with the options that the plan was made for"
            )
        return np.ascontiguousarray(rows)


def chunks_of(ids: I64, count: int) -> I64:
    """Return the chunk of each document, by a hash of its id.

    Parameters
    ----------
    ids : ndarray of int64, shape (n,)
        The ids.
    count : int
        The number of chunks.

    Returns
    -------
    ndarray of int64, shape (n,)
        A chunk from 0 to `count` - 1 for each id.
    """
    mixed = fmix64(np.ascontiguousarray(ids).astype(np.int64).view(np.uint64))
    return (mixed % np.uint64(count)).astype(np.int64)


def plan_pairs(
    documents: float,
    options: Options | AnySketch | None = None,
    *,
    similarity: float | None = None,
    distance: int | None = None,
    recall: float | None = None,
    verify: VerifyName = database.ESTIMATE,
    tasks: int = 64,
) -> PairsPlan:
    """Plan how tasks find all matching pairs of a collection.

    Parameters
    ----------
    documents : float
        Number of documents.
    options : Options, Simhash, Minhash or Bits, optional
        The options of a database that would hold the documents, or a sketch alone; `Simhash()` if
        not given.
    similarity : float, optional
        The least similarity of a pair; see `Database.find_all`.
    distance : int, optional
        The largest distance of a pair; see `Database.find_all`.
    recall : float, optional
        The share of pairs to find; see `Database.query`.
    verify : {"estimate", "exact"}, default "estimate"
        How candidates are compared.  With "exact", `similarity` is the least exact similarity.  The
        plan then finds candidates, also some below it, for `simdb.distributed.exact_similarities`
        to compare.
    tasks : int, default 64
        Number of tasks.

    Returns
    -------
    PairsPlan
        How documents are spread over parts, and the estimated cost.

    Raises
    ------
    OptionError
        If no plan reaches the criterion or the recall, or an argument is invalid.
    """
    options = _options_of(options, similarity, recall)
    one_of("verify", verify, (database.ESTIMATE, database.EXACT))
    whole("tasks", tasks, 1, 1 << 24)
    if isinstance(documents, bool) or not isinstance(documents, int | float) or documents < 0:
        raise OptionError(f"documents must be a number of 0 or more, got {shown(documents)}")
    question = database.Question(similarity, distance, recall)
    is_weighted = options.sketch.vector_bytes > 0
    criterion = question.criterion(options, is_weighted=is_weighted)
    searched = least = criterion.similarity
    if verify == database.EXACT:
        searched, least = _of_candidates(options, question)
    if options.is_minhash:
        assert criterion.similarity is not None
        assert least is not None
        return _by_bands(documents, options, criterion.similarity, least, tasks)
    if criterion.distance is not None:
        if criterion.distance >= options.bits:
            raise OptionError(
                f"distance must be below {options.bits}, at which all documents match"
            )
        if options.is_wide:
            return _by_hashes(documents, options.sketch, criterion.distance, tasks)
        width = plan.FINGERPRINT_BYTES if least is None else options.sketch.vector_bytes
        return _by_blocks(documents, options, criterion.distance, width, least, tasks)
    assert searched is not None
    assert least is not None
    return _by_vertices(documents, options, searched, least, criterion.recall)


def exact_similarities(
    texts: Iterable[Any], left: I64, right: I64, sketch: Simhash | Minhash | None = None
) -> F32:
    """Return the exact similarity of pairs of texts.

    A plan of `plan_pairs(verify="exact")` finds candidates.  A candidate matches if its exact
    similarity is at least the similarity of the plan.

    Parameters
    ----------
    texts : sequence
        Texts, lists of tokens, or a column of Arrow.
    left, right : ndarray of int64, shape (k,)
        The positions in `texts` of the two texts of each pair.
    sketch : Simhash or Minhash, optional
        The sketch, which decides the features and their weights; `Simhash()` if not given.

    Returns
    -------
    ndarray of float32, shape (k,)
        The similarity over all features: Jaccard similarity if every feature counts once (see
        `Database.find_all`).  It is 0 if one of the two texts has no features.

    Raises
    ------
    InputError
        If a position is outside `texts`, or `left` and `right` differ in length.
    OptionError
        If the sketch has no exact similarity.

    Notes
    -----
    All features of the texts are in memory.
    """
    sketch = Simhash() if sketch is None else sketch
    instance("sketch", sketch, TextSketch, "simdb.Simhash() or simdb.Minhash()")
    check_many(texts, "texts")
    given = all_texts(texts)
    both = [_positions(side, name, len(given)) for side, name in ((left, "left"), (right, "right"))]
    if len(both[0]) != len(both[1]):
        raise InputError(f"left has {len(both[0])} positions and right {len(both[1])}")
    exact = ExactSimilarity(sketch, Resources(), [sketch.tokeniser])
    return exact.of_pairs(given, both[0], both[1])


def _of_candidates(options: Options, question: database.Question) -> tuple[float, float]:
    """Return the similarity to search candidates with, and the least similarity to keep."""
    if options.is_hashes:
        raise OptionError("verify='exact' compares texts, and these are hashes; leave it out")
    if question.similarity is None and question.has_bound:
        raise OptionError(
            "verify='exact' decides by similarity; give similarity= (besides distance=, if you"
            " want both), or verify='estimate'"
        )
    ExactSimilarity(options.sketch, Resources(), [options.sketch.tokeniser])  # or it has none
    least = options.similarity if question.similarity is None else question.similarity
    recall = options.recall if question.recall is None else question.recall
    return database.candidate_similarities(options, least, recall)


def _options_of(options: Any, similarity: float | None, recall: float | None) -> Options:
    if options is None:
        options = Options()
    elif isinstance(options, AnySketch):
        options = Options(sketch=options)
    instance("options", options, Options, "simdb.Options() or a sketch")
    found: Options = database.settled(options, similarity=similarity, recall=recall)
    return found


def _part_bits(tables: int, tasks: int, documents: float) -> int:
    """Return the base-2 logarithm of the number of parts of each table."""
    wanted = max(PARTS_OF_TASK * tasks / tables, 2 * documents / CELL_DOCUMENTS, 1)
    return min(math.ceil(math.log2(wanted)), PART_BITS_MAX)


def _by_blocks(
    documents: float, options: Options, distance: int, width: int, least: float | None, tasks: int
) -> PairsPlan:
    """Plan an exchange with the fewest tables; each search of a part chooses its own tables."""
    tables = distance + 1
    header = FINGERPRINT_BITS // tables
    exchange = ByBlocks(
        distance, tables, min(_part_bits(tables, tasks, documents), header), width, least
    )
    seconds = _seconds(tables * documents, tables * documents**2 / 2 ** (header + 1))
    return PairsPlan(documents, BY_BLOCKS, 1.0, float(tables), seconds, exchange, options.scale)


def _by_hashes(documents: float, sketch: Any, distance: int, tasks: int) -> PairsPlan:
    """Plan the exchange of hashes that copies less: by pairs of chunks, or by equal blocks."""
    chunks, tables, part_bits = max(math.ceil(documents / CHUNK_HASHES), 1), 1, 0
    if chunks > distance + 1:
        tables = distance + 1
        part_bits = min(_part_bits(tables, tasks, documents), sketch.bits // tables)
    copies = float(min(chunks, distance + 1))
    exchange = ByHashes(sketch, distance, tables, part_bits, sketch.vector_bytes)
    seconds = _seconds(copies * documents, math.inf)
    return PairsPlan(documents, BY_BLOCKS, 1.0, copies, seconds, exchange)


def _seconds(rows: float, compared: float) -> float:
    """Return the time for `rows` that travel and `compared` pairs of rows in the parts."""
    return rows * ROW_SECONDS + min(compared * COMPARE_SECONDS, rows * LOOKED_UP_SECONDS)


def _by_vertices(
    documents: float, options: Options, similarity: float, least: float, recall: float
) -> PairsPlan:
    missed = 1.0 - recall
    share, within = 1.0 - EXCHANGE_SHARE * missed, 1.0 - (1.0 - EXCHANGE_SHARE) * missed
    best: tuple[float, int, float, float] | None = None
    for tables in range(1, TABLES_MAX + 1):
        threshold = plan.universal(
            similarity, share, width=VERTEX_BITS, tables=tables, costs=plan.MEETING
        )
        if math.isinf(threshold):
            continue
        copies = tables * plan.probe_count(threshold, VERTEX_BITS)
        parts = tables << VERTEX_BITS
        # The rows of a part that is cut travel once for each of its chunks.
        chunks = math.ceil(copies * documents / parts / LARGE_CELL_DOCUMENTS)
        rows = copies * documents * max(chunks, 1)
        seconds = _seconds(rows, rows**2 / (2 * parts))
        if best is None or seconds < best[0]:
            best = seconds, tables, threshold, copies
    if best is None:
        raise OptionError(
            f"no tables find recall={recall:g} of the pairs; ask for a lower recall or a higher"
            " similarity"
        )
    seconds, tables, threshold, copies = best
    exchange = ByVertices(
        tables, threshold, options.sketch.vector_bytes, searched=similarity, least=least,
        recall=within,
    )  # fmt: skip
    return PairsPlan(documents, BY_VERTICES, recall, copies, seconds, exchange, options.scale)


def _by_bands(
    documents: float, options: Options, similarity: float, least: float, tasks: int
) -> PairsPlan:
    bands = plan.bands_of(options)
    exchange = ByBands(bands, _part_bits(bands.table_count, tasks, documents), least)
    copies = float(bands.table_count)
    seconds = copies * documents * ROW_SECONDS
    return PairsPlan(
        documents, BY_BANDS, bands.reach(similarity), copies, seconds, exchange, options.scale
    )


def _positions(given: Any, name: str, count: int) -> I64:
    positions = np.asarray(given)
    if positions.ndim != 1 or (len(positions) and positions.dtype.kind not in "iu"):
        raise InputError(f"{name} must be positions, int64[k], got {describe(given)}")
    if len(positions) and not 0 <= int(positions.min()) <= int(positions.max()) < count:
        at = int(np.argmax((positions < 0) | (positions >= count)))
        raise InputError(f"{name} has the position {positions[at]}, and there are {count} texts")
    return np.ascontiguousarray(positions, np.int64)


class _ByTables:
    """An exchange of tables, each cut into 2^part_bits parts by the first bits of its keys.

    `keys(searchable(rows))` returns the keys of rows, uint64[n, tables].
    """

    table_count: int
    part_bits: int
    keys: Callable[[Array], U64]

    @property
    def part_count(self) -> int:
        """Number of parts."""
        return self.table_count << self.part_bits

    def searchable(self, rows: U8) -> Array:
        """Return the input of `keys`: here, the rows."""
        return rows

    def parts(self, rows: U8) -> tuple[I64, U32]:
        """Return the parts of each row: one of every table."""
        first = np.arange(self.table_count, dtype=np.uint32) << np.uint32(self.part_bits)
        found = self._numbers(self.searchable(rows)) + first
        return np.arange(len(rows) + 1) * self.table_count, found.ravel()

    def own(self, part: int, searchable: Array, couples: database.Couples) -> database.Couples:
        """Return the couples that share no part of a table before the table of `part`."""
        earlier = part >> self.part_bits
        both = (searchable[couples.left], searchable[couples.right])
        left, right = (self._numbers(each)[:, :earlier] for each in both)
        return chosen(couples, np.asarray((left != right).all(axis=1)))

    def _numbers(self, searchable: Array) -> U32:
        """Return the part of each row within each table: uint32[n, tables]."""
        # Two shifts, since processors ignore a shift by 64 bits.
        halved = self.keys(searchable) >> np.uint64(1)
        return (halved >> np.uint64(63 - self.part_bits)).astype(np.uint32)


class ByBlocks(_ByTables):
    """An exchange by blocks of fingerprints that misses no pair within a Hamming distance.

    If two fingerprints differ in at most d bits, then some d blocks contain all of these bits
    (Manku, Jain & Das Sarma 2007).  So there is a table for each choice of d blocks, as in BPHS:
    C(blocks, distance) tables, each cut into 2^part_bits parts by the first bits of its keys.
    """

    def __init__(
        self, distance: int, blocks: int, part_bits: int, row_bytes: int, least: float | None
    ) -> None:
        """Rows are fingerprints, or volatility vectors if they are longer.

        `least`: the least similarity of a pair, by the rounded weights; None for any.
        """
        self.distance = distance
        self.row_bytes = row_bytes
        self.part_bits = part_bits
        self.masks = leading_masks(blocks, blocks - distance)
        self.table_count = len(self.masks)
        self._least = least

    def pairs(self, part: int, rows: U8, threads: int) -> Iterator[database.Couples]:
        """Yield the pairs within the distance that share no part of an earlier table."""
        bits = self.searchable(rows)
        every = database.Searched(bits, np.arange(len(bits), dtype=np.uint32))
        blocks = min(self.distance + BLOCKS_MORE, plan.BLOCKS_MAX)
        masks, flips = plan.choose_tables(bits, blocks=blocks, distance=self.distance)
        tables = database.sorted_tables(every, masks, threads)
        for found in database.sweep_tables(tables, masks, self.distance, flips, threads=threads):
            couples = self._measured(rows, self.own(part, bits, in_order(found)))
            if len(couples):
                yield couples

    def _measured(self, rows: U8, couples: database.Couples) -> database.Couples:
        """Return the couples that are similar enough, with the similarities of their vectors."""
        if self.row_bytes == plan.FINGERPRINT_BYTES or not len(couples):
            return couples
        vectors = kernel.Vectors(self.row_bytes, [(0, rows)])
        rounded = vectors.between(couples.left, couples.right)
        measured = replace(couples, similarities=rounded)
        if self._least is None:
            return measured
        return chosen(measured, rounded >= np.float32(self._least))

    def searchable(self, rows: U8) -> U64:
        """Return the fingerprints of rows."""
        if self.row_bytes == plan.FINGERPRINT_BYTES:
            return rows.view("<u8").ravel().astype(np.uint64, copy=False)
        return signs_of(rows)

    def keys(self, searchable: Array) -> U64:
        """Return fingerprints permuted for each table, its key bits in front: uint64[n, tables]."""
        found = np.empty((self.table_count, len(searchable)), np.uint64)
        for mask, keys in zip(self.masks, found, strict=True):
            kernel.permute(searchable, mask, keys)
        return found.T


@dataclass(frozen=True)
class ByHashes(_ByTables):
    """An exchange by blocks of bits that misses no pair of hashes within a distance.

    Two hashes of a pair agree in at least one of `distance` + 1 blocks, and each table has one of
    these blocks.  If there is only one part, it has all hashes.  A part is searched like a
    database.
    """

    sketch: Bits
    distance: int
    table_count: int
    part_bits: int
    row_bytes: int

    def pairs(self, part: int, rows: U8, threads: int) -> Iterator[database.Couples]:
        """Yield the pairs within the distance that share no part of an earlier table."""
        found = database.find_all(Fingerprints(rows), distance=self.distance, threads=threads)
        for some in found.chunks():
            left, right = some.left.astype(np.uint32), some.right.astype(np.uint32)
            unknown = np.full(len(left), np.nan, np.float32)
            couples = self.own(part, rows, database.Couples(left, right, some.distance, unknown))
            if len(couples):
                yield couples

    def keys(self, searchable: Array) -> U64:
        """Return the block of each table in the highest bits of a word: uint64[n, tables]."""
        ranked = np.arange(self.sketch.bits)
        if self.sketch.order is not None:
            # The first bits of all blocks of the order have the most entropy, then the second bits.
            ranked = np.reshape(self.sketch.order, (-1, HASH_BLOCK_BITS)).T.ravel()
        # No block has more than 64 bits.
        blocks = max(self.table_count, -(-self.sketch.bits // FINGERPRINT_BITS))
        dealt = [ranked[block::blocks].astype(np.uint16) for block in range(blocks)]
        words: U64 = kernel.deal(searchable, np.concatenate(dealt), list(map(len, dealt)))
        return words[: self.table_count].T


class ByBands(_ByTables):
    """An exchange for signatures; it finds the same pairs as a database with the same bands.

    For each band, a document goes to one part, by the key of its minima in the band (LSH, Leskovec,
    Rajaraman & Ullman, section 3.4).  There is a table for each band, cut into 2^part_bits parts.
    """

    def __init__(self, bands: plan.Bands, part_bits: int, least: float) -> None:
        """`least`: the least similarity of a pair."""
        self.bands = bands
        self.row_bytes = bands.sketch.vector_bytes
        self.table_count = bands.table_count
        self.part_bits = part_bits
        self._least = least

    def keys(self, searchable: Array) -> U64:
        """Return the key of each band of each row: uint64[n, bands]."""
        return self.bands.searchable(np.empty(0, np.uint64), searchable)

    def pairs(self, part: int, rows: U8, threads: int) -> Iterator[database.Couples]:
        """Yield the similar pairs whose first common band is the band of the part."""
        band = part >> self.part_bits
        length = self.bands.banding.rows
        minima = self.bands.minima_of(rows)[:, band * length : (band + 1) * length]
        keys = kernel.band_keys(np.ascontiguousarray(minima), bands=1, rows=length)[:, 0].copy()
        ordinals = np.arange(len(rows), dtype=np.uint32)
        kernel.sort(keys, ordinals)
        table = Table(keys, ordinals, np.empty(0, np.uint32))
        for found in database.sweep_table(table, [ALL_BITS], 0, threads=threads):
            couples = self._alike(rows, in_order(found))
            left, right = rows[couples.left], rows[couples.right]
            agreeing = self.bands.agreeing(left, right)[:, :band]
            couples = chosen(couples, ~np.asarray(agreeing.any(axis=1), np.bool_))
            if len(couples):
                yield couples

    def _alike(self, rows: U8, couples: database.Couples) -> database.Couples:
        """Return the couples whose signatures are similar enough, with their similarities."""
        sketch, minima = self.bands.sketch, self.bands.rows_of(rows)
        agreeing = self.bands.agreements(minima[couples.left], minima[couples.right])
        similarities = estimates(agreeing, sketch)
        measured = replace(
            couples, distances=differing(similarities, sketch), similarities=similarities
        )
        return chosen(measured, similarities >= np.float32(self._least))


def chosen(couples: database.Couples, which: Array) -> database.Couples:
    """Return the chosen couples; return `couples` itself if all are chosen."""
    return couples if which.dtype == np.bool_ and which.all() else couples.taken(which)


def in_order(couples: database.Couples) -> database.Couples:
    """Return couples with the lower position on the left."""
    if (couples.left < couples.right).all():
        return couples
    left, right = np.minimum(couples.left, couples.right), np.maximum(couples.left, couples.right)
    return replace(couples, left=left, right=right)


@dataclass(frozen=True, eq=False)
class ByVertices:
    """An exchange by vertices: a document goes to every vertex whose cost is at most a threshold.

    Each table has 128 parts.  `polytope_costs` in `simdb_ext/_search.pyi` defines costs.  Rows are
    volatility vectors of `row_bytes` bytes.  `least`: the least similarity of a pair, by the
    rounded weights.  `recall`: the share of the pairs of similarity `searched` or more within a
    part that its search finds.
    """

    tables: int
    threshold: float
    row_bytes: int
    searched: float
    least: float
    recall: float

    @property
    def part_count(self) -> int:
        """Number of parts."""
        return self.tables << VERTEX_BITS

    def parts(self, rows: U8) -> tuple[I64, U32]:
        """Return the near vertices of each row in all tables."""
        offsets, headers = kernel.polytope_headers(rows, VERTEX_BITS, self.threshold, self.tables)
        tables = np.tile(np.arange(self.tables, dtype=np.uint32), len(rows))
        first = np.repeat(tables << np.uint32(VERTEX_BITS), np.diff(offsets))
        return offsets[:: self.tables].copy(), first + headers

    def pairs(self, part: int, rows: U8, threads: int) -> Iterator[database.Couples]:
        """Yield the similar pairs that share no part before `part`."""
        marks = _Marks(self, rows)
        flags = np.zeros(self.part_count, np.uint8)
        flags[:part] = 1
        earlier = np.packbits(flags, bitorder="little").view(np.uint64)
        for couples in similar_pairs(
            rows, signs_of(rows), similarity=self.searched, floor=self.least,
            recall=self.recall, threads=threads,
        ):  # fmt: skip
            is_shared = marks.shared(couples.left, couples.right, earlier)
            own = chosen(couples, ~is_shared)
            if len(own):
                yield own


class _Marks:
    """A bitmap of the parts of each row, computed when a row is first used."""

    def __init__(self, exchange: ByVertices, rows: U8) -> None:
        """Keep the rows; `shared` computes their bits."""
        self._exchange = exchange
        self._rows = rows
        self._marks = np.empty((len(rows), exchange.part_count // 64), np.uint64)
        self._is_known = np.zeros(len(rows), np.bool_)

    def shared(self, left: U32, right: U32, parts: U64) -> Bools:
        """Return whether rows left[i] and right[i] share a marked part: bool[k].

        `parts`: a bit for each part.
        """
        asked = np.zeros(len(self._rows), np.bool_)
        asked[left] = asked[right] = True
        self._make(np.flatnonzero(asked & ~self._is_known))
        found = np.zeros(len(left), np.bool_)
        for word in np.flatnonzero(parts).tolist():
            column = self._marks[:, word]
            found |= (column[left] & column[right] & parts[word]) != 0
        return found

    def _make(self, places: I64) -> None:
        for start in range(0, len(places), MARKED_ROWS):
            some = places[start : start + MARKED_ROWS]
            offsets, parts = self._exchange.parts(self._rows[some])
            flags = np.zeros((len(some), self._exchange.part_count), np.uint8)
            flags[np.repeat(np.arange(len(some)), np.diff(offsets)), parts] = 1
            packed = np.packbits(flags, axis=1, bitorder="little")
            self._marks[some] = packed.view(np.uint64)
        self._is_known[places] = True


def similar_pairs(
    vectors: U8, bits: U64, *, similarity: float, floor: float, recall: float, threads: int
) -> Iterator[database.Couples]:
    """Yield the pairs of vectors with similarity `floor` or more, each once, left below right.

    `bits`: the signs of the vectors.  `similarity` and `floor` (at most `similarity`) are measured
    on the rounded weights, as by `kernel.Vectors`.  For any similarity of `similarity` or more, at
    least the share `recall` of its pairs is found.
    """
    if len(vectors) <= COMPARED_MAX:
        yield from _compared(vectors, bits, floor, recall, threads)
    else:
        yield from _looked_up(vectors, similarity, floor, recall, threads)


def _compared(
    vectors: U8, bits: U64, similarity: float, recall: float, threads: int
) -> Iterator[database.Couples]:
    """Yield similar pairs by comparing every two vectors."""
    limit, firm = (
        each(min(similarity, 1.0), 1.0 - recall) for each in (plan.odd_distance, plan.firm_distance)
    )
    judging = database.judged_by(vectors, limit, firm)
    every = Table(bits, np.arange(len(bits), dtype=np.uint32), np.empty(0, np.uint32))
    measured = kernel.Vectors(vectors.shape[1], [(0, vectors)])
    for couples in database.sweep_table(every, [0], limit, threads=threads, judging=judging):
        found = measured.between(couples.left, couples.right)
        similar = replace(couples, similarities=found).taken(found >= np.float32(similarity))
        if len(similar):
            yield similar


def _looked_up(
    vectors: U8, similarity: float, floor: float, recall: float, threads: int
) -> Iterator[database.Couples]:
    """Yield similar pairs by looking up every vector; either side of a pair may find it."""
    width = polytope_header_bits(len(vectors))
    threshold = plan.universal(
        similarity, plan.table_share(recall), width=width, tables=TABLES, costs=plan.EITHER
    )
    tables = kernel.Polytopes(
        vectors.shape[1],
        [(0, vectors)],
        [list(_tables(vectors, width, threads))],
        (np.empty(0, np.uint64), np.empty(0, np.uint32)),
        None,
        are_whole=True,
    )
    limits = plan.sign_limits(similarity, recall)
    batches = database.Batches(np.arange(len(vectors), dtype=np.uint32), threads)
    for batch in batches:

        def look_up(part: slice, batch: U32 = batch) -> database.Couples:
            asking = batch[part]
            rows = database.Rows(*tables.search(
                vectors[asking], thresholds=np.array([threshold], np.float32),
                similarity=floor, limits=limits, first=False, after=None,
            ))  # fmt: skip
            return database.couples_of(asking, rows)

        parts = parts_of(len(batch), threads, most=len(batch))
        found = database.Couples.joined(list(mapped(look_up, parts, threads)))
        batches.found(len(found))
        yield found.taken(_is_first(vectors, found, threshold, width))


def _is_first(vectors: U8, found: database.Couples, threshold: float, width: int) -> Bools:
    """Mark each pair once: found from its lower position, or from its higher one alone: bool[k]."""
    is_first: Bools = found.left < found.right
    later = np.flatnonzero(found.left > found.right)
    if len(later):
        queries, stored = vectors[found.right[later]], vectors[found.left[later]]
        is_first[later] = ~kernel.polytope_reaches(queries, stored, threshold, width, TABLES)
    return is_first


def _tables(vectors: U8, width: int, threads: int) -> Iterator[Table]:
    """Yield tables with whole fingerprints in place of keys."""
    signs = signs_of(vectors)
    for keys in kernel.polytope_keys(vectors, TABLES):
        table = make_table(keys.copy(), np.arange(len(keys), dtype=np.uint32), width)
        yield database.with_fingerprints(signs, table, threads)
