"""Increment: stores what earlier runs have not, and reports what everything else matches.

If the sources give one id to several documents, all but the first get an id that contains the name
of their source.  A document that an earlier run stored with the same id and fingerprint counts as
seen, and is not stored again.  If it was this run, on an earlier occasion, the document is kept
again.
"""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from functools import partial

import numpy as np

import simdb
from simdb.cli.duplicates.work import DedupWork, Outcome
from simdb.cli.options.intake import is_default
from simdb.cli.options.opening import begin_write
from simdb.cli.options.texts import Beginnings, TextsById
from simdb.cli.output.render import match_row
from simdb.core import keeping
from simdb.core.arrays import object_array
from simdb.core.dtypes import Bools
from simdb.core.matches import Match
from simdb.core.options import SEEN
from simdb.files import AMOUNT, Batch, InputId, Row, Texts, other_ids
from simdb.jobs import Arrivals, Claims, Left, SecondLook, TextPair, nearest_pairs


def open_against(work: DedupWork) -> AbstractContextManager[simdb.Database]:
    """Open the database of earlier runs for a `with` statement, or create it.

    Raises OptionError if the database exists with other options, and NotFoundError if there is none
    and --existing is given.
    """
    has_features = work.job.store.features

    def try_out(database: simdb.Database) -> None:
        if has_features and not database.options.features:
            raise simdb.OptionError(
                f"{work.job.store.db} was created without --features, and what it has stored cannot"
                " get any; leave out --features, or begin a new database"
            )
        with (
            begin_write(database, work.progress) as transaction,
            Arrivals(database, transaction, work.question(database.options.sketch)),
        ):
            pass

    # Documents that were not seen for long can then be dropped without foresight.
    return work.opened(try_out, {"keep_times": SEEN, "features": has_features})


def find_new(work: DedupWork, database: simdb.Database, older: TextsById | None) -> Outcome:
    """Store new documents and write them to the survivors; put the match of each other in a row.

    All new documents are stored, or, after an error, none.  `older`: texts of documents that are
    stored already; None if they are not known.  What is stored already is kept, whatever
    `--keep` says; that rule chooses among the documents of this run.
    """
    options, given = database.options, work.job.given
    rule, question = keeping.parse(given.keep, "--keep"), work.question(options.sketch)
    notes_short = is_default(options, given.similarity, given.distance)
    outcome, empty = Outcome(keep=given.keep), database.stats().empty_count
    with (
        begin_write(database, work.progress) as transaction,
        SecondLook(
            rule, work.origins, work.survivors, work.progress.note, memory=question.memory
        ) as again,
        Claims(database, transaction, question, work.job.run) as claims,
    ):
        batches = work.intake.batches(options.sketch, notes_short=notes_short)
        if options.sketch.tokeniser:  # a function that can refuse any text
            on_error = work.job.reading.on_error
            batches = work.intake.readable(batches, database.sketcher, on_error)
        has_text: list[Bools] = []
        compared = _compared(batches, claims, again, work.beginnings, has_text)
        known = None if older is None else older.texts
        for _ in claims.add_all(compared, lambda: AMOUNT.expected_documents, known):
            pass
        work.progress.begin("finding duplicates")
        removed = claims.decide(again.order(), again.texts, again.names.of)
        work.progress.timings.note = claims.way
        outcome.verification, outcome.earlier = removed.verification, removed.earlier
        outcome.duplicates, outcome.renamed = len(removed.places), again.names.renamed
        outcome.seen, outcome.again = len(claims.seen), len(claims.again)
        if work.rows is not None:
            for row in rows_of(removed.found):
                work.rows.add(row)
        work.check_share(outcome)
        if work.has_page:
            outcome.pairs = _pairs(work, removed.found, options.sketch)
        work.progress.begin("storing what is new")
        new = claims.store(again.names.of, again.texts)
        outcome.stored = len(new)
        is_text = np.concatenate([np.empty(0, np.bool_), *has_text])
        is_kept, places = ~is_text, np.flatnonzero(is_text)
        is_kept[places[new]] = is_kept[places[claims.again]] = True
        if work.survivors:
            work.progress.begin("writing what is kept")
            again.write(is_kept, work.survivors)
        work.intake.check(
            work.survivors, kept=int(np.count_nonzero(is_kept)), removed=outcome.duplicates,
            seen=outcome.seen,
        )  # fmt: skip
        work.commit(outcome, transaction, lambda: any(id in database for id in claims.samples))
    outcome.empty = database.stats().empty_count - empty + int(np.count_nonzero(~is_text))
    return outcome


def _compared(
    batches: Iterable[Batch],
    claims: Claims,
    again: SecondLook,
    beginnings: Beginnings | None,
    has_text: list[Bools],
) -> Iterator[Texts]:
    """Yield the texts to compare of each batch, and note what is needed of it later.

    `has_text` takes which documents have a text.  The others are kept, and stored nowhere.
    """
    for whole in batches:
        again.lines.add(whole)
        again.pass_by(whole)
        has_text.append(np.ones(len(whole), np.bool_) if whole.nulls is None else ~whole.nulls)
        batch = whole if whole.nulls is None else whole.chosen(np.flatnonzero(has_text[-1]))
        settled = claims.settle(batch.ids, batch.texts_at, partial(_other_ids, batch))
        fresh = batch if len(settled.fresh) == len(batch) else batch.chosen(settled.fresh)
        names = settled.names
        if len(fresh):
            places = enumerate(settled.fresh.tolist()) if names else ()
            again.add(fresh, {place: names[at] for place, at in places if at in names})
        if beginnings is not None:
            ids = object_array(batch.ids)
            ids[list(names)] = list(names.values())
            ids[settled.left] = settled.found.ids
            beginnings.add(ids.tolist(), batch.texts)
        yield fresh.texts


def _other_ids(batch: Batch, at: int) -> Iterator[InputId]:
    """Yield ids, without end, for a document whose own id another document has."""
    return other_ids(batch.ids[at], batch.sources[at], int(batch.positions[at]))


def _pairs(work: DedupWork, found: Left, sketch: simdb.TextSketch) -> list[TextPair]:
    """Return the documents that are left out beside what they match, for a page."""
    assert work.beginnings is not None, "a page needs texts"
    texts = work.beginnings.of
    return nearest_pairs(
        found.similarities,
        lambda at: (found.ids[at].tolist(), found.matches[at].tolist()),
        lambda at: (texts(found.ids[at].tolist()), texts(found.matches[at].tolist())),
        sketch,
    )


def rows_of(left: Left) -> Iterator[Row]:
    """Yield a row for each document that was left out."""
    for id, match, distance, similarity, lost in zip(
        left.ids.tolist(), left.matches.tolist(), left.distances.tolist(),
        left.similarities.tolist(), np.isnan(left.similarities).tolist(), strict=True,
    ):  # fmt: skip
        known = None if lost else similarity
        yield {"id": id, **match_row(Match(match, distance, known), "match")}
