"""Dropping: the main job, the rows of a DataFrame without their near-duplicates."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from simdb.checks import one_of, shown
from simdb.choices import NullName, PolicyName, VerifyName
from simdb.distributed import exact_similarities
from simdb.engine.clusters.find import CONNECTED, POLICIES
from simdb.engine.search.judge import ESTIMATE, EXACT, VERIFICATIONS
from simdb.errors import OptionError
from simdb.functions import similarities
from simdb.minhash import Minhash
from simdb.options import Options, Simhash
from simdb.signatures import Signatures
from simdb.spark import clustering, frames, jobs, sketching, verifying
from simdb.spark.clustering import FIRST
from simdb.spark.held import Held, stored
from simdb.values import Fingerprints
from simdb.vector_form import signs_of, unpack_minima

KEEP, DROP, ERROR = ON_NULL = ("keep", "drop", "error")
PLACE = "simdb_place"
NAMED_CLUSTERS = 5


class _Documents(NamedTuple):
    """The documents of a job: id, text and, where it decides who stays, a place."""

    df: Any
    sketch: Simhash | Minhash
    verify: str


def drop_duplicates(
    df: Any,
    *,
    sketch: Simhash | Minhash | None = None,
    id: str = "id",
    text: str = "text",
    similarity: float | None = None,
    distance: int | None = None,
    recall: float | None = None,
    verify: VerifyName = ESTIMATE,
    policy: PolicyName = CONNECTED,
    keep: str = FIRST,
    max_share: float | None = None,
    on_null: NullName = "keep",
    checkpoint: str | None = None,
    partitions: int | None = None,
    block_limit: int | None = None,
    driver_links: int = jobs.DRIVER_LINKS,
) -> Any:
    """Return the rows of `df` without near-duplicates, all their columns, as a DataFrame.

    Its attribute `dropped` is a DataFrame of what was removed: id, representative, similarity.  So
    the result stands wherever that of `df.dropDuplicates()` does; keep it to ask for `dropped`,
    which a DataFrame made of it does not have.

    The criterion, `verify` and `policy` are those of `clusters`; without similarity= and distance=,
    the default of a database is used.  `keep`: which row of a cluster survives: "first" is the
    least id; the name of a column, the row with its least value.  Rows without a text are kept by
    on_null="keep", removed by "drop" and refused by "error".

    `max_share`: the largest share of the texts that may be removed.  Of more, OptionError names the
    largest clusters.  `checkpoint`: a folder that all processes can write; sketches and `dropped`
    are written there, and not held in memory and on local disks.  Give each job a folder of its
    own.  Without it `dropped` remains cached, and nothing else, until you call its `unpersist()`.
    Texts are not shuffled, unless verify="exact" needs them, while at most `driver_links` rows are
    removed.  The search runs at once, and reads `df` once; the rows are read again when the result
    is.
    """
    _check(policy, on_null, verify, max_share)
    documents = _documents(df, sketch, id, text, keep, verify)
    if similarity is None and distance is None:
        similarity = _default_similarity(documents)
    with Held() as held:
        sketches = _sketches(documents, on_null, checkpoint, held)
        found = clustering.clusters(
            sketches, similarity=similarity, distance=distance, recall=recall, policy=policy,
            representative=FIRST if keep == FIRST else PLACE, verify=verify,
            texts=documents.df if verify == EXACT else None, checkpoint=checkpoint,
            partitions=partitions, block_limit=block_limit, driver_links=driver_links,
        )  # fmt: skip
        dropped = stored(_compared(held.take(found), sketches, documents), checkpoint, "dropped")
        if max_share is not None:
            _check_removed(dropped, sketches, max_share)
    rows = df if on_null != DROP else df.where(frames.functions().col(text).isNotNull())
    survivors = _without(rows, id, dropped, driver_links)
    survivors.dropped = dropped
    return survivors


def _documents(
    df: Any, sketch: Simhash | Minhash | None, id: str, text: str, keep: str, verify: str
) -> _Documents:
    functions = frames.functions()
    kind = frames.id_type(df, id)
    frames.column_type(df, text)
    columns = [functions.col(id).cast(kind).alias("id"), functions.col(text).alias("text")]
    if keep != FIRST:
        frames.column_type(df, keep)
        columns.append(functions.col(keep).alias(PLACE))
    return _Documents(df.select(*columns), Simhash() if sketch is None else sketch, verify)


def _sketches(documents: _Documents, on_null: str, checkpoint: str | None, held: Held) -> Any:
    """Return the sketches, which are made once."""
    df, sketch = documents.df, documents.sketch
    on_null = sketching.ERROR if on_null == ERROR else sketching.SKIP
    keep = [PLACE] if PLACE in df.columns else []
    if isinstance(sketch, Minhash):
        made = sketching.signatures(df, sketch, on_null=on_null, keep=keep)
    else:
        made = sketching.fingerprints(df, sketch, on_null=on_null, keep=keep)
    return held.keep(made) if checkpoint is None else stored(made, checkpoint, "sketches")


def _default_similarity(documents: _Documents) -> float:
    if documents.verify == EXACT:
        return verifying.default_least(documents.sketch)
    return Options(sketch=documents.sketch).similarity


def _compared(found: Any, sketches: Any, documents: _Documents) -> Any:
    """Return the members of clusters that are not kept, and how similar they are to who is."""
    functions = frames.functions()
    others = found.where(functions.col("id") != functions.col("representative"))
    kind = frames.id_type(sketches, "id")
    schema = f"id {kind}, representative {kind}, similarity float"
    sides = ("id", "representative")
    if documents.verify == EXACT:
        content = documents.df.select("id", functions.col("text").cast("string").alias("content"))
        task: Any = partial(_compare_texts, documents.sketch)
    else:
        name = "signature" if isinstance(documents.sketch, Minhash) else "vector"
        content = sketches.select("id", functions.col(name).alias("content"))
        task = partial(_compare_sketches, documents.sketch)
    for side in sides:
        named = content.withColumnsRenamed({"id": side, "content": f"{side}_content"})
        others = others.join(named, side)
    ordered = others.select(*sides, *(f"{side}_content" for side in sides))
    return ordered.mapInArrow(task, schema)


def _compare_sketches(sketch: Simhash | Minhash, batches: Iterable[Any]) -> Iterator[Any]:
    for batch in batches:
        rows = (frames.rows_of(batch.column(at), sketch.vector_bytes) for at in (2, 3))
        if not sketch.vector_bytes:
            found = np.full(len(batch), np.nan, np.float32)
        elif isinstance(sketch, Minhash):
            is_empty = np.zeros(len(batch), np.bool_)
            left, right = (
                Signatures(unpack_minima(each, sketch.stored_bits), sketch, is_empty)
                for each in rows
            )
            found = similarities(left, right)
        else:
            found = similarities(
                *(Fingerprints.from_vectors(signs_of(each), each) for each in rows)
            )
        yield _with_similarity(batch, found)


def _compare_texts(sketch: Simhash | Minhash, batches: Iterable[Any]) -> Iterator[Any]:
    arrow = frames.pyarrow()
    for batch in batches:
        texts = arrow.chunked_array([batch.column(2), batch.column(3)])
        left = np.arange(len(batch))
        yield _with_similarity(batch, exact_similarities(texts, left, left + len(batch), sketch))


def _with_similarity(batch: Any, found: Any) -> Any:
    return frames.batch_of(
        {
            "id": batch.column(0),
            "representative": batch.column(1),
            "similarity": frames.pyarrow().array(found, from_pandas=True),
        }
    )


def _without(rows: Any, id: str, dropped: Any, driver_links: int) -> Any:
    """Return the rows whose ids are not among the dropped ones."""
    functions = frames.functions()
    name = "simdb_dropped_id"
    ids = frames.broadcast_if_few(dropped.select(functions.col("id").alias(name)), driver_links)
    kind = frames.id_type(rows, id)
    return rows.join(ids, rows[id].cast(kind) == ids[name], "left_anti")


def _check(policy: str, on_null: str, verify: str, max_share: Any) -> None:
    one_of("policy", policy, POLICIES)
    one_of("on_null", on_null, ON_NULL)
    one_of("verify", verify, VERIFICATIONS)
    is_number = isinstance(max_share, int | float) and not isinstance(max_share, bool)
    if max_share is not None and not (is_number and 0 <= max_share <= 1):
        raise OptionError(f"max_share must be from 0 to 1, or None, got {shown(max_share)}")


def _check_removed(dropped: Any, sketches: Any, max_share: float) -> None:
    """Raise OptionError, which names the largest clusters, if too much would be removed."""
    count, documents = dropped.count(), sketches.count()
    if count <= max_share * documents:
        return
    functions = frames.functions()
    largest = (
        dropped.groupBy("representative").count()
        .orderBy(functions.col("count").desc(), "representative").take(NAMED_CLUSTERS)
    )  # fmt: skip
    named = ", ".join(f"{row['representative']!r} ({row['count']:,} removed)" for row in largest)
    dropped.unpersist()
    raise OptionError(
        f"{count:,} of {documents:,} documents would be removed, more than max_share={max_share:g};"
        f" most by {named}; look at these, and give a larger max_share=, a higher similarity= or"
        " policy='star', which makes no chains"
    )
