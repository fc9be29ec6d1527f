"""Leaks: a page with the items of a test that are in documents, each passage beside its item."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from simdb.ground.previews import counted
from simdb.report.beside import TextPair, render_pairs, shown_text
from simdb.report.excerpts import visible
from simdb.report.template import shown_id

# A page of so many leaks has a few megabytes.
SHOWN_LEAKS = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaks:
    """What a page says: the counts of a search, and the `pairs` that are shown.

    A pair has the passage of a document at its left, and the item at its right.
    """

    items: int
    leaked: int
    documents: int
    with_item: int
    leaks: int
    pairs: Sequence[TextPair]


def pair_of(
    ids: tuple[Any, Any],
    field: str,
    texts: tuple[str, str],
    coverage: float,
    rarest: str,
    count: int,
) -> TextPair:
    """Return the passage of a document and the item that it has, with their ids, for a page.

    `field`: of the item; `rarest`: the run of both that the fewest documents have, and how many do.
    """
    return TextPair(
        left_title=shown_id(ids[0]), right_title=f"{shown_id(ids[1])}, {visible(field)}",
        left=shown_text(texts[0]), right=shown_text(texts[1]), number=coverage,
        note=f"{counted(count, 'document')} with \u201c{rarest}\u201d",
    )  # fmt: skip


def render(facts: Leaks) -> str:
    """Return the page as text; OptionError if jinja2 is not installed."""
    return render_pairs("leaks.html", facts, facts.pairs, "coverage", ("document", "item"))
