"""Dropping: the main job, the rows of a DataFrame without their near-duplicates."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from simdb.core.arrays import Fingerprints
from simdb.core.checks import one_of, shown
from simdb.core.choices import DROP, ERROR, ON_NULL, NullName, OnErrorName, PolicyName, VerifyName
from simdb.core.documents import Signatures
from simdb.core.errors import OptionError
from simdb.core.options import Minhash, Options, Simhash
from simdb.core.vector_form import signs_of, unpack_minima
from simdb.database import ESTIMATE, check_policy, similarities
from simdb.spark import clustering, finding, frames, pairing, sketching
from simdb.spark.clustering import VALUE, MemberOrder, preference_of
from simdb.spark.distributed import exact_similarities
from simdb.spark.finding import Settings
from simdb.spark.frames import HeldFrames, stored

NAMED_CLUSTERS = 5


class _Documents(NamedTuple):
    """The documents of a job: id, text and, if it decides which one stays, a value of each.

    `texts`: id and text if texts decide what matches, otherwise None.
    """

    df: Any
    sketch: Simhash | Minhash
    texts: Any


def drop_duplicates(
    df: Any,
    *,
    sketch: Simhash | Minhash | None = None,
    id: str = "id",
    text: str = "text",
    keep: str = "first",
    similarity: float | None = None,
    distance: int | None = None,
    recall: float | None = None,
    verify: VerifyName | None = None,
    policy: PolicyName = "star",
    max_share: float | None = None,
    on_null: NullName = "keep",
    on_error: OnErrorName = "raise",
    checkpoint: str | None = None,
    partitions: int | None = None,
    block_limit: int | None = None,
    driver_links: int = finding.DRIVER_LINKS,
) -> Any:
    """Return the rows of `df` without near-duplicates, all their columns, as a DataFrame.

    Its attribute `removed` is a DataFrame of what was removed: id, kept, similarity.  So the result
    stands wherever that of `df.dropDuplicates()` does; a DataFrame made of it has no `removed`.

    The criterion, `policy` and `keep` are those of `clusters`, with columns of `df` for
    "max:COLUMN" and "min:COLUMN"; without similarity= and distance=, the default of a database is
    used.  By policy="star", every row that is removed matches the row that stays.  Texts decide by
    their exact similarity; sketches do about a distance alone, or with verify="estimate".
    `on_null`, `on_error`: see `fingerprints`; "drop" removes rows without a text.

    `max_share`: the largest share of the texts that may be removed; otherwise OptionError names the
    largest clusters.  `checkpoint`: a folder of this job alone that all processes can write;
    sketches and `removed` are written there.  Without it `removed` stays cached: `unpersist()` it.

    The search runs at once.  It reads `df` once to sketch it, and texts that decide again.  Without
    these no texts are shuffled while at most `driver_links` rows are removed.
    """
    check_policy(policy)
    one_of("on_null", on_null, ON_NULL)
    _check_share(max_share)
    given = Simhash() if sketch is None else sketch
    if similarity is None and distance is None:
        similarity = _default_similarity(given, verify)
    settings = Settings(
        similarity, distance, recall, checkpoint, partitions, block_limit, driver_links
    )
    df, skipped = sketching.readable(df, id, text, on_error)
    texts = finding.deciding(finding.texts_of(df, df, id, text), verify, settings)
    preference = preference_of(keep, df, text=text)
    documents = _Documents(_selected(df, id, text, preference), given, texts)
    with HeldFrames() as held:
        sketches = _sketches(documents, on_null, checkpoint, held)
        found = clustering.members(sketches, settings, texts, policy, preference)
        removed = stored(_compared(held.take(found), sketches, documents), checkpoint, "removed")
        _check_removed(removed, sketches, max_share)
    rows = df if on_null != DROP else df.where(frames.functions().col(text).isNotNull())
    survivors = _without(rows, id, removed, driver_links)
    survivors.removed = removed
    return sketching.with_skipped(survivors, skipped)


def _default_similarity(sketch: Simhash | Minhash, verify: str | None) -> float:
    if verify == ESTIMATE:
        return Options(sketch=sketch).similarity
    return pairing.default_least(sketch)


def _selected(df: Any, id: str, text: str, preference: MemberOrder) -> Any:
    """Return id, text and the value by which is preferred, if there is one."""
    column = frames.functions().col
    kind = frames.id_type(df, id)
    named = [column(id).cast(kind).alias("id"), column(text).alias("text")]
    valued = preference.with_value(df)
    return valued.select(*named, *(name for name in valued.columns if name == VALUE))


def _sketches(documents: _Documents, on_null: str, checkpoint: str | None, held: HeldFrames) -> Any:
    """Return the sketches, which are made once."""
    df, sketch = documents.df, documents.sketch
    on_null = ERROR if on_null == ERROR else DROP
    columns = [name for name in df.columns if name == VALUE]
    make: Any = sketching.signatures if isinstance(sketch, Minhash) else sketching.fingerprints
    made = make(df, sketch, on_null=on_null, columns=columns)
    return held.keep(made) if checkpoint is None else stored(made, checkpoint, "sketches")


def _compared(found: Any, sketches: Any, documents: _Documents) -> Any:
    """Return the members of clusters that are not kept, and how similar they are to who is."""
    functions = frames.functions()
    others = found.where(functions.col("id") != functions.col("representative"))
    kind = frames.id_type(sketches, "id")
    schema = f"id {kind}, kept {kind}, similarity float"
    sides = ("id", "representative")
    if documents.texts is not None:
        content = documents.texts.withColumnRenamed("text", "content")
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
            "kept": batch.column(1),
            "similarity": frames.pyarrow().array(found, from_pandas=True),
        }
    )


def _without(rows: Any, id: str, removed: Any, driver_links: int) -> Any:
    """Return the rows whose ids are not among the removed ones."""
    functions = frames.functions()
    name = "simdb_removed_id"
    ids = frames.broadcast_if_few(removed.select(functions.col("id").alias(name)), driver_links)
    kind = frames.id_type(rows, id)
    return rows.join(ids, rows[id].cast(kind) == ids[name], "left_anti")


def _check_share(max_share: Any) -> None:
    is_number = isinstance(max_share, int | float) and not isinstance(max_share, bool)
    if max_share is not None and not (is_number and 0 <= max_share <= 1):
        raise OptionError(f"max_share must be from 0 to 1, or None, got {shown(max_share)}")


def _check_removed(removed: Any, sketches: Any, max_share: float | None) -> None:
    """Raise OptionError, which names the largest clusters, if too much would be removed."""
    if max_share is None:
        return
    count, documents = removed.count(), sketches.count()
    if count <= max_share * documents:
        return
    functions = frames.functions()
    largest = (
        removed.groupBy("kept").count()
        .orderBy(functions.col("count").desc(), "kept").take(NAMED_CLUSTERS)
    )  # fmt: skip
    named = ", ".join(f"{row['kept']!r} ({row['count']:,} removed)" for row in largest)
    removed.unpersist()
    raise OptionError(
        f"{count:,} of {documents:,} documents would be removed, more than max_share={max_share:g};"
        f" most by {named}; look at these, and give a larger max_share=, a higher similarity= or"
        " policy='star', which makes no chains"
    )
