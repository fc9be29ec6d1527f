"""Pairing: all matching pairs of sketches, confirmed by sketches or texts, and their components.

Every search begins with a `SearchJob`: its checked arguments, and documents with their keys.
`Tasks` assigns the parts of a plan, or cells of large parts, to tasks of Spark.

Only texts of candidates travel, and each of them once: a chain of candidates goes to one task.

Each task reduces the links it finds to a forest, with fewer links than the task has documents.  But
a document is in several tasks, so all forests together can have more links than there are
documents.  Then tasks merge the forests into one.  If its links fit, the driver joins them.
Otherwise tasks join them in rounds of large stars and small stars, each written to Parquet (Kiveris
et al. 2014, "Connected Components in MapReduce and Beyond").  No task has all links.  The last
round changes nothing, and its result has a link for each document that is not a root.
"""

import heapq
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from simdb.core.checks import one_of, shown, whole
from simdb.core.choices import VerifyName
from simdb.core.decoding import all_texts
from simdb.core.dtypes import F32, I64, U8
from simdb.core.errors import InputError, OptionError
from simdb.core.options import AnySketch, Options
from simdb.core.stored_options import Resources
from simdb.core.values import dataclass
from simdb.database import ESTIMATE, EXACT
from simdb.plan import FINGERPRINT_BYTES
from simdb.sketch import ExactSimilarity
from simdb.spark import frames, packing, sketching
from simdb.spark.distributed import (
    Cell,
    LinkForest,
    PairsPlan,
    chunks_of,
    components,
    exact_similarities,
    plan_pairs,
)
from simdb.spark.frames import HeldFrames, stored
from simdb.spark.sketching import Keyed

# A link has 16 bytes; joining it takes about 160 bytes on the driver.
DRIVER_LINKS = 20_000_000
# Partitions of a shuffle for each processor, so that a slow task delays little.
PARTITIONS_OF_CORE = 3
# The cost of a document of a part, in comparisons.
DOCUMENT_COMPARISONS = 10_000
PAIRS = "left_key bigint, right_key bigint, distance int, similarity float"
LINKS = "left_key bigint, right_key bigint"
# Forests that one task merges.
FORESTS = 32
ROUNDS_MAX = 60
# Users look for this name next to `pairs`.
plan = plan_pairs


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
    driver_links: int = DRIVER_LINKS,
) -> Any:
    """Find every pair of documents that match, by their sketches or texts.

    Parameters
    ----------
    sketches : DataFrame
        The result of `fingerprints` or `signatures`.  It is read several times, so cache it or
        write it to files.
    similarity : float, optional
        The least similarity of a pair; see `Database.find_all`.  Give `similarity`, `distance` or
        both.
    distance : int, optional
        The largest number of bits that may differ.
    recall : float, optional
        The share of similar pairs to find; see `Database.query`.
    verify : {"exact", "estimate"}, optional
        How candidates are compared: by the exact similarity of the texts, or by the estimate of the
        sketches.  The default is "exact" with `texts`; without them or with a distance alone, it is
        "estimate".
    texts : DataFrame or str, optional
        The DataFrame that was sketched, or the name of a column of `sketches` with the texts (see
        `columns` of `fingerprints`).  Only texts of candidates leave their task.
    id, text : str, default "id" and "text"
        The columns of `texts` with ids and texts.
    checkpoint : str, optional
        A folder that all processes can write to; see `clusters`.
    partitions : int, optional
        Number of partitions of a shuffle; 3 for each processor if not given.
    block_limit : int, optional
        The largest number of documents of a part in one task; a larger part is cut into several
        tasks.
    driver_links : int, default 20,000,000
        The largest number of links that the driver joins; see `clusters`.

    Returns
    -------
    DataFrame
        The pairs: left, right, distance INT, similarity FLOAT or null.  Each pair appears once, the
        lower id on the left.

    Raises
    ------
    ExistsError
        If an id appears twice.
    OptionError
        If no plan reaches the criterion, or an argument is invalid.
    InputError
        If `sketches` are not sketches of simdb, or a column is missing.

    Notes
    -----
    Pairs within a distance and pairs of signatures are the same as in one database with all
    documents.  Of similar pairs, at least the share `recall` is found, and every pair found is
    similar.

    Pairs of fingerprints are searched for when the result is used.  Pairs of signatures, and pairs
    with `texts`, are searched for at once; the result is written to `checkpoint`, or cached until
    you call its `unpersist()`.  Nothing else remains cached.
    """
    settings = Settings(
        similarity, distance, recall, checkpoint, partitions, block_limit, driver_links
    )
    given = deciding(texts_of(sketches, texts, id, text), verify, settings)
    with HeldFrames() as held:
        job = job_of(sketches, settings, given, held)
        found = matching_rows(rows_of(job), job)
        named = sketching.with_ids(found, job.keyed, {"left_key": "left", "right_key": "right"})
        result = _in_order(named)
        return stored(result, checkpoint, "pairs") if held.is_used else result


