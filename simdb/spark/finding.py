"""Finding: pairs and links of sketches, by tasks that each search some parts of a plan."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from simdb.choices import VerifyName
from simdb.distributed import PairsPlan, plan_pairs
from simdb.distributed.by_blocks import FINGERPRINT_BYTES
from simdb.distributed.plan import BY_BANDS
from simdb.engine.search.judge import ESTIMATE, EXACT
from simdb.minhash import Minhash
from simdb.options import Options, Simhash
from simdb.spark import frames, narrowing, tasks
from simdb.spark.jobs import Job
from simdb.spark.tasks import Tasks

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
    """Return the plan of a job of so many documents; see `simdb.distributed.plan_pairs`."""
    return plan_pairs(
        documents, options, similarity=similarity, distance=distance, recall=recall, verify=verify,
        tasks=tasks,
    )  # fmt: skip


def pairs_of_rows(rows: Any, job: Job) -> Any:
    """Return the matching pairs of (key, row), by their keys."""
    spread, made, shared = _spread(rows, job)
    return spread.mapInArrow(partial(_find_pairs, made, shared), PAIRS)


def links_of_rows(rows: Any, job: Job) -> Any:
    """Return links, by keys, that connect what all matching pairs connect."""
    spread, made, shared = _spread(rows, job)
    return spread.mapInArrow(partial(_find_links, made, shared), LINKS)


def rows_of(job: Job) -> tuple[Any, int]:
    """Return (key, row) of the documents that have features, and the length of a row."""
    made = plan_of(job)
    name = "vector"
    if made.method == BY_BANDS:
        name = "signature"
    elif made.row_bytes == FINGERPRINT_BYTES:
        name = "fp"
    column = frames.functions().col
    full = job.keyed.sketches.where(~column("is_empty"))
    return full.select("key", column(name).alias("row")), made.row_bytes


def plan_of(job: Job) -> PairsPlan:
    """Return the plan of a job."""
    asked = job.settings
    return plan_pairs(
        job.keyed.document_count, job.sketch, similarity=asked.similarity, distance=asked.distance,
        recall=asked.recall, verify=ESTIMATE if job.texts is None else EXACT,
        tasks=job.partitions,
    )  # fmt: skip


def _spread(rows: Any, job: Job) -> tuple[Any, PairsPlan, Tasks]:
    made = plan_of(job)
    if narrowing.can_narrow(made):
        # It is read twice: the parts are counted before it is known where they go.
        rows = job.held.keep(narrowing.narrowed(rows, made, job.partitions))
    sizes = tasks.part_sizes(rows, made)
    limit = job.settings.block_limit or made.cell_documents
    shared = tasks.make_tasks(made, sizes, job.partitions, limit)
    return tasks.spread(rows, made, shared, job.partitions), made, shared


def _find_pairs(made: PairsPlan, shared: Tasks, batches: Iterable[Any]) -> Iterator[Any]:
    for cell, sides in tasks.searched(made, shared, batches):
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
    for cell, sides in tasks.searched(made, shared, batches):
        rows = [each for _, each in sides]
        names = np.concatenate([each for each, _ in sides])
        left, right = made.find_links(cell.part, *rows)
        if len(left):
            yield frames.batch_of({"left_key": names[left], "right_key": names[right]})
