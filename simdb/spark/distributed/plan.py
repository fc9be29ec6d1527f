"""Plan of pairs: chooses how documents are spread, for their number, the criterion and the tasks.

The costs are those of one AVX2 core: of a row that travels, packed with many others, and of the
comparisons within parts.  They choose between ways that all reach the recall, so no result depends
on them.  `exact_similarities` decides by the texts about what was found with verify="exact".

Documents are spread over parts so that every matching pair meets in one of them.  A document
travels as a *row* of bytes: its fingerprint, volatility vector, packed signature or hash.  It
goes to one part or more, which its row alone decides.  A pair can meet in several parts; it belongs
to the first of them, so each pair is reported once and no part needs to know what others find.

An exchange is one of `ByBlocks`, `ByHashes`, `ByVertices` and `ByBands`.  Its `parts` returns the
parts of each row, ascending, as offsets int64[n + 1] and parts uint32[k].  Its `pairs` yields the
matching pairs of the rows of a part that belong to it, by position, left below right; similarities
are as users get them, or NaN.

`ByVertices` is an exchange for similar volatility vectors, by cross-polytope hashes.  Each table
rotates the weights of a document; its parts are the vertices of a cross-polytope, and a document
goes to all vertices that are nearly as near as its nearest one (Andoni et al. 2015).  Few bits of a
hash are compared here, so that few copies travel; within a part, all similar pairs are found by
other tables.
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
# Of what may be missed, the share that the exchange may miss; the search of a part has the rest.
EXCHANGE_SHARE = 0.8
ID_BYTES = 8
ROW_SECONDS = 3e-6
COMPARE_SECONDS = 1 / 2.3e9
# Above this number of documents in a part, tables are looked up: seconds for each document.
LOOKED_UP_SECONDS = 4e-6
PART_BITS_MAX = 16
TABLES_MAX = 16
# A task has several parts, so that a large one matters less.
PARTS_OF_TASK = 4
# A part of more documents is cut into cells, by default.  Its documents travel once for each of
# its chunks, so a plan makes parts of half as many where it can.
CELL_DOCUMENTS = 200_000
# Where it cannot, larger parts stay whole up to so many documents: their rows alone take 1.2 GB.
LARGE_CELL_DOCUMENTS = 16_000_000
# A part is cut into at most so many blocks more than its distance, to be searched in.
BLOCKS_MORE = 4
# A part is one vertex of the first slice of a key.
VERTEX_BITS = 7
# So many hashes are a chunk: a task finds the pairs of two in some 3 s, and 0.5 GB of memory.
CHUNK_HASHES = 500_000
# So many rows are marked at a time.
MARKED_ROWS = 1 << 14
# So many vectors are all compared: their tables would take longer to make and to look up.
COMPARED_MAX = 1 << 14
TABLES = 4


@dataclass(frozen=True, slots=True, eq=False)
class PartPairs:
    """Some pairs: positions `left` and `right` int64[k], `distance` uint8[k], `similarity`.

    `distance` is uint16[k] of hashes of other than 64 bits.  `similarity` float32[k] is NaN where
    rows are fingerprints or hashes alone.  Within one set of rows, left
    is below right; between two sets, left is a position in the first and right in the second.
    """

    left: I64
    right: I64
    distance: U8
    similarity: F32

    def __len__(self) -> int:
        """Count the pairs."""
        return len(self.left)


class Split(NamedTuple):
    """Rows by part: those of part p are at positions[offsets[p]:offsets[p + 1]], ascending.

    `positions` uint32[k], `offsets` int64[parts + 1].
    """

    positions: U32
    offsets: I64


class Cell(NamedTuple):
    """A task of a large part: the rows of chunk `first`, with each other or with chunk `second`."""

    part: int
    first: int
    second: int


@dataclass(frozen=True, slots=True)
class PairsPlan:
    """How tasks find all matching pairs of a collection; `plan_pairs` makes it.

    A task has the rows of one part, from all documents, and finds the pairs that belong to the
    part; the pairs of all parts together are those of the collection, each once.

    `documents`: the number that was planned for.  `method`: "blocks", "vertices" or "bands".
    `recall`: what is found at least, of the pairs of any similarity that is asked for; 1 for a
    distance.  `copies`: the mean number of rows that travel for each document.  `row_bytes`: the
    length of a row.  `bytes_per_document`: of rows and ids of 8 bytes, before compression.
    `seconds`: of one core, in all tasks.  `scale`: how users see similarities.
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
        """The number of parts."""
        return self.exchange.part_count

    @property
    def row_bytes(self) -> int:
        """The length of a row."""
        return self.exchange.row_bytes

    @property
    def bytes_per_document(self) -> float:
        """The bytes that travel for each document: rows, and an id of 8 bytes with each."""
        return self.copies * (self.row_bytes + ID_BYTES)

    def rows(self, sketches: Any) -> U8:
        """Return documents as rows: uint8[n, row_bytes].

        `sketches`: `Fingerprints`, `Signatures`, or, to compare by distance alone, uint64[n]; of
        hashes of other than 64 bits, `Fingerprints` or uint8[n, bits / 8].
        Documents without features match nothing, so leave them out (`is_empty`).
        Raises InputError for sketches of another kind or size.
        """
        if self.method == BY_BANDS:
            if not isinstance(sketches, Signatures):
                raise InputError(f"the plan is of signatures, got {describe(sketches)}")
            return self._checked(pack_minima(sketches.minima, sketches.sketch.stored_bits))
        bits = sketches.bits if isinstance(sketches, Fingerprints) else sketches
        if isinstance(self.exchange, ByHashes):
            return self._checked(bits)
        if self.row_bytes == plan.FINGERPRINT_BYTES:
            if not isinstance(bits, np.ndarray) or bits.dtype != np.uint64 or bits.ndim != 1:
                raise InputError(
                    f"the plan is of fingerprints, uint64[n] or Fingerprints, got {describe(bits)}"
                )
            return (
                np.ascontiguousarray(bits, "<u8").view(np.uint8).reshape(-1, plan.FINGERPRINT_BYTES)
            )
        if not isinstance(sketches, Fingerprints) or (
            sketches.weights is None and sketches.vectors is None
        ):
            raise InputError(
                "the plan is of fingerprints with weights or vectors, as simdb.fingerprints makes"
                f" them, got {describe(sketches)}"
            )
        if sketches.vectors is not None:
            return self._checked(sketches.vectors)
        assert sketches.weights is not None
        return self._checked(kernel.quantise(sketches.weights)[1])

    def split(self, rows: U8) -> Split:
        """Return which rows go to which part."""
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

        `rows`: all that go to the part, or, of a large part, those of one chunk.  `others`: of a
        large part, those of another chunk; then only pairs between both are found.
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
        """Return fewer links than rows, which connect what the pairs of the part connect.

        Each link is two positions, left below right; right is a position in `others` plus the
        number of `rows`.
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
        """Above how many documents a part is cut: much more than most parts have."""
        if isinstance(self.exchange, ByHashes) and self.part_count == 1:
            return CHUNK_HASHES
        mean = self.copies * self.documents / self.part_count
        return int(min(max(2 * mean, CELL_DOCUMENTS), LARGE_CELL_DOCUMENTS))

    def cells(self, sizes: I64, most: int | None = None) -> list[Cell]:
        """Return the tasks for parts of `sizes` int64[parts], of about 2 x `most` rows at most.

        `most`: `cell_documents` if you give none.  A part with more than `most` rows is cut into
        chunks (`chunks_of`), and there is a task for each chunk and for each two of them.
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
                f"the plan is of rows of {self.row_bytes} bytes, got {rows.shape[1]}; make the"
                " sketches with the options that the plan was made for"
            )
        return np.ascontiguousarray(rows)