def _in_order(named: Any) -> Any:
    """Return pairs with the lower id on the left, and null for an unknown similarity."""
    functions = frames.functions()
    left, right = functions.col("left"), functions.col("right")
    similarity = functions.col("similarity")
    return named.select(
        functions.least(left, right).alias("left"),
        functions.greatest(left, right).alias("right"),
        "distance",
        functions.when(functions.isnan(similarity), None).otherwise(similarity).alias("similarity"),
    )


@dataclass(frozen=True, slots=True)
class Settings:
    """The arguments of a search that `pairs`, `clusters` and `drop_duplicates` share.

    `similarity`, `distance` and `recall`: see `simdb.spark.distributed.plan_pairs`.  `lose`: the
    number of features that a removed document may lose, for the rule "contained"; otherwise None.
    """

    similarity: float | None
    distance: int | None
    recall: float | None
    checkpoint: str | None
    partitions: int | None
    block_limit: int | None
    driver_links: int
    lose: int | None = None

    def check(self) -> None:
        """Raise OptionError for invalid arguments that no plan would detect."""
        if self.distance is None and self.similarity is None:
            raise OptionError("give similarity=, distance= or both")
        if self.block_limit is not None:
            whole("block_limit", self.block_limit, 1, 1 << 31)


class SearchJob(NamedTuple):
    """A search: its documents, its plan, and the frames it holds until the result is computed.

    `partitions`: the number of partitions of a shuffle.  `texts`: key and text of the documents, if
    texts are compared; otherwise None.
    """

    keyed: Keyed
    settings: Settings
    sketch: AnySketch
    plan: PairsPlan
    partitions: int
    texts: Any
    held: HeldFrames


def job_of(sketches: Any, settings: Settings, texts: Any, held: HeldFrames) -> SearchJob:
    """Prepare a search; `texts`: id and text (see `texts_of`) to compare, or None."""
    settings.check()
    sketch = sketching.sketch_of(sketches)
    shares = partitions_of(sketches, settings.partitions)
    keyed = sketching.checked_keys(sketches, shares)
    if texts is not None:
        named = sketching.with_key(texts, "id", keyed.is_hashed, keyed.salt)
        texts = named.where(named["text"].isNotNull()).select("key", "text")
    plan = plan_pairs(
        keyed.document_count, sketch, similarity=settings.similarity, distance=settings.distance,
        recall=settings.recall, verify=ESTIMATE if texts is None else EXACT, tasks=shares,
    )  # fmt: skip
    return SearchJob(keyed, settings, sketch, plan, shares, texts, held)


def partitions_of(df: Any, partitions: int | None) -> int:
    """Return the number of partitions of a shuffle."""
    if partitions is not None:
        whole("partitions", partitions, 1, 1 << 20)
        return partitions
    return max(PARTITIONS_OF_CORE * int(df.sparkSession.sparkContext.defaultParallelism), 1)


