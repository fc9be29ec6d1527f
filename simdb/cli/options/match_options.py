"""Match options: how near two documents must be to match, and how to search for them."""

from dataclasses import dataclass

from simdb.choices import MethodName


@dataclass(frozen=True, slots=True)
class MatchOptions:
    """The values of --similarity, --distance, --recall and --method; None for each not given."""

    similarity: float | None
    distance: int | None
    recall: float | None
    method: MethodName | None
