"""Gathering: collects the facts about a database, within limits."""

import os
from collections.abc import Callable
from datetime import datetime, timezone

from simdb.database import Database
from simdb.engine.snapshot import Snapshot
from simdb.report.facts import Drawn, Facts, Groups, Headline, Storage, Threshold
from simdb.report.groups import Texts, all_groups, drawn_groups, shown_ids, with_texts
from simdb.report.limits import Limits
from simdb.report.pairs import draw_pairs
from simdb.report.words import options_in_words, sections_in_words
from simdb.results.reports import Statistics
from simdb.settings.options import BY_DISTANCE
from simdb.settings.search import SearchLike
from simdb.storage.files.names import DATA_FILE, WRITER_LOCK

LARGER = (2, 10, 100)
# With fewer documents, the bytes of a document tell nothing about larger databases.
TELLING_DOCUMENTS = 1000


def gather(
    database: Database,
    *,
    similarity: float | None = None,
    distance: int | None = None,
    recall: float | None = None,
    search: SearchLike | None = None,
    limits: Limits | None = None,
    texts: Texts | None = None,
    show: Callable[[str], None] = lambda state: None,
) -> Facts:
    """Collect what a page says; see `Database.query` for when documents match.

    `texts` gives the texts of some ids, as far as they are known.  `show` is called with what is
    being done.  Raises OptionError for an impossible threshold.
    """
    limits = limits or Limits()
    show("reading sizes")
    statistics = database.stats()
    with database.read() as snapshot:
        threshold = _threshold(database, snapshot, similarity, distance, recall, search)
        drawn, groups = _searched(snapshot, statistics, threshold, limits, search, show)
    wanted = shown_ids(groups)
    missing = 0
    if texts is not None:
        known = texts(wanted)
        missing = len(wanted - known.keys())
        groups = with_texts(groups, known)
    show("reading headers")
    return Facts(
        headline=_headline(database, statistics),
        storage=_storage(statistics, is_minhash=database.options.is_minhash),
        threshold=threshold,
        drawn=drawn,
        groups=groups,
        headers=database.header_fill(),
        advice=tuple(database.advice()),
        made=datetime.now(timezone.utc),
        has_texts=texts is not None,
        missing_texts=missing,
    )


def _threshold(
    database: Database,
    snapshot: Snapshot,
    similarity: float | None,
    distance: int | None,
    recall: float | None,
    search: SearchLike | None,
) -> Threshold:
    """Return when documents match: as asked for, or by the defaults of the database."""
    options = database.options
    plan = snapshot.plan(
        similarity=similarity, distance=distance, recall=recall, search=search, pairs=True
    )
    if similarity is None and distance is None:
        if plan.similarity is None or options.keep_clusters == BY_DISTANCE:
            distance = options.distance
        else:
            similarity = options.similarity
    return Threshold(similarity, distance, options.recall if recall is None else recall)


def _searched(
    snapshot: Snapshot,
    statistics: Statistics,
    threshold: Threshold,
    limits: Limits,
    search: SearchLike | None,
    show: Callable[[str], None],
) -> tuple[Drawn, Groups]:
    population = statistics.document_count - statistics.empty_count
    if threshold.similarity is not None:
        population -= statistics.bare_count
    drawn, matched = draw_pairs(
        snapshot, threshold, limits, population=population, search=search, show=show
    )
    show("finding groups")
    if population <= limits.grouped_documents:
        return drawn, all_groups(snapshot, threshold, limits, search)
    return drawn, drawn_groups(snapshot, threshold, limits, search, matched, population)


def _headline(database: Database, statistics: Statistics) -> Headline:
    # The lock file of writers is made with the database, and nothing is ever written to it.
    # Opening makes it again if it is missing, and then it tells nothing.
    created = _time_of(os.path.join(statistics.path, WRITER_LOCK))
    written = _time_of(os.path.join(statistics.path, DATA_FILE))
    is_known = created is not None and written is not None and created <= written
    return Headline(
        path=statistics.path,
        document_count=statistics.document_count,
        empty_count=statistics.empty_count,
        bare_count=statistics.bare_count,
        deleted_count=statistics.deleted_count,
        file_bytes=statistics.file_bytes,
        created=created if is_known else None,
        written=written,
        sketch=options_in_words(database.options),
    )


def _time_of(path: str) -> datetime | None:
    """Return when a file was last written; None if it does not exist."""
    try:
        return datetime.fromtimestamp(os.stat(path).st_mtime, timezone.utc)
    except FileNotFoundError:
        return None


def _storage(statistics: Statistics, *, is_minhash: bool) -> Storage:
    count = statistics.document_count
    each = statistics.live_bytes / count if count else 0.0
    larger = LARGER if count >= TELLING_DOCUMENTS else ()
    return Storage(
        sections=sections_in_words(statistics.section_bytes, is_minhash=is_minhash),
        runs=statistics.runs,
        delta_count=statistics.delta_count,
        file_bytes=statistics.file_bytes,
        unused_bytes=max(0, statistics.file_bytes - statistics.live_bytes),
        bytes_per_document=each,
        larger=tuple((factor * count, round(factor * count * each)) for factor in larger),
    )
