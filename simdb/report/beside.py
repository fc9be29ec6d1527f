"""Texts beside each other: pairs of texts for a page, with the words that differ.

A page about anything that comes in pairs of texts gives plain texts and titles, and shows what this
module makes of them by the macros of `parts.html`.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from simdb.report import template
from simdb.report.excerpts import TEXT_CHARACTERS, beginning, beside, visible
from simdb.report.facts import TextPiece

DIGITS = 3  # of a number, such as a similarity


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


def render_pairs(
    name: str, facts: object, pairs: Sequence[TextPair], measure: str, words: tuple[str, str]
) -> str:
    """Return a page of pairs by the template `name`; OptionError if jinja2 is not installed.

    `measure` names the number of a pair; `words` say what its left and its right text are.
    """
    left_word, right_word = words
    return template.render(
        name, script="pairs.js" if pairs else "", facts=facts, pairs=all_beside(pairs),
        measure=measure, left_word=left_word, right_word=right_word,
    )  # fmt: skip


def all_beside(pairs: Iterable[TextPair]) -> list[ShownPair]:
    """Return what a page shows of some pairs, in their order."""
    return [_beside(pair) for pair in pairs]


def shown_text(text: object) -> str | None:
    """Return as much of a text, or of its UTF-8, as is looked at; None for None."""
    if text is None:
        return None
    # A character has at most four bytes; one more shows that the text goes on.
    if isinstance(text, bytes | bytearray | memoryview):
        text = bytes(text[: 4 * (TEXT_CHARACTERS + 1)]).decode("utf-8", "replace")
    return str(text)[: TEXT_CHARACTERS + 1]


def _beside(pair: TextPair) -> ShownPair:
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
