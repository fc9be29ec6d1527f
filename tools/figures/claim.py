"""Claims: records the claims of sources, the rules of agreement and the verdicts of a run.

A claim is written in the module of its experiment before anything is measured.  `agrees` states
the rule in words; the module computes the verdict by that rule alone.
"""

from dataclasses import dataclass, field
from typing import Any

AGREES, DIFFERS, PARTLY = "agrees", "differs", "in part"


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim: `where` in the source, its words, and when our result agrees."""

    where: str
    says: str
    agrees: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome for one claim: their figure, our figure and a sentence with the reason."""

    claim: Claim
    theirs: str
    ours: str
    verdict: str
    why: str


@dataclass(slots=True)
class Section:
    """The part of the results from one experiment: text, tables, pictures and verdicts."""

    title: str
    setting: str
    verdicts: list[Verdict] = field(default_factory=list)
    tables: list[tuple[list[str], list[list[str]]]] = field(default_factory=list)
    details: list[tuple[list[str], list[list[str]]]] = field(default_factory=list)
    pictures: list[tuple[str, str]] = field(default_factory=list)  # file name, description
    facts: dict[Any, Any] = field(default_factory=dict)

    def table(self, head: list[str], rows: list[list[str]], *, is_detail: bool = False) -> None:
        """Add a table; details are in the whole record, not in docs/RESULTS.md."""
        (self.details if is_detail else self.tables).append((head, rows))

    def judge(
        self, claim: Claim, *, theirs: str, ours: str, holds: bool | list[bool], why: str
    ) -> None:
        """Add a verdict; with several conditions, some of which hold, it is "in part"."""
        conditions = holds if isinstance(holds, list) else [holds]
        verdict = AGREES if all(conditions) else PARTLY if any(conditions) else DIFFERS
        self.verdicts.append(Verdict(claim, theirs, ours, verdict, why))
