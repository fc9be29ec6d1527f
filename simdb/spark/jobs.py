"""Jobs: what every search does first: it checks what is asked, and gives documents their keys."""

from typing import Any

from simdb.checks import one_of, shown, whole
from simdb.engine.search.judge import EXACT, VERIFICATIONS
from simdb.errors import OptionError
from simdb.spark import finding, frames, keys, sketching
from simdb.spark.finding import Asked, Job
from simdb.spark.held import Held
from simdb.spark.keys import Keyed

# So many links are joined by the driver: 16 bytes each, and some ten times as much while it does.
DRIVER_LINKS = 20_000_000


def job_of(
    sketches: Any,
    asked: Asked,
    held: Held,
    *,
    verify: str,
    texts: Any,
    id: str,
    text: str,
    checkpoint: str | None,
    partitions: int | None,
    block_limit: int | None,
    driver_links: int,
) -> Job:
    """Return the job of a search; the arguments are those of `clusters`."""
    _check_verify(verify, texts)
    sketch = sketching.sketch_of(sketches)
    if block_limit is not None:
        whole("block_limit", block_limit, 1, 1 << 31)
    shares = finding.partitions_of(sketches, partitions)
    keyed = keys.checked_keys(sketches, shares)
    given = None if texts is None else _texts_of(texts, keyed, id, text)
    return Job(keyed, asked, sketch, shares, block_limit, given, checkpoint, driver_links, held)


def _check_verify(verify: str, texts: Any) -> None:
    """Raise OptionError unless texts are given just if they decide."""
    one_of("verify", verify, VERIFICATIONS)
    if verify == EXACT and not hasattr(texts, "schema"):
        raise OptionError(
            "verify='exact' needs texts=: the DataFrame of which the sketches were made, with ids"
            f" and texts; got {shown(texts)}"
        )
    if verify != EXACT and texts is not None:
        raise OptionError("texts= is only for verify='exact'; give both, or neither")


def _texts_of(texts: Any, keyed: Keyed, id: str, text: str) -> Any:
    """Return key and text of the documents that have a text."""
    frames.column_type(texts, text)
    kind = frames.id_type(texts, id)
    functions = frames.functions()
    column = functions.col(text)
    given = texts.where(column.isNotNull()).select(
        functions.col(id).cast(kind).alias("id"), column.cast("string").alias("text")
    )
    return keys.with_key(given, "id", keyed.is_hashed, keyed.salt).select("key", "text")
