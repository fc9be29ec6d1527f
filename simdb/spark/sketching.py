"""Sketching: fingerprints and signatures of the texts of a DataFrame, made where the texts are."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np

from simdb.ground.checks import one_of
from simdb.ground.choices import DROP, ERROR, ON_NULL, NullName
from simdb.ground.errors import InputError, OptionError
from simdb.settings.minhash import Minhash
from simdb.settings.options import Simhash
from simdb.settings.resources import Resources
from simdb.sketch.kinds import AnySketcher, sketcher_of
from simdb.spark import frames
from simdb.values.arrays import EMPTY

# The options of a sketch stand in the metadata of its column, also in Parquet files.
METADATA = "simdb.sketch"
TEXT = "simdb_text"


def fingerprints(
    df: Any,
    sketch: Simhash | None = None,
    *,
    id: str = "id",
    text: str = "text",
    on_null: NullName = "keep",
    columns: Sequence[str] = (),
) -> Any:
    """Return the fingerprints of texts: id, fp BIGINT, vector BINARY, is_empty BOOLEAN.

    `fp` has the 64 bits, and `vector` the rounded weights, as a database stores them.  `on_null`:
    rows without a text are kept by "keep", as one that is empty and matches nothing, left out by
    "drop", and refused by "error"; rows without an id are always refused.  `columns`: other columns
    of `df` that the result has, too, such as one that `clusters` chooses by.
    """
    sketch = Simhash() if sketch is None else sketch
    if not isinstance(sketch, Simhash):
        raise OptionError(f"fingerprints needs a simdb.Simhash, got {type(sketch).__name__}")
    made = {"fp": "bigint", "vector": "binary", "is_empty": "boolean"}
    return _sketched(_selected(df, id, text, columns), sketch, on_null, made, "vector")


def signatures(
    df: Any,
    sketch: Minhash | None = None,
    *,
    id: str = "id",
    text: str = "text",
    on_null: NullName = "keep",
    columns: Sequence[str] = (),
) -> Any:
    """Return the MinHash signatures of texts: id, signature BINARY, is_empty BOOLEAN.

    The arguments are those of `fingerprints`.
    """
    sketch = Minhash() if sketch is None else sketch
    if not isinstance(sketch, Minhash):
        raise OptionError(f"signatures needs a simdb.Minhash, got {type(sketch).__name__}")
    made = {"signature": "binary", "is_empty": "boolean"}
    return _sketched(_selected(df, id, text, columns), sketch, on_null, made, "signature")


def sketch_of(sketches: Any) -> Simhash | Minhash:
    """Return the options that sketches were made with; InputError if their column says nothing."""
    for field in sketches.schema.fields:
        if METADATA in (field.metadata or {}):
            kind, settings = json.loads(field.metadata[METADATA])
            return Minhash(**settings) if kind == "Minhash" else Simhash(**settings)
    raise InputError(
        "these are no sketches of simdb.spark.fingerprints or signatures: no column has their"
        " options in its metadata; make the sketches with these functions, and keep their columns"
    )


def _selected(df: Any, id: str, text: str, columns: Sequence[str]) -> Any:
    """Return id, text and other columns, of which one can be the text again."""
    functions = frames.functions()
    frames.column_type(df, text)
    kind = frames.id_type(df, id)
    for name in columns:
        frames.column_type(df, name)
    return df.select(
        functions.col(id).cast(kind).alias("id"), functions.col(text).alias(TEXT), *columns
    )


def _sketched(
    given: Any, sketch: Simhash | Minhash, on_null: str, made: dict[str, str], described: str
) -> Any:
    """Return the sketches of id, text and other columns.

    `made`: the columns of a sketch, with their types.  `described` gets the options as metadata.
    """
    one_of("on_null", on_null, ON_NULL)
    if sketch.idf is not None or sketch.tokeniser:
        raise OptionError(
            "an IDF table or a tokeniser of your own does not travel to the tasks of Spark; use a"
            " sketch without them"
        )
    others = {name: frames.column_type(given, name) for name in given.columns[2:]}
    types = {"id": frames.id_type(given, "id"), **made, **others}
    schema = ", ".join(f"`{name}` {type}" for name, type in types.items())
    sketches = given.mapInArrow(partial(_sketch_batches, sketch, on_null), schema)
    settings = {name: value for name, value in asdict(sketch).items() if name != "idf"}
    note = json.dumps([type(sketch).__name__, settings])
    return sketches.withMetadata(described, {METADATA: note})


def _sketch_batches(
    sketch: Simhash | Minhash, on_null: str, batches: Iterable[Any]
) -> Iterator[Any]:
    """Sketch batches of ids and texts: a task."""
    sketcher = sketcher_of(sketch, Resources(), ())
    for batch in batches:
        some = _without_nulls(batch, on_null)
        if len(some):
            yield _sketch_batch(sketcher, some, is_minhash=isinstance(sketch, Minhash))


def _without_nulls(batch: Any, on_null: str) -> Any:
    """Return a batch in which every row has a text."""
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
            f"the document {ids[int(at)].as_py()!r} has no text; give on_null='keep' to keep such"
            " rows, or on_null='drop' to leave them out"
        )
    if on_null == DROP:
        return batch.filter(texts.is_valid())
    empty = frames.pyarrow().scalar("").cast(texts.type)
    return batch.set_column(1, batch.schema.field(1), texts.fill_null(empty))


def _sketch_batch(sketcher: AnySketcher, batch: Any, *, is_minhash: bool) -> Any:
    sketches = sketcher.sketch(batch.column(1))
    is_empty = sketches.states == EMPTY
    if is_minhash:
        columns = {"id": batch.column(0), "signature": sketches.vectors, "is_empty": is_empty}
    else:
        columns = {
            "id": batch.column(0),
            "fp": sketches.bits.view(np.int64),
            "vector": sketches.vectors,
            "is_empty": is_empty,
        }
    others = {name: batch.column(name) for name in batch.schema.names[2:]}
    return frames.batch_of({**columns, **others})