def texts_of(sketches: Any, texts: Any, id: str, text: str) -> Any:
    """Return the texts as a DataFrame of id and text; None without `texts`.

    `texts`: a DataFrame with the columns `id` and `text`, or the name of a column of `sketches`.
    """
    if isinstance(texts, str):
        texts, id, text = sketches, "id", texts
    elif texts is None:
        return None
    elif not hasattr(texts, "schema"):
        raise OptionError(
            "texts= must be the DataFrame that was sketched, with ids and texts, or the name of a"
            f" column of the sketches; got {shown(texts)}"
        )
    frames.column_type(texts, text)
    kind, column = frames.id_type(texts, id), frames.functions().col
    return texts.select(
        column(id).cast(kind).alias("id"), column(text).cast("string").alias("text")
    )


def deciding(texts: Any, verify: VerifyName | None, settings: Settings) -> Any:
    """Return the texts if they are compared; None if sketches are.

    If `verify` is None, given texts are compared, unless only a distance is given.
    """
    if verify is None:
        return None if settings.similarity is None else texts
    one_of("verify", verify, (ESTIMATE, EXACT))
    if verify == EXACT and texts is None:
        raise OptionError(
            "verify='exact' needs texts=: the DataFrame that was sketched, with ids and texts, or"
            " the name of a column of the sketches"
        )
    return texts if verify == EXACT else None


class Tasks(NamedTuple):
    """The cells of all parts, assigned to tasks of Spark: task `places[i]` searches cell i.

    `cells_of[part]`: the number of chunks of a part, and the numbers of its cells.
    """

    cells: list[Cell]
    places: I64
    cells_of: dict[int, tuple[int, list[int]]]


def make_tasks(plan: PairsPlan, sizes: I64, partitions: int, block_limit: int) -> Tasks:
    """Cut parts of more than `block_limit` documents into cells, and assign all cells to tasks."""
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
    """Return the number of documents in each part: int64[parts]."""
    counted = rows.mapInArrow(partial(_count_parts, plan), "part int, documents bigint").toArrow()
    sizes = np.zeros(plan.part_count, np.int64)
    parts = np.asarray(counted.column("part").to_numpy(), np.int64)
    np.add.at(sizes, parts, np.asarray(counted.column("documents").to_numpy(), np.int64))
    return sizes


def searched(
    plan: PairsPlan, tasks: Tasks, batches: Iterable[Any]
) -> Iterator[tuple[Cell, list[I64], list[U8]]]:
    """Yield each cell with the keys and the rows of its one or two chunks."""
    for blobs in packing.by_task(batches, plan.row_bytes):
        cell = tasks.cells[blobs[0].task]
        sides = [
            packing.joined([blob for blob in blobs if blob.chunk == chunk], plan.row_bytes)
            for chunk in dict.fromkeys((cell.first, cell.second))
        ]
        yield cell, [keys for keys, _ in sides], [rows for _, rows in sides]


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
    most = int(packing.PACKED_BYTES / (plan.copies * plan.row_bytes))
    most = min(max(most, 1), packing.PACKED_DOCUMENTS)
    for keys, given in packing.gathered(batches, plan.row_bytes, most):
        rows, split = packing.split_rows(plan, given)
        numbers, chunks, positions = [], [], []
        for part in np.flatnonzero(np.diff(split.offsets)).tolist():
            at = split.positions[split.offsets[part] : split.offsets[part + 1]]
            count, cells = tasks.cells_of[part]
            own = chunks_of(keys[at], count)
            for number in cells:
                cell = tasks.cells[number]
                is_sent = (own == cell.first) | (own == cell.second)
                numbers.append(np.full(np.count_nonzero(is_sent), number))
                chunks.append(own[is_sent])
                positions.append(at[is_sent])
        if positions:
            every = np.concatenate(positions)
            yield packing.packed(
                np.concatenate(numbers), keys[every], rows[every], np.concatenate(chunks),
                tasks.places,
            )  # fmt: skip