def chunks_of(ids: I64, count: int) -> I64:
    """Return in which of `count` chunks the documents are, by a hash of their ids: int64[n]."""
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
        What decides about a candidate.  With "exact", `similarity` is the least exact similarity.
        The plan then finds candidates, also some below it, for
        `simdb.distributed.exact_similarities` to decide.
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
        raise OptionError(f"documents must be a number from 0 on, got {shown(documents)}")
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
                f"distance must be below {options.bits} here, within it every two documents match"
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
    """Return the exact similarity of texts left[i] and right[i]: float32[k].

    `texts`: texts or lists of tokens, or a column of Arrow; a pair is two positions in it.  The
    similarity is that of all their features, where `sketch` (`Simhash()` if you give none) only
    estimates it: Jaccard's if every feature counts once, see `Database.find_all`.  It is 0 if one
    of the two has no features.  `plan_pairs(verify="exact")` finds the candidates; those of at
    least the similarity asked for are matches.  All features of the texts are in memory.
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
    """Return for which similarity candidates are searched, and that from which they are kept."""
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
    """Return into how many parts, 2^bits, each table is cut."""
    wanted = max(PARTS_OF_TASK * tasks / tables, 2 * documents / CELL_DOCUMENTS, 1)
    return min(math.ceil(math.log2(wanted)), PART_BITS_MAX)


def _by_blocks(
    documents: float, options: Options, distance: int, width: int, least: float | None, tasks: int
) -> PairsPlan:
    """Plan the fewest tables; a part is searched by as many as pay there."""
    tables = distance + 1
    header = FINGERPRINT_BITS // tables
    exchange = ByBlocks(
        distance, tables, min(_part_bits(tables, tasks, documents), header), width, least
    )
    seconds = _seconds(tables * documents, tables * documents**2 / 2 ** (header + 1))
    return PairsPlan(documents, BY_BLOCKS, 1.0, float(tables), seconds, exchange, options.scale)


def _by_hashes(documents: float, sketch: Any, distance: int, tasks: int) -> PairsPlan:
    """Plan that every two chunks meet, or, of many, that equal blocks do: what copies less."""
    chunks, tables, part_bits = max(math.ceil(documents / CHUNK_HASHES), 1), 1, 0
    if chunks > distance + 1:
        tables = distance + 1
        part_bits = min(_part_bits(tables, tasks, documents), sketch.bits // tables)
    copies = float(min(chunks, distance + 1))
    exchange = ByHashes(sketch, distance, tables, part_bits, sketch.vector_bytes)
    seconds = _seconds(copies * documents, math.inf)
    return PairsPlan(documents, BY_BLOCKS, 1.0, copies, seconds, exchange)


def _seconds(rows: float, compared: float) -> float:
    """Return the seconds of rows that travel, and of what is compared in their parts."""
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
        # Rows of a part that is cut travel once for each of its chunks.
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

    `keys(searchable(rows))`: the keys of rows, uint64[n, tables].
    """

    table_count: int
    part_bits: int
    keys: Callable[[Array], U64]

    @property
    def part_count(self) -> int:
        """The number of parts."""
        return self.table_count << self.part_bits

    def searchable(self, rows: U8) -> Array:
        """Return what the keys of rows are made of: the rows."""
        return rows

    def parts(self, rows: U8) -> tuple[I64, U32]:
        """Return one part of each table for each row."""
        first = np.arange(self.table_count, dtype=np.uint32) << np.uint32(self.part_bits)
        found = self._numbers(self.searchable(rows)) + first
        return np.arange(len(rows) + 1) * self.table_count, found.ravel()

    def own(self, part: int, searchable: Array, couples: database.Couples) -> database.Couples:
        """Return the couples that share no part of an earlier table than that of `part`."""
        earlier = part >> self.part_bits
        both = (searchable[couples.left], searchable[couples.right])
        left, right = (self._numbers(each)[:, :earlier] for each in both)
        return chosen(couples, np.asarray((left != right).all(axis=1)))

    def _numbers(self, searchable: Array) -> U32:
        """Return the parts of rows within each table: uint32[n, tables]."""
        # A shift of 64 bits is none.
        halved = self.keys(searchable) >> np.uint64(1)
        return (halved >> np.uint64(63 - self.part_bits)).astype(np.uint32)


