"""Pairing: all matching pairs of sketches, by their ids."""

from typing import Any

from simdb.choices import VerifyName
from simdb.engine.search.judge import ESTIMATE
from simdb.spark import components, finding, frames, keys, sketching, verifying
from simdb.spark.finding import Asked, Job


def pairs(
    sketches: Any,
    *,
    similarity: float | None = None,
    distance: int | None = None,
    recall: float | None = None,
    verify: VerifyName = ESTIMATE,
    texts: Any = None,
    id: str = "id",
    text: str = "text",
    checkpoint: str | None = None,
    partitions: int | None = None,
    block_limit: int | None = None,
    driver_links: int = components.DRIVER_LINKS,
) -> Any:
    """Return all matching pairs: left, right, distance INT, similarity FLOAT or null.

    `sketches`: of `fingerprints` or `signatures`; they are read several times, so cache them, or
    write them and read them again.  The criterion is that of `Database.find_all`: pairs within a
    distance, and pairs of signatures, are those that one database with all documents finds; of
    similar pairs at least the share `recall` is found, and none that is not.  Each pair is there
    once, the lower id on the left.

    verify="exact" decides by the exact similarity of the texts, see `Database.find_all`.  `texts`:
    the DataFrame of which the sketches were made, with its columns `id` and `text`; only texts that
    are in a candidate leave their task.  `checkpoint`, `driver_links`: see `clusters`.

    `partitions`: of the shuffle, by default 3 for each processor.  `block_limit`: documents of one
    part above which it is cut into several tasks.  Raises ExistsError for an id that is there
    twice, and OptionError for a criterion that no plan serves.
    """
    verifying.check_verify(verify, texts)
    job = Job(
        Asked(similarity, distance, recall),
        sketching.sketch_of(sketches),
        finding.partitions_of(sketches, partitions),
        block_limit,
    )
    keyed = keys.checked_keys(sketches, job.partitions)
    if texts is not None:
        job = job._replace(texts=verifying.texts_of(texts, keyed, id, text))
    count = keyed.document_count
    rows = finding.rows_column(keyed.sketches, finding.plan_of(job, count))
    found = verifying.matching_rows(
        rows, count, job, checkpoint=checkpoint, driver_links=driver_links
    )
    named = keys.with_ids(found, keyed, {"left_key": "left", "right_key": "right"})
    functions = frames.functions()
    left, right = functions.col("left"), functions.col("right")
    similarities = functions.col("similarity")
    return named.select(
        functions.least(left, right).alias("left"),
        functions.greatest(left, right).alias("right"),
        "distance",
        functions.when(functions.isnan(similarities), None).otherwise(similarities)
        .alias("similarity"),
    )  # fmt: skip
