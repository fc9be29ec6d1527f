"""Result: the result of `simdb.decontaminate`: the leaks, and the kept documents."""

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from simdb.core.arrow import id_array, load_arrow
from simdb.core.dtypes import I64
from simdb.core.foreign import hinting
from simdb.core.previews import counted
from simdb.core.skipped import Skipped
from simdb.core.values import dataclass, field
from simdb.files import Target, check_staying, output_format, write_rows, written
from simdb.jobs import report
from simdb.jobs.decontamination.items import Items
from simdb.jobs.decontamination.judge import FoundItem, Passage
from simdb.jobs.deduplication.result import Given_co, OfData, Survivors, data_property
from simdb.sketch import WordOrder


class Span(NamedTuple):
    """A passage that a document and an item share, as half-open ranges of their characters."""

    start: int
    stop: int
    item_start: int
    item_stop: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Leak:
    """An item that is in a document.

    Attributes
    ----------
    id : str, bytes or int
        The id of the document.
    item : str, bytes or int
        The id of the item.
    field : str
        The field of the item.
    coverage : float
        The share of the item's words that the passages have; words that are only in common n-grams
        do not count.
    hits : int
        Number of the item's n-grams in the passages that are not common.
    spans : tuple of Span
        The passages, by their positions in the document.
    changed : tuple of pairs of str
        The differing words inside the passages, in the document and in the item; "" for no word.
    rarest : str
        The shared n-gram that is in the fewest documents of the data, in the item's spelling.
    count : int
        Number of documents that have `rarest`.
    text : str
        The text of the document from the first passage to the last.
    item_text : str
        The whole text of the item.
    """

    id: Any
    item: Any
    field: str
    coverage: float
    hits: int
    spans: tuple[Span, ...]
    changed: tuple[tuple[str, str], ...]
    rarest: str
    count: int
    text: str
    item_text: str

    @property
    def span(self) -> tuple[int, int]:
        """The range from the first passage to the last in the document, in characters."""
        return min(span.start for span in self.spans), max(span.stop for span in self.spans)

    @property
    def item_span(self) -> tuple[int, int]:
        """The range from the first passage to the last in the item, in characters."""
        firsts, stops = zip(
            *((span.item_start, span.item_stop) for span in self.spans), strict=True
        )
        return min(firsts), max(stops)

    @property
    def row(self) -> dict[str, Any]:
        """The leak as a row of a table, with the columns `COLUMNS`."""
        values = (
            self.id, self.item, self.field, round(self.coverage, 4), self.hits, list(self.span),
            list(self.item_span), list(map(list, self.changed)), self.rarest, self.count, self.text,
        )  # fmt: skip
        return dict(zip(COLUMNS, values, strict=True))


COLUMNS = (
    "id", "item", "field", "coverage", "hits", "span", "item_span", "changed", "rarest", "count",
    "text",
)  # fmt: skip


# The position of a document, and a leak that lacks its id.
FoundLeak = tuple[int, partial[Leak]]


def leak_table(leaks: Sequence[Leak]) -> Any:
    """Return leaks as a pyarrow.Table; ids of several types in one column become text."""
    arrow = load_arrow("a table of leaks")
    span = arrow.list_(arrow.int64(), 2)
    changed = arrow.list_(arrow.list_(arrow.string(), 2))
    kinds = {
        "field": arrow.string(), "coverage": arrow.float32(), "hits": arrow.int64(), "span": span,
        "item_span": span, "changed": changed, "rarest": arrow.string(), "count": arrow.int64(),
        "text": arrow.string(),
    }  # fmt: skip
    rows = [leak.row for leak in leaks]
    columns = {
        name: id_array([row[name] for row in rows])
        if name not in kinds
        else arrow.array([row[name] for row in rows], kinds[name])
        for name in COLUMNS
    }
    return arrow.table(columns)


def leaks_of(
    found: Sequence[FoundItem], texts: Mapping[int, str], items: Items, order: WordOrder
) -> list[FoundLeak]:
    """Return the leaks of found items, each with the position of its document.

    `texts`: the documents by position.  Each part with the words of a found item is a leak.
    """
    all_places = {document: order.places(text) for document, text in texts.items()}
    leaks = []
    for each in found:
        text, places = texts[each.document], all_places[each.document]
        for part in items.parts[each.sequence]:
            own, own_places = part.text, order.places(part.text)
            spans = tuple(_span(passage, places, own_places) for passage in each.passages)
            changed = tuple(
                (_between(text, places, *at), _between(own, own_places, *at_own))
                for passage in each.passages
                for at, at_own in passage.gaps
            )
            rarest = _between(own, own_places, each.rarest, each.rarest + items.n)
            first, last = min(span.start for span in spans), max(span.stop for span in spans)
            leak = partial(
                Leak, item=part.item, field=part.field, coverage=each.coverage, hits=each.hits,
                spans=spans, changed=changed, rarest=rarest, count=each.rarest_count,
                text=text[first:last], item_text=own,
            )  # fmt: skip
            leaks.append((each.document, leak))
    return leaks


def without(text: str, leaks: Iterable[Leak]) -> str:
    """Return a text without the passages of its leaks."""
    kept, at = [], 0
    for span in sorted({span for leak in leaks for span in leak.spans}):
        kept.append(text[at : span.start])
        at = max(at, span.stop)
    return "".join([*kept, text[at:]])


