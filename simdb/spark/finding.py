"""Finding: pairs and links of sketches, by tasks that each search some parts of a plan.

A `SearchJob` is what every search has first: what is asked, checked, and documents with their keys.
`Tasks` says which parts of the plan, or cells of large parts, each task of Spark searches.
"""

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from simdb.core.checks import one_of, shown, whole
from simdb.core.choices import VerifyName
from simdb.core.dtypes import I64
from simdb.core.errors import OptionError
from simdb.core.options import Minhash, Options, Simhash
from simdb.database import ESTIMATE, EXACT
from simdb.plan import FINGERPRINT_BYTES
from simdb.spark import frames, packing, sketching
from simdb.spark.distributed import Cell, PairsPlan, chunks_of, plan_pairs
from simdb.spark.distributed.plan import BY_BANDS
from simdb.spark.frames import HeldFrames
from simdb.spark.sketching import Keyed

# So many links are joined by the driver: 16 bytes each, and some ten times as much while it does.
DRIVER_LINKS = 20_000_000
# Partitions of a shuffle for each processor, so that a slow task delays little.
PARTITIONS_OF_CORE = 3
# A document of a part costs as much as so many comparisons.
DOCUMENT_COMPARISONS = 10_000
PAIRS = "left_key bigint, right_key bigint, distance int, similarity float"
LINKS = "left_key bigint, right_key bigint"


