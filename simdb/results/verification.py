"""Verification: counts what texts have decided, where sketches only estimate."""

from dataclasses import dataclass


@dataclass(slots=True)
class Verification:
    """The counts of a search with verify="exact", so far.

    `measure`: the exact similarity: "Jaccard", "weighted Jaccard" or "cosine".  `least`: the least
    exact similarity of a match.  `judged`: the pairs that their texts decided.  `overruled`: how
    many of these the estimate would have decided otherwise.  `unknown`: the pairs without a text,
    which the estimate decided.
    """

    measure: str
    least: float
    judged: int = 0
    overruled: int = 0
    unknown: int = 0
