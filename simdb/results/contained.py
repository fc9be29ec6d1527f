"""Contained: matches and pairs of queries with `contained=`, as users get them."""

from dataclasses import dataclass

from simdb.ground.ids import IdT_co
from simdb.results.matches import Match, Pair, SharedSpan


@dataclass(frozen=True, slots=True)
class ContainedMatch(Match[IdT_co]):
    """A match of a query with `contained=`: how much of the query the document has, and where.

    `containment` is a share of the query, not of the document: of the runs of 8 words of the query,
    those that lie in passages.  A passage is a run of 15 or more words that both texts have, or all
    words of a shorter query; case and punctuation do not count.  A query of fewer than 8 words is
    one run by itself.

    With `texts=` it is exact, every document with enough is found if the query has 15 words or
    more, and `spans` has the passages, grown over up to three changed words in a row.  Without, it
    is estimated: the share of the winnowed runs of the query that are stored for the document,
    which also counts runs of 8 to 14 words; a query of 15 words or more that is in a document as a
    whole is certain to have 1.0.  `spans` is then None.
    """

    containment: float | None = None
    spans: tuple[SharedSpan, ...] | None = None

    def __init__(
        self,
        id: IdT_co,
        distance: int,
        similarity: float | None,
        containment: float,
        spans: tuple[SharedSpan, ...] | None,
    ) -> None:
        """Hold the values."""
        Match.__init__(self, id, distance, similarity)
        object.__setattr__(self, "containment", containment)
        object.__setattr__(self, "spans", spans)


@dataclass(frozen=True, slots=True)
class ContainedPair(Pair[IdT_co]):
    """A pair of which `left` is contained in `right`, whichever was inserted first.

    `containment`: the share of the n-grams of `left` in passages that `right` has, too.
    """

    containment: float | None = None