def links_of_rows(rows: Any, job: SearchJob) -> Any:
    """Return links between keys with the same components as all matching pairs."""
    sent, shared = _sent(rows, job)
    return sent.mapInArrow(partial(_find_links, job.plan, shared), LINKS)


def rows_of(job: SearchJob) -> Any:
    """Return key and row of the documents that have features.

    For the rule "contained", a row ends with a 128-bit sum that only equal features share.
    """
    names = list(sketching.columns_of(job.sketch))
    name = names[0 if job.plan.row_bytes == FINGERPRINT_BYTES else -1]
    functions = frames.functions()
    row = functions.col(name)
    if job.settings.lose is not None:
        row = functions.concat(row, sketching.FEATURES)
    full = job.keyed.sketches.where(~functions.col("is_empty"))
    return frames.in_order(full.select("key", row.alias("row")), "key")


def _sent(rows: Any, job: SearchJob) -> tuple[Any, Tasks]:
    """Return the packed rows of all cells, in the partitions of their tasks, sorted by cell."""
    plan, partitions = job.plan, job.partitions
    if packing.can_narrow(plan):
        # The rows are read twice: the sizes of parts decide to which tasks they go.
        rows = job.held.keep(packing.narrowed(rows, plan, partitions))
    limit = job.settings.block_limit or plan.cell_documents
    shared = make_tasks(plan, part_sizes(rows, plan), partitions, limit)
    packed = rows.mapInArrow(partial(_pack_parts, plan, shared), packing.SCHEMA)
    spread = packed.repartitionById(partitions, "place")
    return spread.sortWithinPartitions("task", "chunk"), shared


def _find_pairs(plan: PairsPlan, shared: Tasks, batches: Iterable[Any]) -> Iterator[Any]:
    for cell, names, rows in searched(plan, shared, batches):
        for some in plan.find_pairs(cell.part, *rows):
            yield frames.batch_of(
                {
                    "left_key": names[0][some.left],
                    "right_key": names[-1][some.right],
                    "distance": some.distance.astype(np.int32),
                    "similarity": some.similarity,
                }
            )


def _find_links(plan: PairsPlan, shared: Tasks, batches: Iterable[Any]) -> Iterator[Any]:
    for cell, names, rows in searched(plan, shared, batches):
        left, right = plan.find_links(cell.part, *rows)
        if len(left):
            keys = np.concatenate(names)
            yield frames.batch_of({"left_key": keys[left], "right_key": keys[right]})


def matching_rows(rows: Any, job: SearchJob) -> Any:
    """Return the matching pairs of `rows` (key, row) by key; compare texts if the job has any."""
    sent, shared = _sent(rows, job)
    found = sent.mapInArrow(partial(_find_pairs, job.plan, shared), PAIRS)
    if job.texts is None:
        return found
    candidates = job.held.keep(found.select("left_key", "right_key", "distance"))
    roots = connected(candidates.select("left_key", "right_key"), job, "candidates")
    spread = _spread(candidates, roots, job)
    return spread.mapInArrow(partial(_verify, job.sketch, _least_of(job), job.settings.lose), PAIRS)


def _spread(candidates: Any, roots: Any, job: SearchJob) -> Any:
    """Return texts and candidates in the partition of their component, sorted by component."""
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
    return frames.in_order(every, "root", "left_key", "right_key")


def _least_of(job: SearchJob) -> float:
    """Return the least exact similarity of a match."""
    asked = job.settings.similarity
    return Options(sketch=job.sketch).similarity if asked is None else asked


