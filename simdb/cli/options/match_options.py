"""Match options: how near two documents must be to match, and how to search for them."""

import re
from dataclasses import dataclass
from typing import Any, cast

from simdb.ground.choices import MethodName
from simdb.ground.errors import OptionError
from simdb.settings.search import NAMES, Search, SearchLike

MULTIPLES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
NUMBER = re.compile("([0-9]{1,12})([KMGT]?)B?")


@dataclass(frozen=True, slots=True)
class MatchOptions:
    """The values of --similarity, --distance, --recall and --search; None for each not given."""

    similarity: float | None
    distance: int | None
    recall: float | None
    search: SearchLike | None

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of a verb that say the same."""
        return {
            "similarity": self.similarity,
            "distance": self.distance,
            "recall": self.recall,
            "search": self.search,
        }


def given_search(text: str | None) -> SearchLike | None:
    """Return what --search means: "psm", or "psm,attempts=64", or "memory_limit=2G".

    OptionError for anything else.
    """
    if text is None:
        return None
    first, *others = text.split(",")
    if "=" in first:
        first, others = "", [first, *others]
    elif not others:
        return cast(MethodName, first)
    values: dict[str, Any] = {"method": first or None}
    for each in others:
        name, _, value = each.partition("=")
        name = name.strip().replace("-", "_")
        number = given_size(value)
        if name not in NAMES[1:] or number is None:
            raise OptionError(
                f"--search takes the name of a method and NAME=NUMBER of {', '.join(NAMES[1:])},"
                f" such as psm,attempts=64 or memory_limit=2G; got {text[:80]!r}"
            )
        values[name] = number
    return Search(**values)


def given_size(text: str) -> int | None:
    """Return a number with or without a unit, such as 64 or 2G; None for anything else."""
    number = NUMBER.fullmatch(text.strip().upper())
    return None if number is None else int(number[1]) * MULTIPLES[number[2]]