def marks(leaks: Iterable[Leak]) -> list[dict[str, Any]]:
    """Return the marks of a document: for each leak its item, coverage and passages."""
    return [
        {
            "item": leak.item,
            "field": leak.field,
            "coverage": round(leak.coverage, 4),
            "spans": [[span.start, span.stop] for span in leak.spans],
        }
        for leak in leaks
    ]


def _between(text: str, places: I64, start: int, stop: int) -> str:
    """Return the text from the word `start` to the word before `stop`."""
    return text[places.item(start, 0) : places.item(stop - 1, 1)] if stop > start else ""


def _span(passage: Passage, places: I64, own: I64) -> Span:
    """Return a passage in characters."""
    return Span(
        places.item(passage.document_start, 0), places.item(passage.document_stop - 1, 1),
        own.item(passage.item_start, 0), own.item(passage.item_stop - 1, 1),
    )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Decontaminated(OfData[Given_co]):
    """The kept documents of some data, and the items that were found in the data.

    `data` has the documents, `leaks` and `skipped` are tables, and `report` writes a page.  For
    type checkers, `Decontaminated[list[str]]` is the result for a list of str.

    Attributes
    ----------
    survivors : object
        The source of `data`.
    kept : ndarray
        Whether each document was kept: bool[n].
    found : sequence of Leak
        A `Leak` for each item in each document, sorted by document.
    items : int
        Number of items in the reference.
    leaked : sequence of ids
        The ids of the items found, in the order of the reference.
    short : int
        Number of items, or fields of items, that were not looked for because they have fewer words
        than 5 or `ngram`.
    common : int
        Number of items, or fields of items, that were not looked for because too many items have
        all their n-grams.
    words : int
        Number of words in the data.
    left_out : Skipped
        The documents omitted by on_error="skip"; see `Deduplicated`.
    """

    survivors: Survivors
    kept: npt.NDArray[np.bool_]
    found: Sequence[Leak]
    items: int
    leaked: Sequence[Any]
    short: int
    common: int
    words: int
    left_out: Skipped = field(default_factory=Skipped)

    if not TYPE_CHECKING:
        __getattr__ = hinting("Decontaminated")

    @property
    def leaks(self) -> Any:
        """The items found, as a pyarrow.Table with a row for each item in each document.

        The columns are attributes of `Leak`: `id`, `item`, `field`, `coverage` float32, `hits`
        int64, `span` and `item_span` int64[2], `changed`, `rarest`, `count` int64 and `text`.
        """
        return leak_table(self.found)

    @property
    def skipped(self) -> Any:
        """The rows that on_error="skip" omitted, as a pyarrow.Table: row, id, reason."""
        return self.left_out.table()

    @data_property
    def data(self) -> Any:
        """The kept documents, in the form of the given data; see `Deduplicated.data`."""
        return self.survivors.data

    def write(self, path: "str | os.PathLike[str]", *, in_place: bool = False) -> None:
        """Write the kept documents to a file; see `Deduplicated.write`.

        Parameters
        ----------
        path : str or path
            The file.
        in_place : bool, default False
            Allow `path` to be a file of the data.
        """
        self.survivors.write(os.fspath(path), in_place=in_place)

    def write_leaks(self, path: "str | os.PathLike[str]") -> None:
        """Write the rows of `leaks` to a file.

        Parameters
        ----------
        path : str or path
            A file that ends in .jsonl, .csv, .tsv or .parquet.  All except .parquet can also end in
            .gz or .zst.
        """
        name = os.fspath(path)
        check_staying([name], self.survivors.staying, has_folders=True)
        with written(name, output_format(name, "path")) as target:
            self.fill_leaks(target)

    def fill_leaks(self, target: Target) -> None:
        """Write the rows of `leaks` to an output.

        Parameters
        ----------
        target : Target
            The output.
        """
        write_rows(lambda: (leak.row for leak in self.found), target, COLUMNS)
        target.finish()

    def report(self, path: "str | os.PathLike[str]") -> None:
        """Write a page with each leak: the passage of the document next to the item.

        The page is one HTML file that loads nothing else.  It begins with the leaks of the lowest
        coverage, shows at most 2,000, and says how many it omits.

        Parameters
        ----------
        path : str or path
            The HTML file.

        Raises
        ------
        OptionError
            If jinja2 is not installed, or the file cannot be written.
        """
        place = os.fspath(path)
        check_staying([place], self.survivors.staying, has_folders=True)
        report.page.check_page(place)
        report.page.write_page(self.page(), place)

    def page(self) -> str:
        """Return the page of `report`.

        Returns
        -------
        str
            The page, as HTML.
        """
        return report.page.render_leaks(
            self.found, items=self.items, leaked=len(self.leaked), documents=len(self.kept),
            with_item=self.documents,
        )  # fmt: skip

    @property
    def documents(self) -> int:
        """The number of documents that have an item."""
        return len({leak.id for leak in self.found})

    def __len__(self) -> int:
        """Count the kept documents."""
        return int(np.count_nonzero(self.kept))

    def __repr__(self) -> str:
        """Return the counts in two lines."""
        found, documents = counted(self.items, "item"), counted(self.documents, "document")
        skipped = f"; {len(self.left_out):,} documents skipped" if len(self.left_out) else ""
        return (
            f"<simdb.Decontaminated: {len(self.leaked):,} of {found} found in {documents}\n"
            f" {len(self):,} of {len(self.kept):,} documents kept; {self.short:,} too short and"
            f" {self.common:,} like many others not looked for{skipped}>"
        )
