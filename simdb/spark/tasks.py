"""Tasks: which parts of a plan, or cells of large parts, each task of Spark searches."""

import heapq
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from simdb.distributed import Cell, PairsPlan, chunks_of
from simdb.spark import frames, narrowing, packing
from simdb.spark.frames import I64

# A document of a part costs as much as so many comparisons.
DOCUMENT_COMPARISONS = 10_000


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
        sizes += np.diff(narrowing.split_rows(plan, rows)[1].offsets)
    parts = np.flatnonzero(sizes)
    yield frames.batch_of({"part": parts.astype(np.int32), "documents": sizes[parts]})


def _pack_parts(plan: PairsPlan, tasks: Tasks, batches: Iterable[Any]) -> Iterator[Any]:
    for keys, given in packing.gathered(batches, plan.row_bytes):
        rows, split = narrowing.split_rows(plan, given)
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