def plan(
    documents: float,
    options: Options | Simhash | Minhash | None = None,
    *,
    similarity: float | None = None,
    distance: int | None = None,
    recall: float | None = None,
    verify: VerifyName = ESTIMATE,
    tasks: int = 64,
) -> PairsPlan:
    """Return the plan of a job of so many documents; see `simdb.spark.distributed.plan_pairs`."""
    return plan_pairs(
        documents, options, similarity=similarity, distance=distance, recall=recall, verify=verify,
        tasks=tasks,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Settings:
    """What matches, and how to search for it, as `pairs`, `clusters`, `drop_duplicates` are told.

    What matches is asked for as by `simdb.spark.distributed.plan_pairs`.
    """

    similarity: float | None
    distance: int | None
    recall: float | None
    checkpoint: str | None
    partitions: int | None
    block_limit: int | None
    driver_links: int

    def check(self) -> None:
        """Raise OptionError for what no plan would notice."""
        if self.distance is None and self.similarity is None:
            raise OptionError("say what matches: give similarity= or distance=")
        if self.block_limit is not None:
            whole("block_limit", self.block_limit, 1, 1 << 31)


class SearchJob(NamedTuple):
    """The documents of a search, how it is cut up, and what it holds until its result is made.

    `texts`: key and text of the documents, if they decide what matches; otherwise None.
    `partitions`: the partitions of a shuffle.
    """

    keyed: Keyed
    settings: Settings
    sketch: Simhash | Minhash
    partitions: int
    texts: Any
    held: HeldFrames


def job_of(sketches: Any, settings: Settings, texts: Any, held: HeldFrames) -> SearchJob:
    """Return the job of a search; `texts`: id and text if they decide, as `texts_of` returns."""
    settings.check()
    sketch = sketching.sketch_of(sketches)
    shares = partitions_of(sketches, settings.partitions)
    keyed = sketching.checked_keys(sketches, shares)
    if texts is not None:
        named = sketching.with_key(texts, "id", keyed.is_hashed, keyed.salt)
        texts = named.where(named["text"].isNotNull()).select("key", "text")
    return SearchJob(keyed, settings, sketch, shares, texts, held)


def partitions_of(df: Any, partitions: int | None) -> int:
    """Return the number of partitions of a shuffle."""
    if partitions is not None:
        whole("partitions", partitions, 1, 1 << 20)
        return partitions
    return max(PARTITIONS_OF_CORE * int(df.sparkSession.sparkContext.defaultParallelism), 1)


def texts_of(sketches: Any, texts: Any, id: str, text: str) -> Any:
    """Return the texts at hand as a DataFrame of id and text, None if there are none.

    `texts`: a DataFrame with the columns `id` and `text`, or the name of a column of `sketches`.
    """
    if isinstance(texts, str):
        texts, id, text = sketches, "id", texts
    elif texts is None:
        return None
    elif not hasattr(texts, "schema"):
        raise OptionError(
            "texts= must be the DataFrame of which the sketches were made, with ids and texts, or"
            f" the name of a column of the sketches; got {shown(texts)}"
        )
    frames.column_type(texts, text)
    kind, column = frames.id_type(texts, id), frames.functions().col
    return texts.select(
        column(id).cast(kind).alias("id"), column(text).cast("string").alias("text")
    )


def deciding(texts: Any, verify: VerifyName | None, settings: Settings) -> Any:
    """Return the texts if they decide what matches, None if sketches do.

    Without `verify`, texts that are at hand decide, but not about a distance alone.
    """
    if verify is None:
        return None if settings.similarity is None else texts
    one_of("verify", verify, (ESTIMATE, EXACT))
    if verify == EXACT and texts is None:
        raise OptionError(
            "verify='exact' needs texts=: the DataFrame of which the sketches were made, with ids"
            " and texts, or the name of a column of the sketches"
        )
    return texts if verify == EXACT else None


class Tasks(NamedTuple):
    """The cells of all parts.  Cell number i is searched by the task of Spark `places[i]`.

    `cells_of[part]`: the numbers of the cells of a part, and into how many chunks it is cut.
    """

    cells: list[Cell]
    places: I64
    cells_of: dict[int, tuple[int, list[int]]]


def make_tasks(plan: PairsPlan, sizes: I64, partitions: int, block_limit: int) -> Tasks:
    """Cut parts of more than `block_limit` documents into cells, and share out all cells."""
    cells = plan.cells(sizes, block_limit)
    cells_of: dict[int, tuple[int, list[int]]] = {}
    for number, cell in enumerate(cells):
        chunks = -(-int(sizes[cell.part]) // block_limit)
        cells_of.setdefault(cell.part, (chunks, []))[1].append(number)
    costs = [_cost(sizes, cells_of, cell) for cell in cells]
    places = np.zeros(len(cells), np.int64)
    loads = [(0.0, place) for place in range(partitions)]
    for number in sorted(range(len(cells)), key=lambda each: (-costs[each], each)):
        load, place = heapq.heappop(loads)
        places[number] = place
        heapq.heappush(loads, (load + costs[number], place))
    return Tasks(cells, places, cells_of)


def part_sizes(rows: Any, plan: PairsPlan) -> I64:
    """Return how many documents go to each part: int64[parts]."""
    counted = rows.mapInArrow(partial(_count_parts, plan), "part int, documents bigint").toArrow()
    sizes = np.zeros(plan.part_count, np.int64)
    parts = np.asarray(counted.column("part").to_numpy(), np.int64)
    np.add.at(sizes, parts, np.asarray(counted.column("documents").to_numpy(), np.int64))
    return sizes


def spread(rows: Any, plan: PairsPlan, tasks: Tasks, partitions: int) -> Any:
    """Return the packed rows of every cell, in the partition of its task, sorted by cell."""
    packed = rows.mapInArrow(partial(_pack_parts, plan, tasks), packing.SCHEMA)
    return packed.repartitionById(partitions, "place").sortWithinPartitions("task", "chunk")


def searched(
    plan: PairsPlan, tasks: Tasks, batches: Iterable[Any]
) -> Iterator[tuple[Cell, list[tuple[I64, Any]]]]:
    """Yield each cell with the keys and rows of its one chunk or its two chunks."""
    for blobs in packing.by_task(batches, plan.row_bytes):
        cell = tasks.cells[blobs[0].task]
        chunks = [cell.first] if cell.first == cell.second else [cell.first, cell.second]
        yield (
            cell,
            [
                packing.joined([blob for blob in blobs if blob.chunk == chunk], plan.row_bytes)
                for chunk in chunks
            ],
        )


def _cost(sizes: I64, cells_of: dict[int, tuple[int, list[int]]], cell: Cell) -> float:
    size = int(sizes[cell.part]) / cells_of[cell.part][0]
    rows = size if cell.first == cell.second else 2 * size
    return rows * rows / 2 + DOCUMENT_COMPARISONS * rows


def _count_parts(plan: PairsPlan, batches: Iterable[Any]) -> Iterator[Any]:
    sizes = np.zeros(plan.part_count, np.int64)
    for _, rows in packing.gathered(batches, plan.row_bytes):
        sizes += np.diff(packing.split_rows(plan, rows)[1].offsets)
    parts = np.flatnonzero(sizes)
    yield frames.batch_of({"part": parts.astype(np.int32), "documents": sizes[parts]})


def _pack_parts(plan: PairsPlan, tasks: Tasks, batches: Iterable[Any]) -> Iterator[Any]:
    for keys, given in packing.gathered(batches, plan.row_bytes):
        rows, split = packing.split_rows(plan, given)
        numbers, chunks, positions = [], [], []
        for part in np.flatnonzero(np.diff(split.offsets)).tolist():
            at = split.positions[split.offsets[part] : split.offsets[part + 1]]
            count, cells = tasks.cells_of[part]
            own = chunks_of(keys[at], count)
            for number in cells:
                cell = tasks.cells[number]
                chosen = at if count == 1 else at[(own == cell.first) | (own == cell.second)]
                side = own if count == 1 else own[(own == cell.first) | (own == cell.second)]
                numbers.append(np.full(len(chosen), number))
                chunks.append(side)
                positions.append(chosen)
        if positions:
            every = np.concatenate(positions)
            yield packing.packed(
                np.concatenate(numbers), keys[every], rows[every], np.concatenate(chunks),
                tasks.places,
            )  # fmt: skip


def pairs_of_rows(rows: Any, job: SearchJob) -> Any:
    """Return the matching pairs of (key, row), by their keys."""
    sent, made, shared = _sent(rows, job)
    return sent.mapInArrow(partial(_find_pairs, made, shared), PAIRS)


def links_of_rows(rows: Any, job: SearchJob) -> Any:
    """Return links, by keys, that connect what all matching pairs connect."""
    sent, made, shared = _sent(rows, job)
    return sent.mapInArrow(partial(_find_links, made, shared), LINKS)


def rows_of(job: SearchJob) -> tuple[Any, int]:
    """Return (key, row) of the documents that have features, and the length of a row."""
    made = plan_of(job)
    name = "vector"
    if made.method == BY_BANDS:
        name = "signature"
    elif made.row_bytes == FINGERPRINT_BYTES:
        name = "fp"
    column = frames.functions().col
    full = job.keyed.sketches.where(~column("is_empty"))
    rows = full.select("key", column(name).alias("row"))
    return frames.in_order(rows, "key"), made.row_bytes


def plan_of(job: SearchJob) -> PairsPlan:
    """Return the plan of a job."""
    asked = job.settings
    return plan_pairs(
        job.keyed.document_count, job.sketch, similarity=asked.similarity, distance=asked.distance,
        recall=asked.recall, verify=ESTIMATE if job.texts is None else EXACT,
        tasks=job.partitions,
    )  # fmt: skip


def _sent(rows: Any, job: SearchJob) -> tuple[Any, PairsPlan, Tasks]:
    made = plan_of(job)
    if packing.can_narrow(made):
        # It is read twice: the parts are counted before it is known where they go.
        rows = job.held.keep(packing.narrowed(rows, made, job.partitions))
    sizes = part_sizes(rows, made)
    limit = job.settings.block_limit or made.cell_documents
    shared = make_tasks(made, sizes, job.partitions, limit)
    return spread(rows, made, shared, job.partitions), made, shared


def _find_pairs(made: PairsPlan, shared: Tasks, batches: Iterable[Any]) -> Iterator[Any]:
    for cell, sides in searched(made, shared, batches):
        names, rows = sides[0]
        others = sides[1] if len(sides) == 2 else None
        found = made.find_pairs(cell.part, rows, None if others is None else others[1])
        right_names = names if others is None else others[0]
        for some in found:
            yield frames.batch_of(
                {
                    "left_key": names[some.left],
                    "right_key": right_names[some.right],
                    "distance": some.distance.astype(np.int32),
                    "similarity": some.similarity,
                }
            )


def _find_links(made: PairsPlan, shared: Tasks, batches: Iterable[Any]) -> Iterator[Any]:
    for cell, sides in searched(made, shared, batches):
        rows = [each for _, each in sides]
        names = np.concatenate([each for each, _ in sides])
        left, right = made.find_links(cell.part, *rows)
        if len(left):
            yield frames.batch_of({"left_key": names[left], "right_key": names[right]})
