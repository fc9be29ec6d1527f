"""Pairing: all matching pairs of sketches, as sketches or texts decide, and what pairs connect.

Texts travel only if they are in a candidate, and once: those that a chain of candidates connects go
to one task.

To connect the links that tasks have found, each task has a forest: fewer links than it has
documents.  But a document is in several tasks, so all forests can have more links than there are
documents.  Then tasks join the forests to one, which has fewer.  While its links fit, the driver
takes them.  More are joined in rounds of tasks: large stars and small stars in turn (Kiveris et al.
2014, "Connected Components in MapReduce and Beyond"), each written to Parquet before the next,
until a round changes nothing; so no task has all links, and what the last round leaves is a link
for each document that is not a root.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from simdb.core.choices import VerifyName
from simdb.core.dtypes import I64
from simdb.core.errors import InputError, OptionError
from simdb.core.options import Minhash, Options, Simhash
from simdb.sketch import exact_threshold
from simdb.spark import finding, frames, packing, sketching
from simdb.spark.distributed import LinkForest, chunks_of, components, exact_similarities
from simdb.spark.finding import LINKS, SearchJob, Settings
from simdb.spark.frames import HeldFrames

# A task joins so many forests of others to one.
FORESTS = 32
ROUNDS_MAX = 60


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
        named = sketching.with_ids(found, job.keyed, {"left_key": "left", "right_key": "right"})
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
    roots = connected(candidates.select("left_key", "right_key"), job, "candidates")
    spread = _spread(candidates, roots, job)
    return spread.mapInArrow(partial(_verify, job.sketch, _least_of(job)), finding.PAIRS)


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
    return frames.in_order(every, "root", "left_key", "right_key")


def default_least(sketch: Simhash | Minhash) -> float:
    """Return the least exact similarity of a match, if none is asked for."""
    return exact_threshold(sketch, Options(sketch=sketch).similarity)


def _least_of(job: SearchJob) -> float:
    """Return the least exact similarity of a match."""
    asked = job.settings.similarity
    return default_least(job.sketch) if asked is None else asked


def _verify(sketch: Simhash | Minhash, least: float, batches: Iterable[Any]) -> Iterator[Any]:
    """Decide the candidates of whole components: a task."""
    arrow = frames.pyarrow()
    held: list[Any] = []
    for batch in batches:
        if not len(batch):
            continue
        roots = frames.numbers_of(batch.column("root"))
        start = int(np.searchsorted(roots, roots[-1]))
        if start or (held and frames.numbers_of(held[-1].column("root"))[-1] != roots[-1]):
            yield _verified(arrow.Table.from_batches([*held, batch.slice(0, start)]), sketch, least)
            held = []
        held.append(batch.slice(start))
    if held:
        yield _verified(arrow.Table.from_batches(held), sketch, least)


def _verified(table: Any, sketch: Simhash | Minhash, least: float) -> Any:
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


def connected(links: Any, job: SearchJob, name: str = "components") -> Any:
    """Return the components of links: (key, root), the least key of each; keys without links not.

    `links`: a DataFrame of left_key and right_key, which is computed once.  `name`: of the files in
    the checkpoint, if they are needed.
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
                " all processes can write, where they are joined in rounds"
            )
        stars = _in_rounds(forests, job.partitions, f"{checkpoint}/{name}")
    column = frames.functions().col
    roots = stars.select(column("right_key").alias("key")).distinct()
    return stars.select(column("left_key").alias("key"), column("right_key").alias("root")).union(
        roots.select("key", column("key").alias("root"))
    )


def _in_one(forests: Any, partitions: int, held: HeldFrames) -> tuple[Any, int]:
    """Return one forest in place of those of all tasks, and how many links it has.

    Links are read from where they are held, so this is no shuffle: 16 bytes of each link travel, in
    each of some log(partitions) / log(FORESTS) steps.
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

    `path`: how the paths of the files begin.
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
    raise OptionError(f"components did not settle in {ROUNDS_MAX} rounds; this is a fault of simdb")


def _join_some(batches: Iterable[Any]) -> Iterator[Any]:
    """Return fewer links than keys, which join what the given links join: a task."""
    forest = LinkForest()
    for batch in batches:
        forest.join(frames.numbers_of(batch.column(0)), frames.numbers_of(batch.column(1)))
    left, right = forest.links()
    yield frames.batch_of({"left_key": left, "right_key": right})


def _pack_ends(partitions: int, is_large: bool, batches: Iterable[Any]) -> Iterator[Any]:
    """Send each link to the task of its end: of both for large stars, of the greater for small."""
    for batch in batches:
        left, right = (frames.numbers_of(batch.column(at)) for at in range(2))
        high, low = np.maximum(left, right), np.minimum(left, right)
        ends, others = high, low
        if is_large:
            ends, others = np.concatenate([high, low]), np.concatenate([low, high])
        content = others.view(np.uint8).reshape(-1, packing.KEY_BYTES)
        yield packing.packed(chunks_of(ends, partitions), ends, content)


def _star(is_large: bool, batches: Iterable[Any]) -> Iterator[Any]:
    """Link neighbours of each key to the least of them and itself: a task."""
    blobs = [blob for batch in batches for blob in packing.blobs(batch, packing.KEY_BYTES)]
    ends = np.concatenate([np.empty(0, np.int64), *(blob.keys for blob in blobs)])
    others = np.concatenate(
        [np.empty(0, np.int64), *(blob.rows.view(np.int64).ravel() for blob in blobs)]
    )
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
    """Return links, each once, without those of a key to itself."""
    links = np.unique(np.stack([left, right], axis=1)[left != right], axis=0)
    return frames.batch_of({"left_key": links[:, 0].copy(), "right_key": links[:, 1].copy()})
