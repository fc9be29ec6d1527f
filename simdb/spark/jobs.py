"""Jobs: what every search does first: it checks what is asked, and gives documents their keys."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from simdb.checks import one_of, shown, whole
from simdb.choices import VerifyName
from simdb.engine.search.judge import EXACT, VERIFICATIONS
from simdb.errors import OptionError
from simdb.minhash import Minhash
from simdb.options import Simhash
from simdb.spark import frames, keys, sketching
from simdb.spark.held import Held
from simdb.spark.keys import Keyed

# So many links are joined by the driver: 16 bytes each, and some ten times as much while it does.
DRIVER_LINKS = 20_000_000
# Partitions of a shuffle for each processor, so that a slow task delays little.
PARTITIONS_OF_CORE = 3


@dataclass(frozen=True, slots=True)
class Settings:
    """What matches, and how to search for it, as `pairs`, `clusters`, `drop_duplicates` are told.

    What matches is asked for as by `simdb.distributed.plan_pairs`.
    """

    similarity: float | None
    distance: int | None
    recall: float | None
    checkpoint: str | None
    partitions: int | None
    block_limit: int | None
    driver_links: int

    def check(self) -> None:
        """Raise OptionError for what no plan would notice."""
        if self.distance is None and self.similarity is None:
            raise OptionError("say what matches: give similarity= or distance=")
        if self.block_limit is not None:
            whole("block_limit", self.block_limit, 1, 1 << 31)


class Job(NamedTuple):
    """The documents of a search, how it is cut up, and what it holds until its result is made.

    `texts`: key and text of the documents, if they decide what matches; otherwise None.
    `partitions`: the partitions of a shuffle.
    """

    keyed: Keyed
    settings: Settings
    sketch: Simhash | Minhash
    partitions: int
    texts: Any
    held: Held


def job_of(sketches: Any, settings: Settings, texts: Any, held: Held) -> Job:
    """Return the job of a search; `texts`: id and text if they decide, as `texts_of` returns."""
    settings.check()
    sketch = sketching.sketch_of(sketches)
    shares = partitions_of(sketches, settings.partitions)
    keyed = keys.checked_keys(sketches, shares)
    if texts is not None:
        named = keys.with_key(texts, "id", keyed.is_hashed, keyed.salt)
        texts = named.where(named["text"].isNotNull()).select("key", "text")
    return Job(keyed, settings, sketch, shares, texts, held)


def partitions_of(df: Any, partitions: int | None) -> int:
    """Return the number of partitions of a shuffle."""
    if partitions is not None:
        whole("partitions", partitions, 1, 1 << 20)
        return partitions
    return max(PARTITIONS_OF_CORE * int(df.sparkSession.sparkContext.defaultParallelism), 1)


def texts_of(sketches: Any, texts: Any, id: str, text: str) -> Any:
    """Return the texts at hand as a DataFrame of id and text, None if there are none.

    `texts`: a DataFrame with the columns `id` and `text`, or the name of a column of `sketches`.
    """
    if isinstance(texts, str):
        texts, id, text = sketches, "id", texts
    elif texts is None:
        return None
    elif not hasattr(texts, "schema"):
        raise OptionError(
            "texts= must be the DataFrame of which the sketches were made, with ids and texts, or"
            f" the name of a column of the sketches; got {shown(texts)}"
        )
    frames.column_type(texts, text)
    kind, column = frames.id_type(texts, id), frames.functions().col
    return texts.select(
        column(id).cast(kind).alias("id"), column(text).cast("string").alias("text")
    )


def deciding(texts: Any, verify: VerifyName | None, settings: Settings) -> Any:
    """Return the texts if they decide what matches, None if sketches do.

    Without `verify`, texts that are at hand decide, but not about a distance alone.
    """
    if verify is None:
        return None if settings.similarity is None else texts
    one_of("verify", verify, VERIFICATIONS)
    if verify == EXACT and texts is None:
        raise OptionError(
            "verify='exact' needs texts=: the DataFrame of which the sketches were made, with ids"
            " and texts, or the name of a column of the sketches"
        )
    return texts if verify == EXACT else None
