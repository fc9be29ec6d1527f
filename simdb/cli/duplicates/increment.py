"""Increment: stores what earlier runs have not, and reports what everything else matches."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from itertools import compress

import simdb
from simdb.cli.duplicates.texts_by_id import TextsById
from simdb.cli.duplicates.work import Outcome, Work
from simdb.cli.options.sketch_options import Given, allowed, check_given, make_sketch
from simdb.cli.output.render import match_row
from simdb.cli.output.text_spool import TextSpool
from simdb.cli.reading.batch import Batch, Found
from simdb.cli.reading.short_hint import is_default
from simdb.cli.reading.unique_ids import UniqueIds
from simdb.engine.search.judge import ESTIMATE, EXACT, ByOrdinal


def open_against(path: str, given: Given, allow: Sequence[str] | None) -> simdb.Database:
    """Open the database of earlier runs, or create it with the options `given`.

    Raises OptionError if the database exists with other options.
    """
    try:
        database = simdb.open(path, "w", allow=allowed(given, allow))
    except simdb.NotFoundError:
        return simdb.open(path, "c", options=simdb.Options(sketch=make_sketch(given)))
    try:
        check_given(given, database.options.sketch, path)
    except simdb.OptionError:
        database.close()
        raise
    return database


def find_new(work: Work, database: simdb.Database, older: Found | None) -> Outcome:
    """Store new documents and write them to the survivors; put the match of each other in a row.

    All new documents are stored, or, after an error, none.  `older`: what readers find of the
    documents that are stored already, None without their texts.
    """
    outcome = Outcome()
    sketch, matching = database.options.sketch, work.matching
    is_exact = work.is_exact(sketch)
    empty = database.stats().empty_count
    with (
        _spool(is_needed=is_exact) as texts,
        _spool(is_needed=is_exact and older is not None) as stored_texts,
        database.write() as transaction,
        database.read() as before,
    ):
        documents = None
        if texts is not None:
            known = None
            if stored_texts is not None and older is not None:
                known = TextsById(stored_texts, older, sketch, work.progress).texts
            documents = ByOrdinal(texts.texts, transaction.next_ordinal, known)

        def claim(some: Batch) -> simdb.Matches:
            return transaction.add_many_if_new(
                some.ids, some.texts,
                similarity=matching.similarity, distance=matching.distance,
                recall=matching.recall, method=matching.method, on_conflict="error",
                verify=EXACT if is_exact else ESTIMATE, texts=documents,
            )  # fmt: skip

        ids = UniqueIds(work.progress, database.sketcher, before)
        notes_short = is_default(database.options, matching.similarity, matching.distance)
        for batch in work.intake.batches(sketch, notes_short=notes_short):
            stored, matches = ids.store(batch, transaction, claim)
            outcome.add_verification(matches.verification)
            has_match = matches.offsets[1:] > matches.offsets[:-1]
            if texts is not None:
                texts.add(stored.chosen((~has_match).nonzero()[0].tolist()).texts)
            for at in has_match.nonzero()[0].tolist():
                outcome.duplicates += 1
                work.rows.add({"id": stored.ids[at], **match_row(matches[at][0], "match")})
            if work.survivors and stored.lines:
                work.survivors.writelines(
                    line + b"\n" for line in compress(stored.lines, (~has_match).tolist())
                )
        outcome.stored = len(transaction) - len(before)
        outcome.seen, outcome.renamed = ids.seen, ids.renamed
        work.check_share(outcome)
        if work.survivors:
            work.survivors.finish()
    outcome.empty = database.stats().empty_count - empty
    return outcome


@contextmanager
def _spool(*, is_needed: bool) -> Iterator[TextSpool | None]:
    """Yield a spool of texts, or None if it is not needed."""
    with TextSpool() if is_needed else nullcontext() as spool:
        yield spool
