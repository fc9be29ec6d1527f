"""Text pairs: pages of texts beside each other, with the words that differ.

One page has what a run removed, each document beside the one that stays for it; the pairs that are
least alike come first, because they tell whether the threshold is right.  Another has the items of
a test that are in documents, each passage beside its item.  A page is bounded: it shows some
thousands of pairs, and says how many were left out.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simdb.core.arrays import Id
from simdb.core.dtypes import F32, I64
from simdb.core.previews import counted
from simdb.core.text_sketch import TextSketch
from simdb.jobs.report import template
from simdb.jobs.report.excerpts import TEXT_CHARACTERS, beginning, beside, visible
from simdb.jobs.report.facts import TextPiece
from simdb.sketch import as_read

DIGITS = 3  # of a number, such as a similarity
# A page of so many pairs has a few megabytes.
SHOWN_PAIRS = 2000
# The texts of so many pairs are read at a time.
READ_PAIRS = 256

# From positions of pairs to their ids, left and right, or to their texts, None for an unknown one.
Ids = Callable[[I64], tuple[Sequence[Id], Sequence[Id]]]
Texts = Callable[[I64], tuple[Sequence[Any], Sequence[Any]]]


@dataclass(frozen=True, slots=True)
class TextPair:
    """Two texts with their titles, and a number that says how near they are, or NaN.

    A text is None if it is not known.  `note`: what else a page says of them.
    """

    left_title: str
    right_title: str
    left: str | None
    right: str | None
    number: float
    note: str = ""


@dataclass(frozen=True, slots=True)
class Removed:
    """What a page says: the counts of a run, and the `pairs` that are shown.

    A pair has a document that was removed at its left, and what stays for it at its right.
    `rule`: when documents match, in words; empty if that is not known.
    """

    documents: int
    removed: int
    rule: str
    pairs: Sequence[TextPair]


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


def render_removed(facts: Removed) -> str:
    """Return the page as text; OptionError if jinja2 is not installed."""
    return _render("removed.html", facts, facts.pairs, "similarity", ("removed", "stays"))


def render_leaks(facts: Leaks) -> str:
    """Return the page as text; OptionError if jinja2 is not installed."""
    return _render("leaks.html", facts, facts.pairs, "coverage", ("document", "item"))


def nearest_pairs(
    similarities: F32, ids: Ids, texts: Texts, sketch: TextSketch | None
) -> list[TextPair]:
    """Return the pairs that are least alike, with their texts; unknown similarities come last.

    `sketch` says whether the texts are HTML, of which the page shows what a reader sees.
    """
    chosen = np.argsort(similarities, kind="stable")[:SHOWN_PAIRS]
    pairs = []
    for start in range(0, len(chosen), READ_PAIRS):
        some = chosen[start : start + READ_PAIRS]
        sides = (each if sketch is None else as_read(each, sketch) for each in texts(some))
        columns = (*ids(some), *sides, similarities[some].tolist())
        for left, right, left_text, right_text, similarity in zip(*columns, strict=True):
            shown = shown_text(left_text), shown_text(right_text)
            pairs.append(
                TextPair(template.shown_id(left), template.shown_id(right), *shown, similarity)
            )
    return pairs


def leak_pair(leak: Any) -> TextPair:
    """Return the passage of a document and the item that it has, with their ids, for a page.

    `leak`: a `simdb.jobs.decontamination.result.Leak`.
    """
    return TextPair(
        left_title=template.shown_id(leak.id),
        right_title=f"{template.shown_id(leak.item)}, {visible(leak.field)}",
        left=shown_text(leak.text), right=shown_text(leak.item_text), number=leak.coverage,
        note=f"{counted(leak.count, 'document')} with \u201c{leak.rarest}\u201d",
    )  # fmt: skip


def rule_in_words(measure: str | None, least: float | None) -> str:
    """Return when documents match, as the end of a sentence after `if`.

    `measure`: what the texts have decided by, None if sketches have.  `least`: None if unknown.
    """
    if least is None:
        return ""
    if measure is None:
        return f"their estimated similarity is at least {least:g}"
    return f"the exact {measure} similarity of their texts is at least {least:g}"


@dataclass(frozen=True, slots=True)
class ShownPair:
    """A pair of texts as a page shows it: excerpts of both, None for a text that is not known.

    `note`: what else there is to say, and how much differs, in words.
    """

    left_title: str
    right_title: str
    left: tuple[TextPiece, ...] | None
    right: tuple[TextPiece, ...] | None
    number: float
    note: str
    is_differing: bool

    @property
    def number_shown(self) -> str:
        """The number in words."""
        return "unknown" if math.isnan(self.number) else f"{self.number:.{DIGITS}f}"


def _render(
    name: str, facts: object, pairs: Sequence[TextPair], measure: str, words: tuple[str, str]
) -> str:
    """Return a page of pairs by the template `name`; OptionError if jinja2 is not installed.

    `measure` names the number of a pair; `words` say what its left and its right text are.
    """
    left_word, right_word = words
    return template.render(
        name, script="pairs.js" if pairs else "", facts=facts, pairs=list(map(shown_pair, pairs)),
        measure=measure, left_word=left_word, right_word=right_word,
    )  # fmt: skip


def shown_text(text: object) -> str | None:
    """Return as much of a text, or of its UTF-8, as is looked at; None for None."""
    if text is None:
        return None
    # A character has at most four bytes; one more shows that the text goes on.
    if isinstance(text, bytes | bytearray | memoryview):
        text = bytes(text[: 4 * (TEXT_CHARACTERS + 1)]).decode("utf-8", "replace")
    return str(text)[: TEXT_CHARACTERS + 1]


def shown_pair(pair: TextPair) -> ShownPair:
    """Return what a page shows of one pair."""
    left = right = None
    note, is_differing = "", True
    if pair.left is not None and pair.right is not None:
        left, right, note = beside(pair.left, pair.right)
        is_differing = any(each.kind in ("removed", "added") for each in (*left, *right))
    elif pair.left is not None:
        left = beginning(pair.left)
    elif pair.right is not None:
        right = beginning(pair.right)
    titles, notes = (pair.left_title, pair.right_title), (visible(pair.note), note)
    return ShownPair(
        *titles, left, right, pair.number, "; ".join(filter(None, notes)), is_differing
    )
