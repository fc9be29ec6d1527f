"""Pairing: all matching pairs of sketches, by their ids, as sketches or texts decide.

Texts travel only if they are in a candidate, and once: those that a chain of candidates connects go
to one task.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from simdb.distributed import exact_similarities
from simdb.ground.choices import VerifyName
from simdb.ground.errors import InputError
from simdb.settings.minhash import Minhash
from simdb.settings.options import Options, Simhash
from simdb.sketch.exact_similarity import exact_threshold
from simdb.spark import components, finding, frames, packing
from simdb.spark.finding import SearchJob, Settings
from simdb.spark.frames import HeldFrames



def pairs(
    sketches: Any,
    *,
    similarity: float | None = None,
    distance: int | None = None,
    recall: float | None = None,
    verify: VerifyName | None = None,
    texts: Any = None,
    id: str = "id",
    text: str = "text",
    checkpoint: str | None = None,
    partitions: int | None = None,
    block_limit: int | None = None,
    driver_links: int = finding.DRIVER_LINKS,
) -> Any:
    """Return all matching pairs: left, right, distance INT, similarity FLOAT or null.

    `sketches`: of `fingerprints` or `signatures`; they are read several times, so cache them, or
    write them and read them again.  The criterion is that of `Database.find_all`: pairs within a
    distance, and pairs of signatures, are those that one database with all documents finds; of
    similar pairs at least the share `recall` is found, and none that is not.  Each pair is there
    once, the lower id on the left.

    With `texts`, the exact similarity of the texts decides, see `Database.find_all`; only texts
    that are in a candidate leave their task.  `texts`: the DataFrame of which the sketches were
    made, with its columns `id` and `text`, or the name of a column of `sketches` (see `columns` of
    `fingerprints`).  `verify`: "exact" is the default with texts=, and "estimate", by the sketches,
    without it and for a distance alone.  `checkpoint`, `driver_links`: see `clusters`.

    Pairs of fingerprints are searched for when the result is asked for.  Pairs of signatures, and
    those that texts decide, are searched for at once; the result is written to `checkpoint`, or
    cached until you call its `unpersist()`.  Nothing else remains cached.

    `partitions`: of the shuffle, by default 3 for each processor.  `block_limit`: documents of one
    part above which it is cut into several tasks.  Raises ExistsError for an id that is there
    twice, and OptionError for a criterion that no plan serves.
    """
    settings = Settings(
        similarity, distance, recall, checkpoint, partitions, block_limit, driver_links
    )
    given = finding.deciding(finding.texts_of(sketches, texts, id, text), verify, settings)
    with HeldFrames() as held:
        job = finding.job_of(sketches, settings, given, held)
        rows, _ = finding.rows_of(job)
        found = matching_rows(rows, job)
        named = packing.with_ids(found, job.keyed, {"left_key": "left", "right_key": "right"})
        return held.made(_in_order(named), checkpoint, "pairs")


def _in_order(named: Any) -> Any:
    """Return pairs with the lower id on the left, and null where no similarity is known."""
    functions = frames.functions()
    left, right = functions.col("left"), functions.col("right")
    similarity = functions.col("similarity")
    return named.select(
        functions.least(left, right).alias("left"),
        functions.greatest(left, right).alias("right"),
        "distance",
        functions.when(functions.isnan(similarity), None).otherwise(similarity).alias("similarity"),
    )


def matching_rows(rows: Any, job: SearchJob) -> Any:
    """Return the matching pairs of (key, row), by their keys; texts decide if the job has them."""
    found = finding.pairs_of_rows(rows, job)
    if job.texts is None:
        return found
    candidates = job.held.keep(found.select("left_key", "right_key", "distance"))
    roots = components.joined(candidates.select("left_key", "right_key"), job, "candidates")
    spread = _spread(candidates, roots, job)
    return spread.mapInArrow(partial(_judge, job.sketch, least_of(job)), finding.PAIRS)


def _spread(candidates: Any, roots: Any, job: SearchJob) -> Any:
    """Return texts and candidates in the partition of their component, by component."""
    functions = frames.functions()
    column, literal = functions.col, functions.lit
    place = functions.pmod(functions.xxhash64("root"), literal(job.partitions)).cast("int")
    few = frames.broadcast_if_few(roots, job.settings.driver_links)
    none = literal(None)
    texts = job.texts.join(few, "key").select(
        place.alias("place"), "root", column("key").alias("left_key"),
        none.cast("bigint").alias("right_key"), none.cast("int").alias("distance"), "text",
    )  # fmt: skip
    pairs = candidates.join(few.withColumnRenamed("key", "left_key"), "left_key").select(
        place.alias("place"), "root", "left_key", "right_key", "distance",
        none.cast("string").alias("text"),
    )  # fmt: skip
    every = texts.unionByName(pairs).repartitionById(job.partitions, "place")
    return every.sortWithinPartitions("root")


def default_least(sketch: Simhash | Minhash) -> float:
    """Return the least exact similarity of a match, if none is asked for."""
    return exact_threshold(sketch, Options(sketch=sketch).similarity)


def least_of(job: SearchJob) -> float:
    """Return the least exact similarity of a match."""
    asked = job.settings.similarity
    return default_least(job.sketch) if asked is None else asked


def _judge(sketch: Simhash | Minhash, least: float, batches: Iterable[Any]) -> Iterator[Any]:
    """Decide the candidates of whole components: a task."""
    arrow = frames.pyarrow()
    held: list[Any] = []
    for batch in batches:
        if not len(batch):
            continue
        roots = frames.numbers_of(batch.column("root"))
        start = int(np.searchsorted(roots, roots[-1]))
        if start or (held and frames.numbers_of(held[-1].column("root"))[-1] != roots[-1]):
            yield _judged(arrow.Table.from_batches([*held, batch.slice(0, start)]), sketch, least)
            held = []
        held.append(batch.slice(start))
    if held:
        yield _judged(arrow.Table.from_batches(held), sketch, least)


def _judged(table: Any, sketch: Simhash | Minhash, least: float) -> Any:
    """Return the pairs of some components that match."""
    given = table.column("text")
    texts, pairs = table.filter(given.is_valid()), table.filter(given.is_null())
    names = frames.numbers_of(texts.column("left_key"))
    order = np.argsort(names)
    both = []
    for side in ("left_key", "right_key"):
        wanted = frames.numbers_of(pairs.column(side))
        places = np.searchsorted(names[order], wanted)
        is_known = np.isin(wanted, names)
        if not is_known.all():
            raise InputError(
                f"texts= has no text of {int(np.count_nonzero(~is_known))} documents that are in a"
                " candidate; give the DataFrame of which the sketches were made"
            )
        both.append(order[places])
    similarities = exact_similarities(texts.column("text"), both[0], both[1], sketch)
    is_match = similarities >= np.float32(least)
    return frames.batch_of(
        {
            "left_key": frames.numbers_of(pairs.column("left_key"))[is_match],
            "right_key": frames.numbers_of(pairs.column("right_key"))[is_match],
            "distance": frames.numbers_of(pairs.column("distance"))[is_match].astype(np.int32),
            "similarity": similarities[is_match],
        }
    )
