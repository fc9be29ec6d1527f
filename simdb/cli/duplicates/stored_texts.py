"""Stored texts: the beginnings of the texts of stored documents, from the sources of --texts.

A database keeps no texts, so a command that shows some reads them where they came from.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from simdb.cli.duplicates.beginnings import Beginnings, Shown
from simdb.cli.duplicates.texts_by_id import TextsById
from simdb.cli.options import arguments
from simdb.cli.options.reading_options import ReadingOptions
from simdb.cli.output.progress import Progress
from simdb.errors import OptionError
from simdb.outputs.rows import Row
from simdb.outputs.text_spool import TextSpool
from simdb.sources.reading import check_sources, read_sources
from simdb.text_sketch import TextSketch


def check_shown(
    show: int | None, texts: list[str] | None, output: str | None, inputs: ReadingOptions
) -> None:
    """Raise OptionError unless --show and --texts are given together, and not with --output."""
    if (show is None) != (texts is None):
        raise OptionError(
            "--show N and --texts SOURCE belong together: a database has no texts, so they are"
            " read from their source; give both, or neither"
        )
    if show is not None and output is not None:
        raise OptionError(
            "--show does not apply to --output, whose rows have no texts; leave out one of the two"
        )
    check_sources(texts or [], inputs.text_field)


@contextmanager
def with_texts(
    rows: Iterable[Row],
    show: int | None,
    texts: list[str] | None,
    inputs: ReadingOptions,
    sketch: TextSketch,
) -> Iterator[Iterable[Row]]:
    """Yield the rows with the beginnings of texts beside their ids; as they are without --show."""
    if show is None or texts is None:
        yield rows
        return
    reading = arguments.make_reading(
        inputs.encoding, inputs.errors, inputs.id_field, inputs.text_field,
        has_int_ids=inputs.int_ids,
    )  # fmt: skip
    with TextSpool() as nothing, TextSpool() as spool:
        stored = TextsById(spool)
        with Progress("reading") as progress:
            stored.read(read_sources(texts, reading), sketch, progress)
            progress.finish()
        beginnings = Beginnings(show, TextsById(nothing))
        beginnings.earlier = stored
        yield Shown(rows, beginnings)