class ByBlocks(_ByTables):
    """An exchange that misses no pair within a Hamming distance, by blocks of fingerprints.

    If at most d bits of two fingerprints differ, then for one choice of d blocks all of these bits
    are in them (Manku, Jain & Das Sarma 2007).  So there is a table for each choice, as in BPHS,
    C(blocks, distance) in all; each is cut into 2^part_bits parts by the first bits of its keys.
    """

    def __init__(
        self, distance: int, blocks: int, part_bits: int, row_bytes: int, least: float | None
    ) -> None:
        """Rows are fingerprints, or volatility vectors if they are longer.

        `least`: of the rounded weights, the least similarity of a pair; None for any.
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
        """Return couples with the similarities of their vectors, those that are similar enough."""
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
        """Return fingerprints with the bits of each table in front: uint64[n, tables]."""
        found = np.empty((self.table_count, len(searchable)), np.uint64)
        for mask, keys in zip(self.masks, found, strict=True):
            kernel.permute(searchable, mask, keys)
        return found.T


@dataclass(frozen=True)
class ByHashes(_ByTables):
    """An exchange that misses no pair of hashes within a distance, by blocks of their bits.

    Of `distance` + 1 blocks, one at least is equal in both hashes of a pair; each table has one.  A
    single part has all hashes.  The hashes of a part are searched as those of a database.
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
        """Return the bits of the block of each table, the highest bits of a word."""
        ranked = np.arange(self.sketch.bits)
        if self.sketch.order is not None:
            # The first bits of all its blocks, which have the most entropy, then the second ones.
            ranked = np.reshape(self.sketch.order, (-1, HASH_BLOCK_BITS)).T.ravel()
        # No block has more than 64 bits.
        blocks = max(self.table_count, -(-self.sketch.bits // FINGERPRINT_BITS))
        dealt = [ranked[block::blocks].astype(np.uint16) for block in range(blocks)]
        words: U64 = kernel.deal(searchable, np.concatenate(dealt), list(map(len, dealt)))
        return words[: self.table_count].T


class ByBands(_ByTables):
    """An exchange for pairs of signatures that agree in a band, as a database with the same bands.

    A document goes to one part for each band, by the key of its minima there (LSH, Leskovec,
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
        """Yield the pairs that agree in the band of the part, in no earlier one, and are alike."""
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
    """Return some of the couples; the same object if all are chosen."""
    return couples if which.dtype == np.bool_ and which.all() else couples.taken(which)


def in_order(couples: database.Couples) -> database.Couples:
    """Return couples with the lower position on the left."""
    if (couples.left < couples.right).all():
        return couples
    left, right = np.minimum(couples.left, couples.right), np.maximum(couples.left, couples.right)
    return replace(couples, left=left, right=right)


@dataclass(frozen=True, eq=False)
class ByVertices:
    """Tables of 128 parts each; a document goes to the vertices that cost it at most a threshold.

    Costs are those of `polytope_costs` in `simdb_ext/_search.pyi`.  Rows are volatility vectors of
    `row_bytes` bytes.  `least`: the least similarity of the rounded weights of a pair.  `recall`:
    the share of the pairs of a part, of similarity `searched` or more, that is found in it.
    """

    tables: int
    threshold: float
    row_bytes: int
    searched: float
    least: float
    recall: float

    @property
    def part_count(self) -> int:
        """The number of parts."""
        return self.tables << VERTEX_BITS

    def parts(self, rows: U8) -> tuple[I64, U32]:
        """Return the near vertices of each row, in all tables."""
        offsets, headers = kernel.polytope_headers(rows, VERTEX_BITS, self.threshold, self.tables)
        tables = np.tile(np.arange(self.tables, dtype=np.uint32), len(rows))
        first = np.repeat(tables << np.uint32(VERTEX_BITS), np.diff(offsets))
        return offsets[:: self.tables].copy(), first + headers

    def pairs(self, part: int, rows: U8, threads: int) -> Iterator[database.Couples]:
        """Yield the similar pairs that share no earlier part."""
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
    """A bit for each part of each row, made for the rows that are asked for."""

    def __init__(self, exchange: ByVertices, rows: U8) -> None:
        """Take the rows; their bits are made later."""
        self._exchange = exchange
        self._rows = rows
        self._marks = np.empty((len(rows), exchange.part_count // 64), np.uint64)
        self._is_known = np.zeros(len(rows), np.bool_)

    def shared(self, left: U32, right: U32, parts: U64) -> Bools:
        """Return which rows left[i] and right[i] both go to one of the parts that are marked."""
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
    """Yield the pairs of vectors that are at least `floor` alike, each once, left below right.

    `bits`: their signs.  `similarity` and `floor`, which is not above it, are those of the rounded
    weights, as `kernel.Vectors` measures them.  At least the share `recall` of the pairs of any
    similarity from `similarity` on is found.
    """
    if len(vectors) <= COMPARED_MAX:
        yield from _compared(vectors, bits, floor, recall, threads)
    else:
        yield from _looked_up(vectors, similarity, floor, recall, threads)


def _compared(
    vectors: U8, bits: U64, similarity: float, recall: float, threads: int
) -> Iterator[database.Couples]:
    """Compare every two vectors."""
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
    """Look every vector up; it is enough that one of two finds the other."""
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
    """Return which pairs were found from their lower position, or only from their higher one."""
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
