"""Crawl: decides which pages of a crawl are new, over many crawls with one database.

A page is stored before it is passed on, so later copies are found even if the process is killed.
But after a kill it is unknown whether the crawler has written the pages that were passed on.  So
the database lists the crawls that have not ended.  If a page of such a crawl comes again under its
own id, it is passed on once more; copies of it are not.
"""

import secrets
from collections.abc import Sequence
from typing import Any

from simdb.core.arrays import Id
from simdb.core.errors import InputError
from simdb.core.matches import Match
from simdb.core.values import dataclass
from simdb.database import Database, WriteTransaction, note_seen

# The document that lists unfinished crawls; it has no features, so it matches nothing.
CRAWLS_ID = b"simdb.compat.crawl"
RUNNING, CRAWL = "running", "crawl"

NEW, CHANGED, AGAIN = "new", "changed", "again"
NEAR_DUPLICATE, SEEN = "near_duplicate", "seen"
PASSED = (NEW, CHANGED, AGAIN)


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a crawl: its id, such as its address, and its text."""

    id: Id
    text: str | bytes


@dataclass(frozen=True, slots=True)
class Verdict:
    """A decision about a page, and the stored page that it matches.

    `kind` is one of five words.  "new": no stored page is similar.  "changed": the stored page with
    this id is different.  "again": a crawl that has not ended stored the page.  "near_duplicate":
    it is similar to another page.  "seen": the page itself is stored.
    """

    kind: str
    match: Match | None = None

    @property
    def is_passed(self) -> bool:
        """Whether the page is passed on and stored."""
        return self.kind in PASSED


class Crawl:
    """A crawl that stores its pages in a database."""

    def __init__(
        self, database: Database, *, similarity: float | None = None, passes_seen: bool = False
    ) -> None:
        """Begin a crawl; `passes_seen`: also pass on pages of earlier crawls that come again.

        `similarity`: the least similarity of a near-duplicate; None takes that of the database.
        """
        self._database = database
        self._similarity = similarity
        self._passes_seen = passes_seen
        self._name = secrets.token_hex(8)
        with database.write() as transaction:
            self._broken = frozenset(_running(transaction))
            _set_running(transaction, [*sorted(self._broken), self._name])

    def decide(self, pages: Sequence[Page]) -> list[Verdict | InputError]:
        """Decide in order which pages are passed on, and store these in one commit.

        Consecutive pages with new ids are decided together.  A page that cannot be stored, such as
        one with an invalid id, gets an error instead of a verdict.
        """
        with self._database.write() as transaction:
            found: list[Verdict | InputError] = []
            waiting: dict[Id, Page] = {}
            for page in pages:
                if _is_new(transaction, page, waiting):
                    waiting[page.id] = page
                else:
                    found += self._claimed_all(transaction, list(waiting.values()))
                    found.append(self._decided(transaction, page))
                    waiting = {}
            return found + self._claimed_all(transaction, list(waiting.values()))

    def end(self) -> None:
        """End the crawl; all pages that were passed on must have been written."""
        with self._database.write() as transaction:
            _set_running(
                transaction, [name for name in _running(transaction) if name != self._name]
            )

    def _claimed_all(
        self, transaction: WriteTransaction, pages: list[Page]
    ) -> list[Verdict | InputError]:
        """Decide which pages with ids not yet stored are passed on."""
        try:
            claims = transaction.add_many_if_new(
                [page.id for page in pages], [page.text for page in pages],
                [{CRAWL: self._name}] * len(pages), similarity=self._similarity, threads=1,
            )  # fmt: skip
        except InputError:
            # A page has no text, and the error names it, but the others need verdicts.
            return [self._decided(transaction, page) for page in pages]
        return [Verdict(NEAR_DUPLICATE, found[0]) if found else Verdict(NEW) for found in claims]

    def _decided(self, transaction: WriteTransaction, page: Page) -> Verdict | InputError:
        try:
            return self._claimed(transaction, page)
        except InputError as error:
            return error

    def _claimed(self, transaction: WriteTransaction, page: Page) -> Verdict:
        metadata = {CRAWL: self._name}
        if page.id not in transaction:
            match = transaction.add_if_new(
                page.id, page.text, metadata, similarity=self._similarity
            )
            return Verdict(NEW) if match is None else Verdict(NEAR_DUPLICATE, match)
        found = transaction.query(page.text, similarity=self._similarity, limit=1)
        match = found[0] if found else None
        if match is not None:
            note_seen(transaction, [match.id])
            if match.id != page.id:
                return Verdict(NEAR_DUPLICATE, match)
        kind = CHANGED if match is None else self._kind_of(transaction, page.id)
        if kind != SEEN:
            transaction.insert(page.id, page.text, metadata, on_conflict="replace")
        return Verdict(kind, match)

    def _kind_of(self, transaction: WriteTransaction, id: Id) -> str:
        """Return the kind of a page that is stored under its own id: seen or again."""
        metadata = transaction[id].metadata
        crawl = metadata.get(CRAWL) if isinstance(metadata, dict) else None
        if crawl == self._name:
            return SEEN
        return AGAIN if self._passes_seen or crawl in self._broken else SEEN


def _is_new(transaction: WriteTransaction, page: Page, waiting: dict[Id, Page]) -> bool:
    """Return whether the id of a page is valid and neither stored nor waiting."""
    try:
        return page.id not in waiting and page.id not in transaction
    except (InputError, TypeError):
        return False


def _running(transaction: WriteTransaction) -> list[str]:
    """Return the names of the crawls that have not ended."""
    if CRAWLS_ID not in transaction:
        return []
    metadata: Any = transaction[CRAWLS_ID].metadata
    return list(metadata[RUNNING])


def _set_running(transaction: WriteTransaction, names: list[str]) -> None:
    if names:
        transaction.insert(CRAWLS_ID, "", {RUNNING: names}, on_conflict="replace")
    elif CRAWLS_ID in transaction:
        transaction.delete(CRAWLS_ID)
