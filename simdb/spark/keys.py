"""Keys: the number by which a document travels, in place of its id.

A whole number is its own key; the key of a string is its 64-bit hash by Spark, so that it does not
depend on the order or the number of partitions.  `checked_keys` makes sure that no two documents
have one key.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from simdb.distributed import chunks_of
from simdb.errors import ExistsError
from simdb.spark import frames, packing

# A hash of 64 bits gives two of 10^9 strings one key in one case of 40; then another one is used.
SALTS = 8


class Keyed(NamedTuple):
    """Sketches with a column `key`, how many they are, and how keys are made of their ids."""

    sketches: Any
    document_count: int
    is_hashed: bool
    salt: int


def checked_keys(sketches: Any, partitions: int) -> Keyed:
    """Return sketches with keys; ExistsError, which names the id, if two documents have one id."""
    is_hashed = frames.id_type(sketches, "id") == "string"
    for salt in range(SALTS):
        keyed = Keyed(with_key(sketches, "id", is_hashed, salt), 0, is_hashed, salt)
        count, repeated = _counted(keyed.sketches, partitions)
        if repeated is None:
            return keyed._replace(document_count=count)
        functions = frames.functions()
        ids = keyed.sketches.where(functions.col("key") == repeated).select("id").take(2)
        if not is_hashed or len({row["id"] for row in ids}) == 1:
            raise ExistsError(
                f"two documents have the id {ids[0]['id']!r}; give every document an id of its own,"
                " or drop the rows that are there twice"
            )
    raise ExistsError(f"two ids have one hash, by {SALTS} hashes; number the documents instead")


def with_key(df: Any, id: str, is_hashed: bool, salt: int) -> Any:
    """Return a DataFrame with a column `key` for the column `id`."""
    functions = frames.functions()
    column = functions.col(id)
    made = functions.xxhash64(column, functions.lit(salt)) if is_hashed else column.cast("bigint")
    return df.withColumn("key", made)


def with_ids(df: Any, keyed: Keyed, names: dict[str, str]) -> Any:
    """Return a DataFrame with ids in place of keys; `names`: of the columns of keys and of ids."""
    functions = frames.functions()
    if not keyed.is_hashed:
        return df.withColumnsRenamed(names)
    ids = keyed.sketches.select("key", "id")
    for key, id in names.items():
        named = ids.select(functions.col("key").alias(key), functions.col("id").alias(id))
        df = df.join(named, key).drop(key)
    return df


def _counted(sketches: Any, partitions: int) -> tuple[int, int | None]:
    """Return how many documents there are, and a key that two of them have, or None."""
    packed = sketches.select("key").mapInArrow(partial(_pack_keys, partitions), packing.SCHEMA)
    spread = packed.repartitionById(partitions, "place")
    found = spread.mapInArrow(_count_keys, "documents bigint, repeated bigint").toArrow()
    repeated = [each for each in found.column("repeated").to_pylist() if each is not None]
    return sum(found.column("documents").to_pylist()), min(repeated, default=None)


def _pack_keys(partitions: int, batches: Iterable[Any]) -> Iterator[Any]:
    for keys, _ in packing.gathered(batches, 0):
        yield packing.packed(chunks_of(keys, partitions), keys, None)


def _count_keys(batches: Iterable[Any]) -> Iterator[Any]:
    blobs = [blob.keys for batch in batches for blob in packing.blobs(batch, 0)]
    keys = np.sort(np.concatenate([np.empty(0, np.int64), *blobs]))
    repeated = keys[1:][keys[1:] == keys[:-1]]
    arrow = frames.pyarrow()
    column = arrow.array([int(repeated[0]) if len(repeated) else None], arrow.int64())
    yield frames.batch_of({"documents": np.array([len(keys)]), "repeated": column})
