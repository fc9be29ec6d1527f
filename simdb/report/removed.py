"""Removed: a page with what a run has removed, each document beside the one that stays for it.

The pairs that are least alike come first, because they tell whether the threshold is right.  The
page is bounded: it shows some thousands of pairs, and says how many were left out.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.report import template
from simdb.report.beside import TextPair, render_pairs, shown_text
from simdb.settings.text_sketch import TextSketch
from simdb.sketch.markup import as_read
from simdb.values.arrays import Id

# A page of so many pairs has a few megabytes.
SHOWN_PAIRS = 2000
# The texts of so many pairs are read at a time.
READ_PAIRS = 256

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]
# From positions of pairs to their ids, left and right, or to their texts, None for an unknown one.
Ids = Callable[[I64], tuple[Sequence[Id], Sequence[Id]]]
Texts = Callable[[I64], tuple[Sequence[Any], Sequence[Any]]]


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


def nearest_pairs(
    similarities: F32, ids: Ids, texts: Texts, sketch: TextSketch | None
) -> list[TextPair]:
    """Return the pairs that are least alike, with their texts; unknown similarities come last.

    `sketch` says whether the texts are HTML, of which the page shows what a reader sees.
    """

    def shown(at: I64) -> Iterator[list[str | None]]:
        for side in texts(at):
            read = side if sketch is None else as_read(side, sketch)
            yield [shown_text(text) for text in read]

    return list(_pairs(similarities, ids, shown))


def render(facts: Removed) -> str:
    """Return the page as text; OptionError if jinja2 is not installed."""
    return render_pairs("removed.html", facts, facts.pairs, "similarity", ("removed", "stays"))


def rule_in_words(measure: str | None, least: float | None) -> str:
    """Return when documents match, as the end of a sentence after `if`.

    `measure`: what the texts have decided by, None if sketches have.  `least`: None if unknown.
    """
    if least is None:
        return ""
    if measure is None:
        return f"their estimated similarity is at least {least:g}"
    return f"the exact {measure} similarity of their texts is at least {least:g}"


def _pairs(
    similarities: F32, ids: Ids, texts: Callable[[I64], Iterator[list[str | None]]]
) -> Iterator[TextPair]:
    chosen = np.argsort(similarities, kind="stable")[:SHOWN_PAIRS]
    for start in range(0, len(chosen), READ_PAIRS):
        some = chosen[start : start + READ_PAIRS]
        columns = (*ids(some), *texts(some), similarities[some].tolist())
        for left, right, left_text, right_text, similarity in zip(*columns, strict=True):
            titles = template.shown_id(left), template.shown_id(right)
            yield TextPair(*titles, left_text, right_text, similarity)