def _verify(
    sketch: AnySketch, least: float, lose: int | None, batches: Iterable[Any]
) -> Iterator[Any]:
    """Verify the candidates of whole components, as a task."""
    verified = partial(_verified, sketch=sketch, least=least, lose=lose)
    arrow = frames.pyarrow()
    held: list[Any] = []
    for batch in batches:
        if not len(batch):
            continue
        roots = frames.numbers_of(batch.column("root"))
        start = int(np.searchsorted(roots, roots[-1]))
        if start or (held and frames.numbers_of(held[-1].column("root"))[-1] != roots[-1]):
            yield verified(arrow.Table.from_batches([*held, batch.slice(0, start)]))
            held = []
        held.append(batch.slice(start))
    if held:
        yield verified(arrow.Table.from_batches(held))


def _verified(table: Any, sketch: Any, least: float, lose: int | None) -> Any:
    """Return the matching pairs of some components."""
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
                f"texts= lacks the texts of {int(np.count_nonzero(~is_known))} documents; give the"
                " DataFrame that was sketched"
            )
        both.append(order[places])
    similarities, _ = measured(texts.column("text"), both[0], both[1], sketch, lose)
    is_match = similarities >= np.float32(least)
    return frames.batch_of(
        {
            "left_key": frames.numbers_of(pairs.column("left_key"))[is_match],
            "right_key": frames.numbers_of(pairs.column("right_key"))[is_match],
            "distance": frames.numbers_of(pairs.column("distance"))[is_match].astype(np.int32),
            "similarity": similarities[is_match],
        }
    )


def measured(
    texts: Any, left: I64, right: I64, sketch: Any, lose: int | None
) -> tuple[F32, I64 | None]:
    """Return the similarities of texts left[i] and right[i], and the features that would be lost.

    `lose`: see `Settings`.  If the smaller text of a pair would lose more features, the similarity
    is 0.  Without `lose`, lost features are not counted (None).
    """
    if lose is None:
        return exact_similarities(texts, left, right, sketch), None
    exact = ExactSimilarity(sketch, Resources(), ())
    exact.lose, bodies = lose, exact.bodies(all_texts(texts))
    sizes = exact.sizes(bodies)
    is_less = sizes[left] < sizes[right]
    stays, goes = np.where(is_less, right, left), np.where(is_less, left, right)
    order, found = np.argsort(stays, kind="stable"), np.empty(len(stays), np.float32)
    found[order] = exact.of_bodies(bodies, sizes, stays[order], goes[order])
    return found, exact.lost(sizes[stays], sizes[goes], found)


def connected(links: Any, job: SearchJob, name: str = "components") -> Any:
    """Return the components of links: key and root, the least key of the component.

    Keys without links are not in the result.  `links`: a DataFrame of left_key and right_key, which
    is computed once.  `name`: the name of files in the checkpoint, if they are needed.
    """
    with HeldFrames() as held:
        forests = held.keep(links.mapInArrow(_join_some, LINKS))
        count = forests.count()
        documents = job.keyed.document_count
        most, checkpoint = job.settings.driver_links, job.settings.checkpoint
        if count > documents and documents <= most:
            forests, count = _in_one(forests, job.partitions, held)
        if count <= most:
            return _by_driver(forests)
        if checkpoint is None:
            raise OptionError(
                f"there are more than {most:,} links; give checkpoint=, a folder that"
                " all processes can write to, to join them in rounds"
            )
        stars = _in_rounds(forests, job.partitions, f"{checkpoint}/{name}")
    column = frames.functions().col
    roots = stars.select(column("right_key").alias("key")).distinct()
    return stars.select(column("left_key").alias("key"), column("right_key").alias("root")).union(
        roots.select("key", column("key").alias("root"))
    )


