"""Crawl: decides which pages of a crawl are new, over many crawls that use one database.

A page is stored before it is passed on, so a later copy of it is found, whatever happens to the
process in between.  Whether a page that was passed on has also been written by the crawler, nobody
knows after a kill.  So the database names the crawls that have not ended.  A page that such a crawl
stored is passed on once more when it comes again under its own id; copies of it are not.
"""

import secrets
from collections.abc import Sequence
from typing import Any

from simdb.core.arrays import Id
from simdb.core.errors import InputError
from simdb.core.matches import Match
from simdb.core.values import dataclass
from simdb.database import Database, WriteTransaction, note_seen

# The document that names the crawls which have not ended; without features, it matches nothing.
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
    """What a page is, and the stored page that it matches.

    `kind`: "new"; "changed", since the page with this id was another one; "again", since the crawl
    that stored it has not ended; "near_duplicate" of another page; "seen", the page itself is
    stored.
    """

    kind: str
    match: Match | None = None

    @property
    def is_passed(self) -> bool:
        """Whether the page goes on, and is stored."""
        return self.kind in PASSED


class Crawl:
    """One crawl that stores its pages in a database."""

    def __init__(
        self, database: Database, *, similarity: float | None = None, passes_seen: bool = False
    ) -> None:
        """Begin a crawl; `passes_seen`: pass on pages of earlier crawls when they come again.

        `similarity`: the least similarity of a near-duplicate, that of the database if None.
        """
        self._database = database
        self._similarity = similarity
        self._passes_seen = passes_seen
        self._name = secrets.token_hex(8)
        with database.write() as transaction:
            self._broken = frozenset(_running(transaction))
            _set_running(transaction, [*sorted(self._broken), self._name])

    def decide(self, pages: Sequence[Page]) -> list[Verdict | InputError]:
        """Decide about some pages in their order, and store in one commit those that go on.

        Pages whose ids are new, one after the other, are decided together.  A page that cannot be
        stored, such as one with an invalid id, gets the error in its place.
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
        """End the crawl: what it passed on has been written."""
        with self._database.write() as transaction:
            _set_running(
                transaction, [name for name in _running(transaction) if name != self._name]
            )

    def _claimed_all(
        self, transaction: WriteTransaction, pages: list[Page]
    ) -> list[Verdict | InputError]:
        """Decide about pages whose ids are not stored."""
        try:
            claims = transaction.add_many_if_new(
                [page.id for page in pages], [page.text for page in pages],
                [{CRAWL: self._name}] * len(pages), similarity=self._similarity, threads=1,
            )  # fmt: skip
        except InputError:
            # One of them has no text; the error says which, but the others have verdicts.
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
        """Return what a page is that is stored under its own id: seen, or passed on again."""
        metadata = transaction[id].metadata
        crawl = metadata.get(CRAWL) if isinstance(metadata, dict) else None
        if crawl == self._name:
            return SEEN
        return AGAIN if self._passes_seen or crawl in self._broken else SEEN


def _is_new(transaction: WriteTransaction, page: Page, waiting: dict[Id, Page]) -> bool:
    """Return whether neither a stored page nor one that waits has the id of a page, a valid one."""
    try:
        return page.id not in waiting and page.id not in transaction
    except (InputError, TypeError):
        return False


def _running(transaction: WriteTransaction) -> list[str]:
    """Return the names of the crawls that have begun and not ended."""
    if CRAWLS_ID not in transaction:
        return []
    metadata: Any = transaction[CRAWLS_ID].metadata
    return list(metadata[RUNNING])


def _set_running(transaction: WriteTransaction, names: list[str]) -> None:
    if names:
        transaction.insert(CRAWLS_ID, "", {RUNNING: names}, on_conflict="replace")
    elif CRAWLS_ID in transaction:
        transaction.delete(CRAWLS_ID)
