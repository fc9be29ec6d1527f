"""Stored texts: the texts of stored documents, from the sources of --texts.

A database keeps no texts, so a command that decides by them, or shows some, reads them where they
came from.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from simdb.cli.duplicates.texts import Beginnings, Shown, TextsById
from simdb.cli.options import arguments
from simdb.cli.options.option_groups import ReadingOptions
from simdb.cli.output.progress import Progress
from simdb.engine.search.judge import ESTIMATE, EXACT, VERIFICATIONS
from simdb.ground.checks import one_of
from simdb.ground.errors import OptionError
from simdb.outputs.rows import Row
from simdb.outputs.spool import TextSpool
from simdb.settings.text_sketch import TextSketch
from simdb.sources.reading import check_sources, read_sources
from simdb.values.arrays import Id


def check_shown(
    show: int | None,
    texts: list[str] | None,
    verify: str | None,
    output: str | None,
    inputs: ReadingOptions,
) -> None:
    """Raise OptionError for --show, or texts that decide, without --texts, or --show to a file."""
    if verify is not None:
        one_of("--verify", verify, VERIFICATIONS)
    decides = verify not in (None, ESTIMATE)
    for given, name in ((show is not None, "--show N"), (decides, f"--verify {verify}")):
        if given and texts is None:
            raise OptionError(
                f"{name} needs --texts SOURCE: a database has no texts, so they are read from their"
                " source"
            )
    if show is not None and output is not None:
        raise OptionError(
            "--show does not apply to --output, whose rows have no texts; leave out one of the two"
        )
    check_sources(texts or [], inputs.text_field)


class StoredTexts:
    """The texts that --texts names; None for a document that is not there."""

    def __init__(self, texts: TextsById | None, nothing: TextSpool) -> None:
        """Take the texts, None if none were named; `nothing` is an empty spool."""
        self._texts, self._nothing = texts, nothing

    @property
    def texts(self) -> Callable[[Sequence[Id]], Sequence[Any]] | None:
        """The function from ids to texts; None if no texts were named."""
        return None if self._texts is None else self._texts.texts

    def deciding(
        self, verify: str | None, similarity: float | None, distance: int | None
    ) -> dict[str, Any]:
        """Return the arguments of a verb that let the texts decide, unless they are only shown."""
        by_distance = distance is not None and similarity is None
        if self._texts is None or verify == ESTIMATE or (by_distance and verify is None):
            return {}
        return {"verify": EXACT if verify is None else verify, "texts": self._texts.texts}

    def shown(self, rows: Iterable[Row], show: int | None) -> Iterable[Row]:
        """Return rows with `show` characters of the texts beside their ids; None for none."""
        if show is None:
            return rows
        beginnings = Beginnings(show, TextsById(self._nothing))
        beginnings.earlier = self._texts
        return Shown(rows, beginnings, show)


@contextmanager
def stored_texts(
    texts: list[str] | None, inputs: ReadingOptions, sketch: TextSketch
) -> Iterator[StoredTexts]:
    """Read the texts of the sources, if there are any, and yield them."""
    with TextSpool() as nothing, TextSpool() as spool:
        if texts is None:
            yield StoredTexts(None, nothing)
            return
        reading = arguments.make_reading(
            inputs.encoding, inputs.errors, inputs.id_field, inputs.text_field,
            has_int_ids=inputs.int_ids,
        )  # fmt: skip
        stored = TextsById(spool)
        with Progress("reading") as progress:
            stored.read(read_sources(texts, reading), sketch, progress)
            progress.finish()
        yield StoredTexts(stored, nothing)