def _in_one(forests: Any, partitions: int, held: HeldFrames) -> tuple[Any, int]:
    """Merge the forests of all tasks into one; return it and its number of links.

    Without a shuffle, tasks read links where they are held.  There are about log(partitions) /
    log(FORESTS) steps, each of which sends 16 bytes per link.
    """
    while True:
        partitions = -(-partitions // FORESTS)
        forests = held.keep(forests.coalesce(partitions).mapInArrow(_join_some, LINKS))
        count = forests.count()
        if partitions == 1:
            return forests, count


def _by_driver(forests: Any) -> Any:
    table = forests.toArrow()
    left, right = (frames.numbers_of(table.column(at)) for at in range(2))
    keys, roots = components(left, right)
    made = frames.pyarrow().Table.from_batches([frames.batch_of({"key": keys, "root": roots})])
    return forests.sparkSession.createDataFrame(made)


def _in_rounds(links: Any, partitions: int, path: str) -> Any:
    """Return the links as stars: each key with the least key of its component.

    `path`: the prefix of the paths of the files.
    """
    session = links.sparkSession
    before: tuple[int, int] | None = None
    for number in range(ROUNDS_MAX):
        for name, is_large in (("large", True), ("small", False)):
            packed = links.mapInArrow(partial(_pack_ends, partitions, is_large), packing.SCHEMA)
            spread = packed.repartitionById(partitions, "place")
            made = spread.mapInArrow(partial(_star, is_large), LINKS)
            place = f"{path}-{number}-{name}"
            made.write.mode("overwrite").parquet(place)
            links = session.read.parquet(place)
        functions = frames.functions()
        mark = functions.xxhash64("left_key", "right_key")
        row = links.agg(
            functions.count("*").alias("links"), functions.bit_xor(mark).alias("mark")
        ).first()
        after = (row["links"], row["mark"])
        if after == before:
            return links
        before = after
    cause = "this is a bug in simdb, please report it"
    raise OptionError(f"components still changed after {ROUNDS_MAX} rounds; {cause}")


def _join_some(batches: Iterable[Any]) -> Iterator[Any]:
    """Reduce links to a forest with the same components, as a task."""
    forest = LinkForest()
    for batch in batches:
        forest.join(frames.numbers_of(batch.column(0)), frames.numbers_of(batch.column(1)))
    left, right = forest.links()
    yield frames.batch_of({"left_key": left, "right_key": right})


def _pack_ends(partitions: int, is_large: bool, batches: Iterable[Any]) -> Iterator[Any]:
    """Send each link to the task of its greater end; for large stars, to the tasks of both."""
    for batch in batches:
        left, right = (frames.numbers_of(batch.column(at)) for at in range(2))
        high, low = np.maximum(left, right), np.minimum(left, right)
        ends, others = high, low
        if is_large:
            ends, others = np.concatenate([high, low]), np.concatenate([low, high])
        content = others.view(np.uint8).reshape(-1, packing.KEY_BYTES)
        yield packing.packed(chunks_of(ends, partitions), ends, content)


def _star(is_large: bool, batches: Iterable[Any]) -> Iterator[Any]:
    """Link the neighbours of each key to the least key among them and itself, as a task."""
    blobs = [blob for batch in batches for blob in packing.blobs(batch, packing.KEY_BYTES)]
    ends, rows = packing.joined(blobs, packing.KEY_BYTES)
    others = rows.view(np.int64).ravel()
    keys, places = np.unique(ends, return_inverse=True)
    least = keys.copy()
    np.minimum.at(least, places, others)
    of_links = least[places]
    if is_large:
        is_far = others > ends
        yield _linked(others[is_far], of_links[is_far])
    else:
        is_other = others != of_links
        left = np.concatenate([others[is_other], keys])
        yield _linked(left, np.concatenate([of_links[is_other], least]))


def _linked(left: I64, right: I64) -> Any:
    """Return distinct links, without links of a key to itself."""
    links = np.unique(np.stack([left, right], axis=1)[left != right], axis=0)
    return frames.batch_of({"left_key": links[:, 0].copy(), "right_key": links[:, 1].copy()})
