"""Plan of pairs: chooses how documents are spread, for their number, the criterion and the tasks.

The costs are those of one AVX2 core: of a row that travels, packed with many others, and of the
comparisons within parts.  They choose between ways that all reach the recall, so no result depends
on them.  `exact_similarities` decides by the texts about what was found with verify="exact".
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from simdb.core import kernel
from simdb.core.arrays import Fingerprints, check_many, describe
from simdb.core.bits import FINGERPRINT_BITS, fmix64
from simdb.core.checks import instance, one_of, shown, whole
from simdb.core.choices import VerifyName
from simdb.core.decoding import all_texts
from simdb.core.documents import Signatures
from simdb.core.dtypes import F32, I64, U8, U32
from simdb.core.errors import InputError, OptionError
from simdb.core.options import Minhash, Options, Simhash
from simdb.core.stored_options import Resources
from simdb.core.text_sketch import TextSketch
from simdb.core.threads import thread_count
from simdb.core.vector_form import pack_minima
from simdb.database import ESTIMATE, EXACT, Question, candidate_similarities, settled
from simdb.plan import FINGERPRINT_BYTES, bands_of, meeting, probe_count
from simdb.sketch import ExactSimilarity
from simdb.spark.distributed.exchange import (
    VERTEX_BITS,
    ByBands,
    ByBlocks,
    ByVertices,
    Exchange,
    PartPairs,
)

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
    `seconds`: of one core, in all tasks.
    """

    documents: float
    method: str
    recall: float
    copies: float
    seconds: float
    exchange: Exchange

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

        `sketches`: `Fingerprints`, `Signatures`, or, to compare by distance alone, uint64[n].
        Documents without features match nothing, so leave them out (`is_empty`).
        Raises InputError for sketches of another kind or size.
        """
        if self.method == BY_BANDS:
            if not isinstance(sketches, Signatures):
                raise InputError(f"the plan is of signatures, got {describe(sketches)}")
            return self._checked(pack_minima(sketches.minima))
        bits = sketches.bits if isinstance(sketches, Fingerprints) else sketches
        if self.row_bytes == FINGERPRINT_BYTES:
            if not isinstance(bits, np.ndarray) or bits.dtype != np.uint64 or bits.ndim != 1:
                raise InputError(
                    f"the plan is of fingerprints, uint64[n] or Fingerprints, got {describe(bits)}"
                )
            return np.ascontiguousarray(bits, "<u8").view(np.uint8).reshape(-1, FINGERPRINT_BYTES)
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
                found = found.chosen((found.left < first) & (found.right >= first))
            if len(found):
                left, right = found.left.astype(np.int64), found.right.astype(np.int64)
                yield PartPairs(left, right - first, found.distances, found.similarities)

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
    options: Options | Simhash | Minhash | None = None,
    *,
    similarity: float | None = None,
    distance: int | None = None,
    recall: float | None = None,
    verify: VerifyName = ESTIMATE,
    tasks: int = 64,
) -> PairsPlan:
    """Plan how `tasks` tasks find all matching pairs of a collection of `documents` documents.

    `options`: of a database that would hold them, or a sketch alone; `Simhash()` if you give none.
    The criterion is given as for `Database.find_all`: pairs match by `similarity`, by `distance`,
    or by both.  With verify="exact", `similarity` is the least exact similarity, and the plan finds
    candidates, also some below it, for `exact_similarities` to decide.  Raises OptionError for a
    criterion or a recall that no plan reaches.
    """
    options = _options_of(options, similarity, recall)
    one_of("verify", verify, (ESTIMATE, EXACT))
    whole("tasks", tasks, 1, 1 << 24)
    if isinstance(documents, bool) or not isinstance(documents, int | float) or documents < 0:
        raise OptionError(f"documents must be a number from 0 on, got {shown(documents)}")
    question = Question(similarity, distance, recall)
    is_weighted = options.sketch.vector_bytes > 0
    criterion = question.criterion(options, is_weighted=is_weighted)
    searched = least = criterion.similarity
    if verify == EXACT:
        searched, least = _of_candidates(options, question)
    if options.is_minhash:
        assert criterion.similarity is not None
        assert least is not None
        return _by_bands(documents, options, criterion.similarity, least, tasks)
    if criterion.distance is not None:
        width = FINGERPRINT_BYTES if least is None else options.sketch.vector_bytes
        return _by_blocks(documents, criterion.distance, width, least, tasks)
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


def _of_candidates(options: Options, question: Question) -> tuple[float, float]:
    """Return for which similarity candidates are searched, and that from which they are kept."""
    if question.similarity is None and question.has_bound:
        raise OptionError(
            "verify='exact' decides by similarity; give similarity= (besides distance=, if you"
            " want both), or verify='estimate'"
        )
    sketch = options.sketch
    exact = ExactSimilarity(sketch, Resources(), [sketch.tokeniser])
    least = question.similarity
    if least is None:
        least = exact.least(options.similarity)
    recall = options.recall if question.recall is None else question.recall
    return candidate_similarities(options, exact.estimated(least), recall)


def _options_of(options: Any, similarity: float | None, recall: float | None) -> Options:
    if options is None:
        options = Options()
    elif isinstance(options, Simhash | Minhash):
        options = Options(sketch=options)
    instance("options", options, Options, "simdb.Options() or a sketch")
    found: Options = settled(options, similarity=similarity, recall=recall)
    return found


def _part_bits(tables: int, tasks: int, documents: float) -> int:
    """Return into how many parts, 2^bits, each table is cut."""
    wanted = max(PARTS_OF_TASK * tasks / tables, 2 * documents / CELL_DOCUMENTS, 1)
    return min(math.ceil(math.log2(wanted)), PART_BITS_MAX)


def _by_blocks(
    documents: float, distance: int, width: int, least: float | None, tasks: int
) -> PairsPlan:
    """Plan the fewest tables; a part is searched by as many as pay there."""
    if distance >= FINGERPRINT_BITS:
        raise OptionError(
            f"distance must be below {FINGERPRINT_BITS} here, within it every two documents match"
        )
    tables = distance + 1
    header = FINGERPRINT_BITS // tables
    exchange = ByBlocks(
        distance, tables, min(_part_bits(tables, tasks, documents), header), width, least
    )
    compared = tables * documents**2 / 2 ** (header + 1)
    rows = tables * documents
    seconds = rows * ROW_SECONDS + min(compared * COMPARE_SECONDS, rows * LOOKED_UP_SECONDS)
    return PairsPlan(documents, BY_BLOCKS, 1.0, float(tables), seconds, exchange)


def _by_vertices(
    documents: float, options: Options, similarity: float, least: float, recall: float
) -> PairsPlan:
    missed = 1.0 - recall
    share, within = 1.0 - EXCHANGE_SHARE * missed, 1.0 - (1.0 - EXCHANGE_SHARE) * missed
    best: tuple[float, int, float, float] | None = None
    for tables in range(1, TABLES_MAX + 1):
        threshold = meeting(similarity, share, width=VERTEX_BITS, tables=tables)
        if math.isinf(threshold):
            continue
        copies = tables * probe_count(threshold, VERTEX_BITS)
        parts = tables << VERTEX_BITS
        # Rows of a part that is cut travel once for each of its chunks.
        chunks = math.ceil(copies * documents / parts / LARGE_CELL_DOCUMENTS)
        rows = copies * documents * max(chunks, 1)
        compared = rows**2 / (2 * parts)
        searching = min(compared * COMPARE_SECONDS, rows * LOOKED_UP_SECONDS)
        seconds = rows * ROW_SECONDS + searching
        if best is None or seconds < best[0]:
            best = seconds, tables, threshold, copies
    if best is None:
        raise OptionError(
            f"no tables find recall={recall:g} of the pairs at similarity {similarity:g}; ask for a"
            " lower recall or a higher similarity"
        )
    seconds, tables, threshold, copies = best
    exchange = ByVertices(
        tables, threshold, options.sketch.vector_bytes, searched=similarity, least=least,
        recall=within,
    )  # fmt: skip
    return PairsPlan(documents, BY_VERTICES, recall, copies, seconds, exchange)


def _by_bands(
    documents: float, options: Options, similarity: float, least: float, tasks: int
) -> PairsPlan:
    bands = bands_of(options)
    exchange = ByBands(bands, _part_bits(bands.table_count, tasks, documents), least)
    copies = float(bands.table_count)
    seconds = copies * documents * ROW_SECONDS
    return PairsPlan(documents, BY_BANDS, bands.reach(similarity), copies, seconds, exchange)


def _positions(given: Any, name: str, count: int) -> I64:
    positions = np.asarray(given)
    if positions.ndim != 1 or (len(positions) and positions.dtype.kind not in "iu"):
        raise InputError(f"{name} must be positions, int64[k], got {describe(given)}")
    if len(positions) and not 0 <= int(positions.min()) <= int(positions.max()) < count:
        at = int(np.argmax((positions < 0) | (positions >= count)))
        raise InputError(f"{name} has the position {positions[at]}, and there are {count} texts")
    return np.ascontiguousarray(positions, np.int64)
