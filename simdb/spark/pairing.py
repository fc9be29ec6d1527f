"""Pairing: all matching pairs of sketches, by their ids."""

from typing import Any

from simdb.choices import VerifyName
from simdb.spark import finding, frames, jobs, keys, verifying
from simdb.spark.held import Held
from simdb.spark.jobs import Settings


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
    driver_links: int = jobs.DRIVER_LINKS,
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
    given = jobs.deciding(jobs.texts_of(sketches, texts, id, text), verify, settings)
    with Held() as held:
        job = jobs.job_of(sketches, settings, given, held)
        rows, _ = finding.rows_of(job)
        found = verifying.matching_rows(rows, job)
        named = keys.with_ids(found, job.keyed, {"left_key": "left", "right_key": "right"})
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
