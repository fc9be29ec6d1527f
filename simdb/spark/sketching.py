"""Sketching: fingerprints and signatures of the texts of a DataFrame, and keys for their ids.

Tasks sketch the texts where they are.  The key of a document is its id if that is a whole number,
or otherwise the 64-bit hash of the id by Spark.  So it does not depend on partitions.
`checked_keys` makes sure that no two documents have the same key.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from simdb.core.arrays import EMPTY, Fingerprints
from simdb.core.bits import fmix64
from simdb.core.checks import instance, one_of, shown
from simdb.core.choices import DROP, ERROR, KEEP, ON_NULL, RAISE, SKIP, NullName, OnErrorName
from simdb.core.decoding import all_texts
from simdb.core.documents import Signatures
from simdb.core.dtypes import Bools
from simdb.core.errors import ExistsError, InputError, OptionError
from simdb.core.options import AnySketch, Bits, Minhash, Simhash
from simdb.core.stored_options import Resources
from simdb.core.vector_form import signs_of, unpack_minima
from simdb.sketch import AnySketcher, ExactSimilarity, sketcher_of
from simdb.spark import frames, packing
from simdb.spark.distributed import chunks_of

# The metadata of the last column has the options of the sketch, also in Parquet files.
METADATA = "simdb.sketch"
KINDS = {each.__name__: each for each in (Simhash, Minhash, Bits)}
TEXT = "simdb_text"
# Columns for the number of features, and for a 128-bit sum that identifies a set of features: two
# sets have the same sum by chance once in 2^128.
SIZE, FEATURES, FEATURES_BYTES = "simdb_size", "simdb_features", 16
# Among 10^9 strings, two share a 64-bit hash with probability 1/40; then another salt is used.
SALTS = 8


def fingerprints(
    df: Any,
    sketch: Simhash | Bits | None = None,
    *,
    id: str = "id",
    text: str = "text",
    on_null: NullName = "keep",
    on_error: OnErrorName = "raise",
    columns: Sequence[str] = (),
) -> Any:
    """Make the fingerprints of the texts of a DataFrame.

    Parameters
    ----------
    df : DataFrame
        The documents.
    sketch : Simhash or Bits, optional
        How texts become fingerprints; `Simhash()` if not given.  With `Bits`, the column `text` has
        hashes, BINARY or hexadecimal text.
    id : str, default "id"
        The column with the ids, which are strings or whole numbers.
    text : str, default "text"
        The column with the texts or hashes.
    on_null : {"keep", "drop", "error"}, default "keep"
        What to do with rows without a text.  "keep" treats a missing text as empty, and empty texts
        match nothing.  "drop" omits such a row, and "error" refuses it.  A hash cannot be empty, so
        with `Bits`, "keep" refuses it as well.
    on_error : {"raise", "skip"}, default "raise"
        What to do with rows that have no id, a text that is not valid UTF-8, or an invalid hash.
        "raise" refuses them, and "skip" omits them.
    columns : sequence of str
        Other columns of `df` to copy to the result, such as a column that `keep` of `clusters`
        needs.

    Returns
    -------
    DataFrame
        The fingerprints: id, fp BIGINT, vector BINARY, is_empty BOOLEAN, then `columns`.  `fp` has
        the 64 bits, and `vector` the rounded weights, as a database stores them.  With `Bits`, `fp`
        is the hash (BINARY), and there is no `vector`.  With on_error="skip", its attribute
        `skipped` is a DataFrame of the omitted rows: id, reason.

    Raises
    ------
    OptionError
        If the sketch makes no fingerprints, or has an IDF table or a tokeniser, which cannot be
        sent to the tasks.
    InputError
        If a column is missing, or the ids or hashes are of another type.
    """
    sketch = Simhash() if sketch is None else sketch
    if not isinstance(sketch, Simhash | Bits):
        raise OptionError(f"fingerprints needs a simdb.Simhash or simdb.Bits, got {shown(sketch)}")
    rows, skipped = readable(df, id, text, on_error, sketch)
    return with_skipped(sketched(selected(rows, id, text, columns), sketch, on_null), skipped)


def signatures(
    df: Any,
    sketch: Minhash | None = None,
    *,
    id: str = "id",
    text: str = "text",
    on_null: NullName = "keep",
    on_error: OnErrorName = "raise",
    columns: Sequence[str] = (),
) -> Any:
    """Make the MinHash signatures of the texts of a DataFrame.

    Parameters
    ----------
    df : DataFrame
        The documents.
    sketch : Minhash, optional
        How texts become signatures; `Minhash()` if not given.
    id : str, default "id"
        The column with the ids; see `fingerprints`.
    text : str, default "text"
        The column with the texts.
    on_null : {"keep", "drop", "error"}, default "keep"
        What to do with rows without a text; see `fingerprints`.
    on_error : {"raise", "skip"}, default "raise"
        What to do with rows that cannot be read; see `fingerprints`.
    columns : sequence of str
        Other columns of `df` to copy to the result; see `fingerprints`.

    Returns
    -------
    DataFrame
        The signatures: id, signature BINARY, is_empty BOOLEAN, then `columns`.  With
        on_error="skip" it has the attribute `skipped`; see `fingerprints`.

    Raises
    ------
    OptionError
        If the sketch makes no signatures, or has an IDF table or a tokeniser.
    InputError
        If a column is missing, or the ids are of another type.
    """
    sketch = Minhash() if sketch is None else sketch
    instance("sketch", sketch, Minhash, "simdb.Minhash()")
    rows, skipped = readable(df, id, text, on_error, sketch)
    return with_skipped(sketched(selected(rows, id, text, columns), sketch, on_null), skipped)


def readable(df: Any, id: str, text: str, on_error: str, sketch: AnySketch) -> tuple[Any, Any]:
    """Return the valid rows, and id and reason of the others; with "raise", all rows and None."""
    one_of("on_error", on_error, (RAISE, SKIP))
    functions, found = frames.functions(), frames.column_type(df, text)
    own, content, fault = functions.col(id), functions.col(text), "not valid UTF-8"
    is_valid = functions.is_valid_utf8(content.cast("string"))
    if isinstance(sketch, Bits):
        if found not in ("binary", "string"):
            raise InputError(f"hashes must be binary or hexadecimal text, and {text!r} is {found}")
        fault = f"no hash of {sketch.bits} bits"
        digits = functions.hex(content) if found == "binary" else content
        is_valid = digits.rlike(rf"\A(0[xX])?[0-9A-Fa-f]{{{sketch.bits // 4}}}\z")
    if on_error == RAISE:
        return df, None
    kind, has_id = frames.id_type(df, id), own.isNotNull()
    is_read = has_id & (content.isNull() | is_valid)
    reason = functions.when(has_id, fault).otherwise("no id")
    others = df.where(~is_read).select(own.cast(kind).alias("id"), reason.alias("reason"))
    return df.where(is_read), others


def with_skipped(result: Any, skipped: Any) -> Any:
    """Return a DataFrame, with `skipped` as an attribute unless that is None."""
    if skipped is not None:
        result.skipped = skipped
    return result


def sketch_of(sketches: Any) -> AnySketch:
    """Return the options that sketches were made with; raise InputError if no column has them."""
    for field in sketches.schema.fields:
        if METADATA in (field.metadata or {}):
            kind, settings = json.loads(field.metadata[METADATA])
            return KINDS[kind](**settings)
    raise InputError(
        "these are not sketches of simdb.spark.fingerprints or signatures: no column has their"
        " options in its metadata; make the sketches with these functions, and keep their columns"
    )


def columns_of(sketch: AnySketch) -> dict[str, str]:
    """Return the types of the columns of sketches; the last column has the options as metadata."""
    if isinstance(sketch, Bits):
        return {"fp": "binary"}
    is_minhash = isinstance(sketch, Minhash)
    return {"signature": "binary"} if is_minhash else {"fp": "bigint", "vector": "binary"}


def main_column(sketch: AnySketch) -> str:
    """Return the name of the last column, which has the complete sketch."""
    return list(columns_of(sketch))[-1]


def documents_of(column: Any, sketch: AnySketch, is_empty: Bools) -> Fingerprints | Signatures:
    """Return the sketches of a main column."""
    width = sketch.bits // 8 if isinstance(sketch, Bits) else sketch.vector_bytes
    rows = frames.rows_of(column, width)
    if isinstance(sketch, Minhash):
        return Signatures(unpack_minima(rows, sketch.stored_bits), sketch, is_empty)
    if isinstance(sketch, Bits):
        return Fingerprints(rows)
    return Fingerprints(signs_of(rows), None, rows, sketch.scale_of().measure)


class Keyed(NamedTuple):
    """Sketches with a column `key`, their number, and the way keys are made from ids."""

    sketches: Any
    document_count: int
    is_hashed: bool
    salt: int


def checked_keys(sketches: Any, partitions: int) -> Keyed:
    """Return sketches with keys; raise ExistsError, naming the id, if two documents share it."""
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
                " or drop the repeated rows"
            )
    raise ExistsError(f"two ids have the same hash, {SALTS} times; use whole numbers as ids")


def with_key(df: Any, id: str, is_hashed: bool, salt: int) -> Any:
    """Return a DataFrame with a column `key` for the column `id`."""
    functions = frames.functions()
    column = functions.col(id)
    made = functions.xxhash64(column, functions.lit(salt)) if is_hashed else column.cast("bigint")
    return df.withColumn("key", made)


def with_ids(df: Any, keyed: Keyed, names: dict[str, str]) -> Any:
    """Return a DataFrame with ids in place of keys; `names` maps columns of keys to new names."""
    functions = frames.functions()
    if not keyed.is_hashed:
        return df.withColumnsRenamed(names)
    ids = keyed.sketches.select("key", "id")
    for key, id in names.items():
        named = ids.select(functions.col("key").alias(key), functions.col("id").alias(id))
        df = df.join(named, key).drop(key)
    return df


def selected(df: Any, id: str, text: str, columns: Sequence[str]) -> Any:
    """Return id, text and other columns; the text column may be among the others."""
    functions = frames.functions()
    frames.column_type(df, text)
    kind = frames.id_type(df, id)
    for name in columns:
        frames.column_type(df, name)
    return df.select(
        functions.col(id).cast(kind).alias("id"), functions.col(text).alias(TEXT), *columns
    )


def sketched(given: Any, sketch: AnySketch, on_null: str, *, has_features: bool = False) -> Any:
    """Return the sketches of `given` (id, text, other columns), with the options as metadata.

    `has_features`: add the columns `SIZE` and `FEATURES`.
    """
    one_of("on_null", on_null, ON_NULL)
    if isinstance(sketch, Bits) and on_null == KEEP:
        on_null = ERROR
    if sketch.idf is not None or sketch.tokeniser:
        raise OptionError(
            "an IDF table or a tokeniser of your own cannot be sent to the tasks of Spark; use a"
            " sketch without them"
        )
    others = {name: frames.column_type(given, name) for name in given.columns[2:]}
    kept = columns_of(sketch)
    types = {"id": frames.id_type(given, "id"), **kept, "is_empty": "boolean", **others}
    if has_features:
        types |= {SIZE: "int", FEATURES: "binary"}
    schema = ", ".join(f"`{name}` {type}" for name, type in types.items())
    sketches = given.mapInArrow(partial(_sketch_batches, sketch, on_null, has_features), schema)
    names = Bits.OWN if isinstance(sketch, Bits) else set(asdict(sketch)) - {"idf"}
    settings = {name: value for name, value in asdict(sketch).items() if name in names}
    note = json.dumps([type(sketch).__name__, settings])
    return sketches.withMetadata(main_column(sketch), {METADATA: note})


def _sketch_batches(
    sketch: Any, on_null: str, has_features: bool, batches: Iterable[Any]
) -> Iterator[Any]:
    """Yield sketches of batches of ids and texts; runs as a Spark task."""
    sketcher = sketcher_of(sketch, Resources(), ())
    exact = ExactSimilarity(sketch, Resources(), ()) if has_features else None
    for batch in batches:
        some = _without_nulls(batch, on_null)
        if len(some):
            yield _sketch_batch(sketcher, some, sketch, exact)


def _without_nulls(batch: Any, on_null: str) -> Any:
    """Return a batch in which every row has a text, following `on_null`."""
    ids, texts = batch.column(0), batch.column(1)
    if ids.null_count:
        raise InputError(
            f"{ids.null_count} rows of a batch have no id; every document needs one, so filter"
            " them or number them"
        )
    if not texts.null_count:
        return batch
    if on_null == ERROR:
        at = texts.is_null().to_numpy(zero_copy_only=False).argmax()
        raise InputError(
            f"the document {ids[int(at)].as_py()!r} has no text or hash; on_null='drop' omits such"
            " rows, and on_null='keep' keeps rows without a text"
        )
    if on_null == DROP:
        return batch.filter(texts.is_valid())
    empty = frames.pyarrow().scalar("").cast(texts.type)
    return batch.set_column(1, batch.schema.field(1), texts.fill_null(empty))


def _sketch_batch(
    sketcher: AnySketcher, batch: Any, sketch: AnySketch, exact: ExactSimilarity | None
) -> Any:
    sketches = sketcher.sketch(batch.column(1))
    bits, rows, columns = sketches.bits, sketches.vectors, {"id": batch.column(0)}
    if isinstance(sketch, Bits) and not sketch.vector_bytes:
        rows = bits.astype(">u8").view(np.uint8).reshape(len(bits), -1)
    for name, kind in columns_of(sketch).items():
        columns[name] = bits.view(np.int64) if kind == "bigint" else rows
    columns["is_empty"] = sketches.states == EMPTY
    columns |= {name: batch.column(name) for name in batch.schema.names[2:]}
    if exact is not None:
        offsets, hashes, _ = exact.bodies(all_texts(batch.column(1)))
        columns[SIZE] = np.diff(offsets).astype(np.int32)
        # Sums do not depend on the order of features.  The sum of an empty set is never used.
        mixed = (np.append(fmix64(each), np.uint64(0)) for each in (hashes, ~hashes))
        sums = np.stack([np.add.reduceat(each, offsets[:-1]) for each in mixed], axis=1)
        columns[FEATURES] = sums.view(np.uint8)
    return frames.batch_of(columns)


def _counted(sketches: Any, partitions: int) -> tuple[int, int | None]:
    """Return the number of documents, and a key that two documents share, or None."""
    keys = frames.in_order(sketches.select("key"), "key")
    sent = keys.mapInArrow(partial(_pack_keys, partitions), packing.SCHEMA)
    spread = sent.repartitionById(partitions, "place")
    found = spread.mapInArrow(_count_keys, "documents bigint, repeated bigint").toArrow()
    repeated = [each for each in found.column("repeated").to_pylist() if each is not None]
    return sum(found.column("documents").to_pylist()), min(repeated, default=None)


def _pack_keys(partitions: int, batches: Iterable[Any]) -> Iterator[Any]:
    for keys, none in packing.gathered(batches, 0):
        yield packing.packed(chunks_of(keys, partitions), keys, none)


def _count_keys(batches: Iterable[Any]) -> Iterator[Any]:
    keys, _ = packing.joined([blob for batch in batches for blob in packing.blobs(batch, 0)], 0)
    repeated = keys[1:][keys[1:] == keys[:-1]]
    arrow = frames.pyarrow()
    column = arrow.array([int(repeated[0]) if len(repeated) else None], arrow.int64())
    yield frames.batch_of({"documents": np.array([len(keys)]), "repeated": column})
