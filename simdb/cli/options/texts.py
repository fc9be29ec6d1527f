"""Texts: finds texts by the ids of their documents, and shows them in result rows.

The rule of --keep, which chooses the document of a group to keep, is checked here, too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from itertools import islice
from typing import Any, TypeAlias

import simdb
from simdb import core, files
from simdb.cli.options.intake import Intake
from simdb.cli.options.option_groups import ReadingOptions
from simdb.cli.output.progress import Progress
from simdb.cli.output.render import ELLIPSIS
from simdb.core.errors import OptionError

# Takes ids and returns their texts, None for an unknown id.
TextsOfIds: TypeAlias = "Callable[[Sequence[core.arrays.Id]], Sequence[Any]]"
# Rows whose texts are fetched at a time.
PORTION_ROWS = 512


@contextmanager
def stored_texts(
    sources: list[str] | None, inputs: ReadingOptions, sketch: simdb.TextSketch
) -> Iterator[TextsOfIds | None]:
    """Read the texts of --texts; yield a function that finds them by id, None without them."""
    with texts_by_id(sources) as texts:
        if texts is not None and sources is not None:
            files.check_sources(sources, inputs.reading())
            with Progress("reading") as progress:
                read_into(texts, sources, inputs.reading(), sketch, progress)
        yield None if texts is None else texts.texts


def own_texts(database: simdb.Database[Any] | simdb.ShardedDatabase[Any]) -> TextsOfIds | None:
    """Return the function that reads texts of a database by ids; None if it stores no texts."""
    return database.texts_many if database.options.texts else None


def texts_by_id(sources: object) -> AbstractContextManager[files.TextsById | None]:
    """Return a context with an empty collection for the texts of sources; None without sources."""
    return nullcontext() if sources is None else files.TextsById()


def read_into(
    texts: files.TextsById,
    sources: Collection[str],
    reading: files.SourceOptions,
    sketch: simdb.TextSketch,
    progress: Progress,
) -> None:
    """Add all documents of some sources to a collection."""
    for batch in Intake(files.read_sources(sources, reading), progress).batches(sketch):
        texts.add(batch.ids, batch.texts)


class Beginnings(ExitStack):
    """The beginnings of all texts read; `earlier` finds the texts of earlier documents.

    `with` removes their spool.
    """

    def __init__(self, characters: int) -> None:
        """Keep the first `characters` characters of each text."""
        super().__init__()
        self._characters = characters
        self._texts = self.enter_context(files.TextsById())
        self.earlier: TextsOfIds | None = None

    def add(self, ids: Sequence[Any], texts: Sequence[str] | core.arrow.TextColumn) -> None:
        """Add documents."""
        self._texts.add(ids, [beginning(str(text), self._characters) for text in texts])

    def of(self, ids: Sequence[core.arrays.Id]) -> list[str | None]:
        """Return the beginning of the text of each id, None for an unknown one."""
        found = list(map(_decoded, self._texts.texts(ids)))
        missing = [at for at, text in enumerate(found) if text is None]
        if self.earlier is not None and missing:
            texts = self.earlier([ids[at] for at in missing])
            for at, text in zip(missing, texts, strict=True):
                found[at] = text_beginning(text, self._characters)
        return found


class Shown:
    """Result rows with the beginnings of texts; they can be read again if the rows can."""

    def __init__(
        self,
        rows: Iterable[files.Row],
        texts: Callable[[Sequence[core.arrays.Id]], Sequence[Any]],
        characters: int,
    ) -> None:
        """Add `characters` of the `texts` of ids to the `rows` whenever these are read."""
        self._rows = rows
        self._texts = texts
        self._characters = characters

    def __iter__(self) -> Iterator[files.Row]:
        """Yield the rows with the `text` of each id and the `match_text` of each match.

        A pair gets `left_text` and `right_text`, a cluster the `texts` of its ids.
        """
        source = iter(self._rows)
        while portion := list(islice(source, PORTION_ROWS)):
            ids = [id for row in portion for id in _ids_of(row)]
            found = self._texts(ids)
            texts = (text_beginning(text, self._characters) for text in found)
            yield from (_with_texts(row, texts) for row in portion)


def beginnings_of(characters: int | None) -> AbstractContextManager[Beginnings | None]:
    """Return a context with an empty collection of beginnings; None without `characters`."""
    return nullcontext() if characters is None else Beginnings(characters)


def beginning(text: str, characters: int) -> str:
    """Return the beginning of a text on one line, with an ellipsis if it was cut."""
    looked_at = text[: 4 * characters]
    shown = " ".join(looked_at.split())
    if len(shown) <= characters and len(looked_at) == len(text):
        return shown
    return shown[:characters].rstrip() + ELLIPSIS


def text_beginning(text: Any, characters: int) -> str | None:
    """Return the beginning of a text, or of its UTF-8; None for None."""
    decoded = _decoded(text)
    return None if decoded is None else beginning(decoded, characters)


def _ids_of(row: files.Row) -> list[core.arrays.Id]:
    """Return the ids in a row, in the order in which `_with_texts` takes their texts."""
    if "ids" in row:
        return list(row["ids"])
    return [row["left"], row["right"]] if "left" in row else [row["id"], row["match"]]


def _with_texts(row: files.Row, texts: Iterator[str | None]) -> files.Row:
    if "ids" in row:
        return {**row, "texts": [next(texts) for _ in row["ids"]]}
    if "left" in row:
        return {**row, "left_text": next(texts), "right_text": next(texts)}
    return {**row, "text": next(texts), "match_text": next(texts)}


def _decoded(text: Any) -> str | None:
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else text


def check_keep(keep: str) -> None:
    """Raise OptionError unless --keep has a rule; for the name of a file, it points to -o."""
    if files.names_output(keep) and not keep.startswith(("max:", "min:")):
        raise OptionError(
            f"--keep {keep} names a file, but it takes the rule that chooses which document of"
            f" a group to keep, such as longest; -o {keep} writes the documents to keep"
        )
    core.keeping.parse(keep, "--keep")
