"""Clustering: groups of matching documents, and one of each group that represents it.

`drop_duplicates` returns a DataFrame without near-duplicate rows.  `MemberOrder` turns a rule of
`keep=` into an order of the members of a cluster that SQL can sort by.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from simdb.core import keeping
from simdb.core.checks import lose_of, shown
from simdb.core.choices import DROP, KEEP, NullName, OnErrorName, PolicyName, RuleName, VerifyName
from simdb.core.errors import OptionError
from simdb.core.options import AnySketch, Bits, Options, Simhash
from simdb.core.values import dataclass, replace
from simdb.database import CONNECTED, ESTIMATE, check_policy, similarities
from simdb.sketch import gram_sketch
from simdb.spark import frames, packing, pairing, sketching
from simdb.spark.distributed import stars
from simdb.spark.frames import HeldFrames, stored
from simdb.spark.pairing import DRIVER_LINKS, SearchJob, Settings

NAMED_CLUSTERS = 5
# The column with the values that a rule of `keep=` compares.
VALUE = "simdb_value"
DESCENDING = (keeping.LAST, *keeping.GREATEST)


def drop_duplicates(
    df: Any,
    *,
    sketch: AnySketch | None = None,
    id: str = "id",
    text: str = "text",
    keep: str = "first",
    similarity: float | None = None,
    distance: int | None = None,
    recall: float | None = None,
    rule: RuleName = "similar",
    lose: int = 0,
    verify: VerifyName | None = None,
    policy: PolicyName = "star",
    max_share: float | None = None,
    on_null: NullName = "keep",
    on_error: OnErrorName = "raise",
    checkpoint: str | None = None,
    partitions: int | None = None,
    block_limit: int | None = None,
    driver_links: int = DRIVER_LINKS,
) -> Any:
    """Remove the near-duplicates from the rows of a DataFrame.

    The search runs at once.  Use the result like the result of `df.dropDuplicates()`.

    Parameters
    ----------
    df : DataFrame
        The rows.
    sketch : Simhash, Minhash or Bits, optional
        How documents become sketches; `Simhash()` if not given.  With `Bits`, the column `text` has
        hashes; see `fingerprints`.
    id : str, default "id"
        The column with the ids, which are strings or whole numbers.
    text : str, default "text"
        The column with the texts or hashes.
    keep : str, default "first"
        Which row of a group is kept; see `clusters`.  "max:COLUMN" and "min:COLUMN" name a column
        of `df`.
    similarity : float, optional
        The least similarity; see `pairs`.  Without `similarity` and `distance`, the default of a
        database applies.
    distance : int, optional
        The largest number of bits that differ; see `pairs`.
    recall : float, optional
        The share of matches to find; see `pairs`.
    rule : {"similar", "contained"}, default "similar"
        When a row is removed; see `simdb.deduplicate`.  With "contained", a row that is less
        similar than `similarity` is not found.
    lose : int, default 0
        Number of word 3-grams that a removed row may lose, with rule="contained".
    verify : {"exact", "estimate"}, optional
        How candidates are compared.  If not given, by the exact similarity of the texts; for
        hashes, or with a distance alone, by the sketches.
    policy : {"star", "connected"}, default "star"
        How matches become groups; see `clusters`.  With "star", each removed row matches the row
        that is kept.
    max_share : float, optional
        The largest share of the texts that may be removed, 0 to 1.
    on_null : {"keep", "drop", "error"}, default "keep"
        What to do with rows without a text or hash: keep, remove or refuse them.
    on_error : {"raise", "skip"}, default "raise"
        What to do with rows that cannot be read; see `fingerprints`.
    checkpoint : str, optional
        A folder for this job alone that all processes can write to; see `clusters`.  Sketches and
        `removed` are written there.
    partitions : int, optional
        Partitions of a shuffle; see `pairs`.
    block_limit : int, optional
        The largest number of documents of a part in one task; see `pairs`.
    driver_links : int, default 20,000,000
        The largest number of links that the driver joins; see `clusters`.

    Returns
    -------
    DataFrame
        The rows that are kept, with all their columns.  Its attribute `removed` is a DataFrame of
        the removed rows: id, kept, similarity (for hashes, distance).  With rule="contained" it
        also has the column lost.  With on_error="skip", the result has the attribute `skipped`;
        see `fingerprints`.  DataFrames that you derive from the result have neither attribute.

    Raises
    ------
    OptionError
        If more than `max_share` would be removed; the message names the largest clusters.  Also if
        an argument is invalid, or does not suit the sketch or the rule.
    InputError
        If a column is missing, or the ids are of another type.
    ExistsError
        If an id appears twice.

    Notes
    -----
    Without `checkpoint`, `removed` is cached until you call its `unpersist()`.

    `df` is read once for sketching, and again for exact similarities.  If sketches are compared and
    at most `driver_links` rows are removed, no texts are shuffled.
    """
    check_policy(policy)
    is_number = isinstance(max_share, int | float) and not isinstance(max_share, bool)
    if max_share is not None and not (is_number and 0 <= max_share <= 1):
        raise OptionError(f"max_share must be from 0 to 1, or None, got {shown(max_share)}")
    asked = similarity, distance, recall, checkpoint, partitions, block_limit, driver_links
    sketch, settings = _usual(sketch, Settings(*asked, lose_of(rule, lose)), verify, policy)
    df, skipped = sketching.readable(df, id, text, on_error, sketch)
    texts = pairing.deciding(pairing.texts_of(df, df, id, text), verify, settings)
    preference = preference_of(keep, df, text=text)
    given = sketching.selected(preference.with_value(df), id, text, preference.columns)
    nulls = DROP if on_null == KEEP else on_null
    made = sketching.sketched(given, sketch, nulls, has_features=settings.lose is not None)
    with HeldFrames() as held:
        sketches = held.keep(made) if checkpoint is None else stored(made, checkpoint, "sketches")
        found = held.take(members(sketches, settings, texts, policy, preference))
        removed = stored(_compared(found, sketches, sketch, texts, settings), checkpoint, "removed")
        _check_removed(removed, sketches, max_share)
    rows = df if on_null != DROP else df.where(frames.functions().col(text).isNotNull())
    survivors = _without(rows, id, removed, driver_links)
    survivors.removed = removed
    return sketching.with_skipped(survivors, skipped)


def clusters(
    sketches: Any,
    *,
    keep: str = "first",
    similarity: float | None = None,
    distance: int | None = None,
    recall: float | None = None,
    verify: VerifyName | None = None,
    texts: Any = None,
    id: str = "id",
    text: str = "text",
    policy: PolicyName = "connected",
    checkpoint: str | None = None,
    partitions: int | None = None,
    block_limit: int | None = None,
    driver_links: int = DRIVER_LINKS,
) -> Any:
    """Find the groups of two or more documents that match.

    The search runs at once.

    Parameters
    ----------
    sketches : DataFrame
        The result of `fingerprints` or `signatures`; see `pairs`.
    keep : str, default "first"
        Which document of a cluster is its representative.  Rows of a DataFrame have no order, so
        "first" takes the least id and "last" the greatest.  "longest" and "shortest" (in UTF-8
        bytes) need `texts`.  "max:COLUMN" and "min:COLUMN" take the greatest or least value of a
        column of `sketches`.
    similarity : float, optional
        The least similarity; see `pairs`.
    distance : int, optional
        The largest number of bits that differ; see `pairs`.
    recall : float, optional
        The share of matches to find; see `pairs`.
    verify : {"exact", "estimate"}, optional
        How candidates are compared; see `pairs`.
    texts : DataFrame or str, optional
        Texts for exact similarities; see `pairs`.  Documents with equal sketches always match.
    id, text : str, default "id" and "text"
        The columns of `texts` with ids and texts.
    policy : {"connected", "star"}, default "connected"
        "connected" puts documents that a chain of pairs connects into one cluster.  With "star",
        every document matches its representative; see `Database.find_clusters`.
    checkpoint : str, optional
        A folder that all processes can write to, a separate one for each job.  It is needed for
        more than `driver_links` links.
    partitions : int, optional
        Partitions of a shuffle; see `pairs`.
    block_limit : int, optional
        The largest number of documents of a part in one task; see `pairs`.
    driver_links : int, default 20,000,000
        The largest number of links that the driver joins.  More links are joined by tasks in
        rounds, through files in `checkpoint`.

    Returns
    -------
    DataFrame
        The documents of clusters of two or more: id, representative.

    Raises
    ------
    OptionError
        If neither `similarity` nor `distance` is given, an argument is invalid, or a needed
        `checkpoint` is missing.
    InputError
        If `sketches` are not sketches of simdb, or a column is missing.
    ExistsError
        If an id appears twice.

    Notes
    -----
    Values of `keep` are compared by the type of their column.  Texts that are numbers precede other
    texts; null, NaN and words such as "n/a" are last.  Between equal values, the least id is taken.

    The result for policy="star" is written to `checkpoint`, or cached until you call its
    `unpersist()`.  Nothing else remains cached.
    """
    check_policy(policy)
    settings = Settings(
        similarity, distance, recall, checkpoint, partitions, block_limit, driver_links
    )
    given = pairing.texts_of(sketches, texts, id, text)
    own_text = texts if isinstance(texts, str) else None
    preference = preference_of(keep, sketches, text=own_text, texts=given)
    decisive = pairing.deciding(given, verify, settings)
    return members(preference.with_value(sketches), settings, decisive, policy, preference)


@dataclass(frozen=True, slots=True)
class MemberOrder:
    """An order of the members of a cluster: by a value, then by id.

    `value`: the value, computed from other columns.  `sizes`: a DataFrame of id and value, used if
    it cannot be computed from them.  Without both, the order is by id alone.
    """

    is_descending: bool
    value: Any = None
    sizes: Any = None

    @property
    def columns(self) -> list[str]:
        """Columns that the sketches need for the order."""
        return [] if self.value is None else [VALUE]

    def with_value(self, df: Any) -> Any:
        """Return the DataFrame with a column for the value, if other columns give it."""
        return df if self.value is None else df.withColumn(VALUE, self.value)

    def placed(self, members: Any) -> Any:
        """Return key, root, id and value of `members`, which are sketches with keys and roots."""
        named = members.select("key", "root", "id", *self.columns)
        return named if self.sizes is None else named.join(self.sizes, "id", "left")

    def order(self) -> list[Any]:
        """Return the columns by which the members of a cluster are sorted."""
        column = frames.functions().col
        if self.value is None and self.sizes is None:
            return [column("id").desc() if self.is_descending else column("id").asc()]
        value, id = column(VALUE), column("id").asc()
        return [value.desc_nulls_last() if self.is_descending else value.asc_nulls_last(), id]


def preference_of(keep: str, df: Any, *, text: str | None, texts: Any = None) -> MemberOrder:
    """Return the order for a rule of `keep=`; raise OptionError for a rule that SQL cannot follow.

    `df`: the DataFrame with the column of the rule.  `text`: its column with the texts; None if it
    has none.  Then `texts` has id and text of the documents, if texts are available.
    """
    rule = keeping.parse(keep)
    if rule.kind == keeping.FUNCTION:
        raise OptionError(
            "keep= must be a rule, a function cannot run in SQL; put its results into a column, and"
            " give keep='max:COLUMN'"
        )
    is_descending = rule.kind in DESCENDING
    if rule.kind in keeping.BY_FIELD:
        return MemberOrder(is_descending, _known(df, rule.field, is_descending=is_descending))
    if rule.kind in keeping.BY_PLACE:
        return MemberOrder(is_descending)
    if text is not None:
        return MemberOrder(is_descending, _size(text))
    if texts is None:
        raise OptionError(f"keep={keep!r} needs texts=: the DataFrame or the column with the texts")
    sizes = texts.groupBy("id").agg(frames.functions().max(_size("text")).alias(VALUE))
    return MemberOrder(is_descending, None, sizes)


def _size(text: str) -> Any:
    """Return the length of texts in UTF-8 bytes."""
    functions = frames.functions()
    return functions.octet_length(functions.col(text).cast("string"))


def _known(df: Any, field: str, *, is_descending: bool) -> Any:
    """Return the values of a column so that SQL sorts them as `keeping` does; null if missing.

    A text becomes a struct of a flag, a number and the text: the flag says whether the text is
    compared as a number.  Whole numbers of up to 38 digits are compared exactly.
    """
    functions = frames.functions()
    kind, column = frames.column_type(df, field), functions.col(field)
    if kind in ("float", "double"):
        return functions.when(~functions.isnan(column), column)
    if kind != "string":
        return column
    text = functions.trim(column)
    is_number = text.rlike(f"^({keeping.NUMBER})$")
    number = functions.when(is_number, text.try_cast("double"))
    return functions.when(
        ~functions.lower(text).isin(*keeping.NO_VALUE),
        functions.struct(
            (is_number if is_descending else ~is_number).alias("place"),
            number.alias("number"),
            functions.when(is_number, text.try_cast("decimal(38,0)")).alias("whole"),
            functions.when(~is_number, column).alias("text"),
        ),
    )


class _Collapsed(NamedTuple):
    """Documents grouped by equal rows, so that one of each group travels.

    `every`: key, first_key and row, see `packing.collapsed`.  `firsts`: key and row of the first
    document of each group.
    """

    every: Any
    firsts: Any


def members(
    sketches: Any, settings: Settings, texts: Any, policy: str, preference: MemberOrder
) -> Any:
    """Return the members of clusters: id, representative; compare `texts` if given."""
    with HeldFrames() as held:
        job = pairing.job_of(sketches, settings, texts, held)
        collapsed = _collapsed(job)
        found = None
        if policy == CONNECTED and job.texts is None:
            links = pairing.links_of_rows(collapsed.firsts, job)
        else:
            found = held.keep(pairing.matching_rows(collapsed.firsts, job))
            links = found.select("left_key", "right_key")
        joined = pairing.connected(links.union(_links_of_copies(collapsed.every)), job)
        named = preference.placed(joined.join(job.keyed.sketches, "key"))
        if policy == CONNECTED:
            held.close()
            return _led_by_first(named, preference)
        starred = _stars(named, preference, collapsed, found, job)
        return stored(starred, settings.checkpoint, "clusters")


def _collapsed(job: SearchJob) -> _Collapsed:
    functions, width = frames.functions(), job.plan.row_bytes
    more = 0 if job.settings.lose is None else sketching.FEATURES_BYTES
    collapsed = packing.collapsed(pairing.rows_of(job), width + more, job.partitions)
    every, row = job.held.keep(collapsed), functions.col("row")
    own = functions.substring(row, 1, width).alias("row") if more else row
    return _Collapsed(every, every.where(row.isNotNull()).select("key", own))


def _links_of_copies(every: Any) -> Any:
    column = frames.functions().col
    return every.where(column("row").isNull()).select(
        column("key").alias("left_key"), column("first_key").alias("right_key")
    )


def _led_by_first(named: Any, preference: MemberOrder) -> Any:
    """Return the members of components with the preferred member as representative."""
    window = frames.window().partitionBy("root").orderBy(*preference.order())
    first = frames.functions().first("id").over(window)
    return named.select("id", first.alias("representative"))


def _stars(
    named: Any, preference: MemberOrder, collapsed: _Collapsed, found: Any, job: SearchJob
) -> Any:
    """Return the members of the stars of the pairs `found`; a star lies within one component."""
    functions = frames.functions()
    column, order = functions.col, preference.order()
    if job.settings.lose is not None:
        named = named.join(job.keyed.sketches.select("key", sketching.SIZE), "key")
        order = [column(sketching.SIZE).desc(), *order]
    order = frames.window().partitionBy("root").orderBy(*order)
    ranked = named.select("key", "id", "root", functions.row_number().over(order).alias("rank"))
    ranked_rows = job.held.keep(_ranked_rows(collapsed.every, ranked))
    owned = _owners(found, ranked_rows, job)
    # A row without pairs is here because it has copies, which it represents.
    owner = functions.coalesce("owner_key", "first_key").alias("owner_key")
    owners = ranked_rows.join(owned, "first_key", "left").select("first_key", owner)
    leaders = ranked_rows.select(
        column("first_key").alias("owner_key"), column("leader.id").alias("representative")
    )
    of_documents = collapsed.every.select("key", "first_key").join(owners, "first_key")
    members = of_documents.join(leaders, "owner_key").join(named.select("key", "id"), "key")
    sizes = members.groupBy("representative").count().where(column("count") > 1)
    return members.join(sizes, "representative").select("id", "representative")


def _ranked_rows(every: Any, ranked: Any) -> Any:
    """Return first_key, root and leader of each distinct row; the leader is its first document."""
    functions = frames.functions()
    return (
        every.select("key", "first_key")
        .join(ranked, "key")
        .groupBy("first_key")
        .agg(
            functions.min(functions.struct("rank", "id")).alias("leader"),
            functions.min("root").alias("root"),
        )
    )


def _owners(found: Any, ranked_rows: Any, job: SearchJob) -> Any:
    """Return the representative of each row that is in a pair: first_key, owner_key."""
    column = frames.functions().col
    left = ranked_rows.select(
        column("first_key").alias("left_key"), column("leader.rank").alias("left_rank"), "root"
    )
    right = ranked_rows.select(
        column("first_key").alias("right_key"), column("leader.rank").alias("right_rank")
    )
    ranks = found.join(left, "left_key").join(right, "right_key")
    placed = ranks.select("root", "left_key", "right_key", "left_rank", "right_rank")
    return placed.repartition(job.partitions, "root").mapInArrow(
        _star, "first_key bigint, owner_key bigint"
    )


def _star(batches: Iterable[Any]) -> Iterator[Any]:
    """Assign the rows of whole components to stars, as a task."""
    every = list(batches)
    if not every:
        return
    table = frames.pyarrow().Table.from_batches(every)
    left, right, left_rank, right_rank = (
        frames.numbers_of(table.column(name))
        for name in ("left_key", "right_key", "left_rank", "right_rank")
    )
    found, owners = stars(left, right, np.stack([left_rank, right_rank], axis=1))
    yield frames.batch_of({"first_key": found, "owner_key": owners})


def _usual(
    sketch: Any, settings: Settings, verify: str | None, policy: str
) -> tuple[AnySketch, Settings]:
    """Return the sketch for a search, and settings with a similarity or distance.

    Raises OptionError for arguments that do not go with the rule "contained".
    """
    sketch = Simhash() if sketch is None else sketch
    by_distance = settings.distance is not None or isinstance(sketch, Bits)
    if settings.lose is not None:
        if verify == ESTIMATE or by_distance or policy == CONNECTED:
            raise OptionError("rule='contained' needs exact similarities and policy='star'")
        sketch = gram_sketch(sketch)
    if settings.similarity is not None or settings.distance is not None:
        return sketch, settings
    if by_distance:
        return sketch, replace(settings, distance=sketch.usual_distance)
    return sketch, replace(settings, similarity=Options(sketch=sketch).similarity)


def _compared(found: Any, sketches: Any, sketch: AnySketch, texts: Any, settings: Settings) -> Any:
    """Return the removed members of clusters, with their similarity to the kept member."""
    functions = frames.functions()
    others = found.where(functions.col("id") != functions.col("representative"))
    kind = frames.id_type(sketches, "id")
    measure = "distance int" if isinstance(sketch, Bits) else "similarity float"
    lose, schema = settings.lose, f"id {kind}, kept {kind}, {measure}"
    schema += "" if lose is None else ", lost int"
    sides = ("id", "representative")
    content = texts
    if texts is None:
        content = sketches.select("id", functions.col(sketching.main_column(sketch)).alias("text"))
    for side in sides:
        named = content.withColumnsRenamed({"id": side, "text": f"{side}_content"})
        others = others.join(named, side)
    ordered = others.select(*sides, *(f"{side}_content" for side in sides))
    return ordered.mapInArrow(partial(_compare, sketch, texts is not None, lose), schema)


def _compare(
    sketch: AnySketch, has_texts: bool, lose: int | None, batches: Iterable[Any]
) -> Iterator[Any]:
    arrow, name = frames.pyarrow(), "distance" if isinstance(sketch, Bits) else "similarity"
    for batch in batches:
        sides, at, lost = (batch.column(2), batch.column(3)), np.arange(len(batch)), None
        if has_texts:
            texts = arrow.chunked_array(sides)
            found, lost = pairing.measured(texts, at, at + len(at), sketch, lose)
        else:
            found = _measure_sketches(sketch, *sides)
        values = {name: arrow.array(found, from_pandas=True)}
        if lost is not None:
            values["lost"] = lost.astype(np.int32)
        yield frames.batch_of({"id": batch.column(0), "kept": batch.column(1), **values})


def _measure_sketches(sketch: AnySketch, *columns: Any) -> Any:
    """Return similarities, or for hashes distances; NaN if the sketches have no weights."""
    if isinstance(sketch, Bits):
        left, right = (frames.rows_of(each, sketch.bits // 8) for each in columns)
        return np.bitwise_count(left ^ right).sum(axis=1, dtype=np.int32)
    if not sketch.vector_bytes:
        return np.full(len(columns[0]), np.nan, np.float32)
    is_empty = np.zeros(len(columns[0]), np.bool_)
    return similarities(*(sketching.documents_of(each, sketch, is_empty) for each in columns))


def _without(rows: Any, id: str, removed: Any, driver_links: int) -> Any:
    """Return the rows whose ids are not in `removed`."""
    functions = frames.functions()
    name = "simdb_removed_id"
    ids = frames.broadcast_if_few(removed.select(functions.col("id").alias(name)), driver_links)
    kind = frames.id_type(rows, id)
    return rows.join(ids, rows[id].cast(kind) == ids[name], "left_anti")


def _check_removed(removed: Any, sketches: Any, max_share: float | None) -> None:
    """Raise OptionError, naming the largest clusters, if more than `max_share` would be removed."""
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
