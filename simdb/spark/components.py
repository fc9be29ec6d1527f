"""Components: connected components of the links that tasks have found.

Every task has a forest: fewer links than it has documents.  But a document is in several tasks, so
all forests can have more links than there are documents.  Then tasks join the forests to one, which
has fewer.  While its links fit, the driver takes them.  More are joined in rounds of tasks: large
stars and small stars in turn (Kiveris et al. 2014, "Connected Components in MapReduce and Beyond"),
each written to Parquet before the next, until a round changes nothing; so no task has all links,
and what the last round leaves is a link for each document that is not a root.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from simdb.distributed import LinkForest, chunks_of, components
from simdb.ground.errors import OptionError
from simdb.spark import frames, packing
from simdb.spark.finding import LINKS, SearchJob
from simdb.spark.frames import I64, HeldFrames

# A task joins so many forests of others to one.
FORESTS = 32
ROUNDS_MAX = 60


def joined(links: Any, job: SearchJob, name: str = "components") -> Any:
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
