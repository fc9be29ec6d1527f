"""Leaks: the items that stand in documents, with the evidence for people."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from simdb.columns.arrow import id_array, load_arrow
from simdb.decontamination.items import Items
from simdb.decontamination.judge import FoundItem
from simdb.sketch.encoding import decoded
from simdb.sketch.word_order import WordOrder


class Span(NamedTuple):
    """A passage that a document and an item share, in characters of both: stops are not in it."""

    start: int
    stop: int
    item_start: int
    item_stop: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Leak:
    """An item that is in a document.

    `id`: of the document; `item`: of the item, and `field`: which field of it.  `coverage`: the
    share of the item's words in no common n-gram that the passages have.  `hits`: the n-grams of
    the item in the passages that are not common.  `spans`: the passages, by their places in the
    item.  `rarest`: the shared n-gram that is in the fewest documents of the data, as the item
    spells it, and `count`: in how many.  `text`: the document from its first passage to its last;
    `item_text`: the whole item.
    """

    id: Any
    item: Any
    field: str
    coverage: float
    hits: int
    spans: tuple[Span, ...]
    rarest: str
    count: int
    text: str
    item_text: str

    @property
    def span(self) -> tuple[int, int]:
        """Where the first passage begins in the document and the last one ends, in characters."""
        return min(span.start for span in self.spans), max(span.stop for span in self.spans)

    @property
    def item_span(self) -> tuple[int, int]:
        """Where the first passage begins in the item and the last one ends, in characters."""
        firsts, stops = zip(
            *((span.item_start, span.item_stop) for span in self.spans), strict=True
        )
        return min(firsts), max(stops)

    @property
    def row(self) -> dict[str, Any]:
        """The leak as a row of a table, with the columns `COLUMNS`."""
        values = (
            self.id, self.item, self.field, round(self.coverage, 4), self.hits, list(self.span),
            list(self.item_span), self.rarest, self.count, self.text,
        )  # fmt: skip
        return dict(zip(COLUMNS, values, strict=True))


COLUMNS = (
    "id", "item", "field", "coverage", "hits", "span", "item_span", "rarest", "count", "text",
)  # fmt: skip


def leak_table(leaks: Sequence[Leak]) -> Any:
    """Return leaks as a pyarrow.Table; ids of several types in one column become text."""
    arrow = load_arrow("a table of leaks")
    span = arrow.list_(arrow.int64(), 2)
    kinds = {
        "field": arrow.string(), "coverage": arrow.float32(), "hits": arrow.int64(), "span": span,
        "item_span": span, "rarest": arrow.string(), "count": arrow.int64(), "text": arrow.string(),
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
    found: Iterable[FoundItem], text: str | bytes, items: Items, order: WordOrder
) -> list[Leak]:
    """Return what was found in one document as leaks, whose `id` is its position still.

    Each part that has the words of what was found is a leak of its own.
    """
    whole = decoded(text, "utf-8", position=0, replace=True)
    places = order.places(whole).tolist()
    leaks = []
    for each in found:
        for part in items.parts[each.sequence]:
            own = decoded(part.text, "utf-8", position=0, replace=True)
            own_places = order.places(own).tolist()
            spans = tuple(_span(passage, places, own_places) for passage in each.passages)
            rarest = own_places[each.rarest : each.rarest + items.n]
            first, last = min(span.start for span in spans), max(span.stop for span in spans)
            leaks.append(
                Leak(
                    id=each.document, item=part.item, field=part.field,
                    coverage=each.coverage, hits=each.hits, spans=spans,
                    rarest=own[rarest[0][0] : rarest[-1][1]], count=each.rarest_count,
                    text=whole[first:last], item_text=own,
                )
            )  # fmt: skip
    return leaks


def without(text: str | bytes, leaks: Iterable[Leak]) -> str:
    """Return a text without the passages of its leaks."""
    text = decoded(text, "utf-8", position=0, replace=True)
    kept, at = [], 0
    for span in sorted({span for leak in leaks for span in leak.spans}):
        kept.append(text[at : span.start])
        at = max(at, span.stop)
    return "".join([*kept, text[at:]])


def marks(leaks: Iterable[Leak]) -> list[dict[str, Any]]:
    """Return what a document is marked with: the item, how much of it, and where it stands."""
    return [
        {
            "item": leak.item,
            "field": leak.field,
            "coverage": round(leak.coverage, 4),
            "spans": [[span.start, span.stop] for span in leak.spans],
        }
        for leak in leaks
    ]


def _span(passage: Any, places: Sequence[list[int]], own: Sequence[list[int]]) -> Span:
    """Return a passage in characters."""
    return Span(
        places[passage.document_start][0],
        places[passage.document_stop - 1][1],
        own[passage.item_start][0],
        own[passage.item_stop - 1][1],
    )
