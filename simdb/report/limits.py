"""Limits: how much a page may cost, however large the database is."""

from dataclasses import dataclass

# Grouping this many documents takes some ten seconds on one core, and a few hundred MB.
GROUPED_DOCUMENTS = 2_000_000


@dataclass(frozen=True, slots=True)
class Limits:
    """What is searched, and how much is shown.

    `sample`: the number of documents drawn at random, whose matches are looked up.  The search for
    them also ends after `seconds`, or when it has found `pairs`.  Groups are made of all documents
    if there are at most `grouped_documents`, and else of the drawn documents and their matches.
    `groups`: how many of the largest groups are shown.
    """

    sample: int = 10_000
    seed: int = 0
    groups: int = 10
    grouped_documents: int = GROUPED_DOCUMENTS
    seconds: float = 30.0
    pairs: int = 20_000_000
