"""Scrapy: an item pipeline that drops near-duplicates of items of this and earlier crawls.

In the settings of a project:

    ITEM_PIPELINES = {"simdb.compat.scrapy.NearDuplicatePipeline": 300}
    SIMDB_PATH = "seen.simdb"

Items wait for the commit that stores them.  Items that arrive during a commit are decided together
by the next one.  Every item is answered as soon as it can be stored, without waiting for more
items.
"""

from typing import Any, NamedTuple

from itemadapter import ItemAdapter
from scrapy.exceptions import DropItem
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred
from twisted.internet.threads import deferToThread

from simdb.compat.crawl import NEAR_DUPLICATE, Crawl, Page, Verdict
from simdb.core.errors import Error, InputError, OptionError
from simdb.core.options import Options, Simhash
from simdb.database import Database, open as open_database

PATH, TEXT_FIELD, ID_FIELD = "SIMDB_PATH", "SIMDB_TEXT_FIELD", "SIMDB_ID_FIELD"
SIMILARITY, SKETCH = "SIMDB_SIMILARITY", "SIMDB_SKETCH"
PASS_SEEN, DURABILITY = "SIMDB_PASS_SEEN", "SIMDB_DURABILITY"
COMMIT_ITEMS = "SIMDB_COMMIT_ITEMS"
COMMITTED_ITEMS = 64

STATISTICS = "simdb"
WITHOUT_TEXT = "without_text"


class _WaitingPage(NamedTuple):
    """A page that waits for its verdict, and the Deferred to fire with it."""

    page: Page
    decided: Any


class NearDuplicatePipeline:
    """A pipeline that drops items whose text is similar to an item passed on before.

    Items of this crawl and of earlier ones count.

    Settings:

    * `SIMDB_PATH`: the directory of the database, which is created if it does not exist.
    * `SIMDB_TEXT_FIELD` ("text"): the field with the text; a list of texts is joined.  An item
      without text is passed on.
    * `SIMDB_ID_FIELD` ("url"): the field that names an item.
    * `SIMDB_SIMILARITY`: the least estimated similarity of near-duplicates.  The default is that of
      the database, 0.8 for a new one.
    * `SIMDB_SKETCH`: options of `simdb.Simhash` for a new database, such as {"markup": "html"}.
    * `SIMDB_PASS_SEEN` (False): pass on items of earlier crawls that come again under their ids.
    * `SIMDB_DURABILITY` ("full"): see `simdb.open`.
    * `SIMDB_COMMIT_ITEMS` (64): the largest number of items in one commit.

    The exception DropItem has the stored `match`.  The statistics of the crawl count items as
    `simdb/new`, `simdb/changed`, `simdb/again`, `simdb/seen`, `simdb/near_duplicate` and
    `simdb/without_text`.
    """

    def __init__(self, crawler: Any) -> None:
        """Read the settings of a crawler; raise OptionError without `SIMDB_PATH`."""
        settings = crawler.settings
        if not settings.get(PATH):
            raise OptionError(f"{PATH} must name the directory of the database in the settings")
        self._settings = settings
        self._statistics = crawler.stats
        self._text_field = settings.get(TEXT_FIELD, "text")
        self._id_field = settings.get(ID_FIELD, "url")
        self._limit = max(1, settings.getint(COMMIT_ITEMS, COMMITTED_ITEMS))
        self._waiting: list[_WaitingPage] = []
        self._is_committing = False
        self._database: Database
        self._crawl: Crawl

    @classmethod
    def from_crawler(cls, crawler: Any) -> "NearDuplicatePipeline":
        """Make the pipeline of a crawler."""
        return cls(crawler)

    def open_spider(self, spider: Any = None) -> None:
        """Open the database and begin a crawl."""
        settings = self._settings
        sketch = settings.get(SKETCH)
        self._database = open_database(
            settings.get(PATH),
            options=None if sketch is None else Options(sketch=Simhash(**sketch)),
            durability=settings.get(DURABILITY, "full"),
        )
        similarity = settings.get(SIMILARITY)
        self._crawl = Crawl(
            self._database,
            similarity=None if similarity is None else float(similarity),
            passes_seen=settings.getbool(PASS_SEEN),
        )

    def close_spider(self, spider: Any = None) -> None:
        """End the crawl and close the database; not called if the crawl is killed."""
        self._crawl.end()
        self._database.close()

    async def process_item(self, item: Any, spider: Any = None) -> Any:
        """Return the item once it is stored; raise DropItem for a near-duplicate."""
        page = self._page_of(item)
        if page is None:
            self._count(WITHOUT_TEXT)
            return item
        decided: Any = Deferred()
        self._waiting.append(_WaitingPage(page, decided))
        self._commit()
        verdict = await maybe_deferred_to_future(decided)
        self._count(verdict.kind)
        if not verdict.is_passed:
            raise _dropped(verdict)
        return item

    def _page_of(self, item: Any) -> Page | None:
        """Return the id and the text of an item; None without text, InputError without an id."""
        fields = ItemAdapter(item)
        text = fields.get(self._text_field)
        if isinstance(text, list | tuple):
            text = "\n".join(map(str, text))
        if not text:
            return None
        id = fields.get(self._id_field)
        if id is None or id == "":
            raise InputError(
                f"an item has no {self._id_field!r}; {ID_FIELD} names the field that tells items"
                f" apart (found: {', '.join(map(repr, fields.field_names()))})"
            )
        return Page(id, text)

    def _commit(self) -> None:
        """Decide which waiting items are passed on, unless a commit is in progress."""
        if self._is_committing or not self._waiting:
            return
        group, self._waiting = self._waiting[: self._limit], self._waiting[self._limit :]
        self._is_committing = True
        pages = [each.page for each in group]
        deferToThread(self._crawl.decide, pages).addCallbacks(
            lambda verdicts: self._settle(group, verdicts),
            lambda failure: self._settle(group, [failure.value] * len(group)),
        )

    def _settle(self, group: list[_WaitingPage], verdicts: list[Verdict | Error]) -> None:
        """Answer the items of a group, which are now stored, and begin the next commit."""
        self._is_committing = False
        self._commit()
        for each, verdict in zip(group, verdicts, strict=True):
            if isinstance(verdict, Verdict):
                each.decided.callback(verdict)
            else:
                each.decided.errback(verdict)

    def _count(self, kind: str) -> None:
        self._statistics.inc_value(f"{STATISTICS}/{kind}")


def _dropped(verdict: Verdict) -> Any:
    """Return the exception that drops an item, with the stored page that it matches."""
    match = verdict.match
    what = "seen before"
    if match is not None and verdict.kind == NEAR_DUPLICATE:
        similarity = "" if match.similarity is None else f", similarity {match.similarity:.2f}"
        what = f"near-duplicate of {match.id!r}{similarity}"
    dropped: Any = DropItem(what)
    dropped.match = match
    return dropped
