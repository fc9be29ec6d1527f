"""Leaks: the items that stand in documents, with the evidence for people."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from simdb.decontamination.items import Items
from simdb.decontamination.judge import Found
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
    """An item that stands in a document.

    `item`: its id; `field`: which field of it; `document`: the id of the document.  `coverage`:
    how much of the item the document has: the share of those of its words that are in no common
    n-gram.  `hits`: the n-grams that both have and that are not common.  `spans`: the passages, by
    their places in the item.  `rarest`: the shared n-gram that is in the fewest documents of the
    data, as the item spells it, and `rarest_count`: in how many.  `text`, `item_text`: the
    document from its first passage to its last, and the whole item.
    """

    item: Any
    field: str
    document: Any
    coverage: float
    hits: int
    spans: tuple[Span, ...]
    rarest: str
    rarest_count: int
    text: str
    item_text: str

    @property
    def row(self) -> dict[str, Any]:
        """The leak as a row of a table; of its spans the first start and the last stop."""
        return {
            "item": self.item,
            "field": self.field,
            "document": self.document,
            "coverage": round(self.coverage, 4),
            "hits": self.hits,
            "start": min(span.start for span in self.spans),
            "stop": max(span.stop for span in self.spans),
            "item_start": min(span.item_start for span in self.spans),
            "item_stop": max(span.item_stop for span in self.spans),
            "rarest": self.rarest,
            "rarest_count": self.rarest_count,
            "text": self.text,
        }


COLUMNS = (
    "item", "field", "document", "coverage", "hits", "start", "stop", "item_start", "item_stop",
    "rarest", "rarest_count", "text",
)  # fmt: skip


def leaks_of(
    found: Iterable[Found], text: str | bytes, items: Items, order: WordOrder
) -> list[Leak]:
    """Return what was found in one document as leaks; `document` is its position still.

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
                    item=part.item, field=part.field, document=each.document,
                    coverage=each.coverage, hits=each.hits, spans=spans,
                    rarest=own[rarest[0][0] : rarest[-1][1]], rarest_count=each.rarest_count,
                    text=whole[first:last], item_text=own,
                )
            )  # fmt: skip
    return leaks


def without(text: str, leaks: Iterable[Leak]) -> str:
    """Return a text without the passages of its leaks."""
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
