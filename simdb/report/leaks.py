"""Leaks: a page with the items of a test that are in documents, each passage beside its item.

The leaks of which documents have the least come first, because they tell whether the rule is right.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from simdb.previews import counted
from simdb.report import template
from simdb.report.beside import TextPair, all_beside, shown_text
from simdb.report.excerpts import visible

# A page of so many leaks has a few megabytes.
SHOWN_LEAKS = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """What a page shows of one leak: the passage of a document, and the item.

    `count`: how many documents have the rarest run of words, `rarest`, that both share.
    """

    id: Any
    item: Any
    field: str
    text: str
    item_text: str
    coverage: float
    rarest: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaks:
    """What a page says: the counts of a search, and the passages that are shown."""

    items: int
    leaked: int
    documents: int
    with_item: int
    leaks: int
    passages: tuple[Passage, ...]


def least_covered(passages: Iterable[Passage]) -> tuple[Passage, ...]:
    """Return the passages that a page shows, those with the least coverage first."""
    return tuple(sorted(passages, key=lambda each: each.coverage)[:SHOWN_LEAKS])


def render(facts: Leaks) -> str:
    """Return the page as text; OptionError if jinja2 is not installed."""
    pairs = all_beside(map(_pair, facts.passages))
    script = "pairs.js" if pairs else ""
    return template.render("leaks.html", script=script, facts=facts, pairs=pairs)


def _pair(passage: Passage) -> TextPair:
    return TextPair(
        left_title=template.shown_id(passage.id),
        right_title=f"{template.shown_id(passage.item)}, {visible(passage.field)}",
        left=shown_text(passage.text),
        right=shown_text(passage.item_text),
        number=passage.coverage,
        note=f"{counted(passage.count, 'document')} with \u201c{passage.rarest}\u201d",
    )
