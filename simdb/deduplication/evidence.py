"""Evidence: what a second look at removed rows needs, such as their texts."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from simdb import report
from simdb.deduplication.question import DedupQuestion
from simdb.engine.clusters.find import STAR
from simdb.ground.errors import OptionError
from simdb.results.matches import Verification
from simdb.settings.text_sketch import TextSketch

if TYPE_CHECKING:
    from simdb.report.text_pairs import TextPair

Bools = npt.NDArray[np.bool_]
F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """The rows that were removed, and how to see them again.

    `removed`, `staying` int64[k]: the row of each duplicate and the row that stays for it, below 0
    for a document of a reference, or -1 for a stored one.  `texts`: the texts of both, whose
    positions are given.  `least`: the least similarity of rows that match, None if they matched by
    distance.  `again`: makes the same result with only some of the duplicates removed: bool[k].
    `refusal`: why that must not be, or "".  `sketch`: how texts are read, None if not known.
    """

    removed: I64
    staying: I64
    texts: Callable[[I64], Any]
    least: float | None
    again: Callable[[Bools], Any]
    refusal: str = ""
    sketch: TextSketch | None = None

    def pairs(self, ids: Any, others: Any, similarities: F32) -> "list[TextPair]":
        """Return the pairs that are least alike, with their texts, for a page.

        `ids` and `others` object[k]: the ids of the duplicates, and of what stays for them.
        """
        return report.text_pairs.nearest_pairs(
            similarities,
            lambda places: (ids[places], others[places]),
            lambda places: (
                texts_at(self.texts, self.removed[places]),
                texts_at(self.texts, self.staying[places]),
            ),
            self.sketch,
        )

    def check_stricter(self, similarity: float) -> None:
        """Raise OptionError unless rows can be judged by a higher similarity without a search."""
        if self.refusal:
            raise OptionError(self.refusal)
        if self.least is None:
            raise OptionError(
                "at() judges by similarity, and these rows matched by distance; deduplicate again"
                " with similarity="
            )
        if similarity < self.least:
            raise OptionError(
                f"at() takes a similarity of at least {self.least:g}, by which rows were removed,"
                f" got {similarity:g}; deduplicate again to find less similar rows"
            )


def texts_at(texts: Callable[[I64], Any], rows: I64) -> list[Any]:
    """Return the texts of rows; `texts` takes each row once, in ascending order."""
    distinct, places = np.unique(rows, return_inverse=True)
    found = list(texts(distinct))
    return [found[place] for place in places.tolist()]


def least_of(
    question: DedupQuestion, verification: Verification | None, usual: float | None
) -> float | None:
    """Return the least similarity of rows that match; None if a distance alone decides.

    `usual`: the least estimate if none is asked for, None if it is not known.
    """
    if verification is not None:
        return verification.least
    if question.similarity is None and question.distance is not None:
        return None
    return usual if question.similarity is None else question.similarity


def refusal_of(policy: str, *, has_database: bool = False) -> str:
    """Return why a result must not be made stricter without a search; "" if it can be."""
    if has_database:
        return (
            "at() is not for db=, which has not stored what would come back; deduplicate again with"
            " a higher similarity="
        )
    if policy != STAR:
        return (
            f"at() needs policy='star', where each removed row matches the row that stays; with"
            f" policy={policy!r} deduplicate again with a higher similarity="
        )
    return ""
