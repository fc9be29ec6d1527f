"""Increment: stores what earlier runs have not, and reports what everything else matches."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack, nullcontext

import numpy as np

import simdb
from simdb.cli.duplicates.arrangement import arranged
from simdb.cli.duplicates.beginnings import Beginnings
from simdb.cli.duplicates.repeat import Repeat
from simdb.cli.duplicates.texts_by_id import TextsById
from simdb.cli.duplicates.work import Outcome, Work
from simdb.cli.options.match_options import MatchOptions
from simdb.cli.options.sketch_options import Given, allowed, check_given, make_sketch
from simdb.cli.options.writing import begin_write, open_or_create
from simdb.cli.output.render import match_row
from simdb.cli.reading.short_hint import is_default
from simdb.cli.reading.unique_ids import Settled, UniqueIds
from simdb.engine.search.judge import ESTIMATE, EXACT, ByOrdinal
from simdb.outputs.rows import Row
from simdb.sources.batch import Batch
from simdb.sources.read_again import TextsAgain

NO_NUMBERS = np.empty(0, np.int64)
NOTHING = Batch(ids=[], texts=[], sources=[], positions=NO_NUMBERS, sizes=NO_NUMBERS)


def open_against(
    path: str, given: Given, allow: Sequence[str] | None, work: Work, *, must_exist: bool
) -> simdb.Database:
    """Open the database of earlier runs, or create it with the options `given`.

    Raises OptionError if the database exists with other options, and NotFoundError if there is none
    and it `must_exist`.
    """

    def try_out(database: simdb.Database) -> None:
        sketch = database.options.sketch
        check_given(given, sketch, path)
        with begin_write(database, work.progress) as transaction:
            documents = ByOrdinal(list) if work.is_exact(sketch) else None
            _claiming(transaction, work.matching, documents)(NOTHING)

    return open_or_create(
        path, make_options=lambda: simdb.Options(sketch=make_sketch(given)), try_out=try_out,
        intake=work.intake, progress=work.progress, allow=allowed(given, allow),
        must_exist=must_exist,
    )  # fmt: skip


def find_new(work: Work, database: simdb.Database, older: TextsById | None) -> Outcome:
    """Store new documents and write them to the survivors; put the match of each other in a row.

    All new documents are stored, or, after an error, none.  `older`: texts of documents that are
    stored already; None if they are not known.  What is stored already is kept, whatever
    `work.keep` says; that rule chooses among the documents of this run.
    """
    outcome = Outcome(keep=work.keep)
    sketch, matching = database.options.sketch, work.matching
    is_exact = work.is_exact(sketch)
    empty = database.stats().empty_count
    with (
        TextsAgain(work.origins) if is_exact else nullcontext() as texts,
        begin_write(database, work.progress) as transaction,
        database.read() as before,
        ExitStack() as stack,
    ):
        documents = None
        if texts is not None:
            known = None if older is None else older.texts
            documents = ByOrdinal(texts.texts, transaction.next_ordinal, known)
        search = None if matching.search is None else str(matching.search)
        rule = [matching.similarity, matching.distance, matching.recall, search]
        claim = _claiming(transaction, matching, documents)
        repeat = Repeat(work.run, [*rule, EXACT if is_exact else ESTIMATE], before)
        ids = UniqueIds(work.progress, database.sketcher, before, repeat)
        first_new = transaction.next_ordinal
        notes_short = is_default(database.options, matching.similarity, matching.distance)
        read = work.intake.batches(sketch, notes_short=notes_short)
        arrangement = stack.enter_context(arranged(work, read))
        for batch in arrangement:
            settled, matches = ids.store(batch, transaction, claim)
            outcome.add_verification(matches.verification)
            outcome.earlier += int(np.count_nonzero(matches.ordinals < first_new))
            new, rows = _decided(settled, matches)
            stored = settled.batch.chosen(new)
            if texts is not None:
                texts.add(stored)
            repeat.add_kept(stored.ids)
            repeat.add_left(batch, rows)
            every = {**rows, **settled.rows}
            outcome.duplicates += len(every)
            if work.rows is not None:
                for at in sorted(every):
                    work.rows.add(every[at])
            arrangement.keep(batch, [*settled.kept, *(settled.places[at] for at in new)])
            if work.beginnings is not None:
                _add_beginnings(work.beginnings, batch, settled)
        repeat.store(transaction)
        outcome.stored = len(transaction) - len(before)
        outcome.seen, outcome.renamed, outcome.again = ids.seen, ids.renamed, repeat.again
        work.check_share(outcome)
        arrangement.finish()
    outcome.empty = database.stats().empty_count - empty
    return outcome


def _claiming(
    transaction: simdb.WriteTransaction, matching: MatchOptions, documents: ByOrdinal | None
) -> Callable[[Batch], simdb.Matches]:
    """Return a function that stores what is new of a batch; `documents` decide, if given."""

    def claim(some: Batch) -> simdb.Matches:
        return transaction.add_many_if_new(
            some.ids, some.texts,
            similarity=matching.similarity, distance=matching.distance,
            recall=matching.recall, search=matching.search, on_conflict="error",
            verify=ESTIMATE if documents is None else EXACT, texts=documents,
        )  # fmt: skip

    return claim


def _decided(settled: Settled, matches: simdb.Matches) -> tuple[list[int], dict[int, Row]]:
    """Return the positions of the stored documents, and a row for each that has a match.

    The positions are in the settled batch, those of the rows in the whole batch.
    """
    has_match = matches.offsets[1:] > matches.offsets[:-1]
    rows = {
        settled.places[at]: {
            "id": settled.batch.ids[at],
            **match_row(matches[at][0], "match"),
        }
        for at in has_match.nonzero()[0].tolist()
    }
    return (~has_match).nonzero()[0].tolist(), rows


def _add_beginnings(beginnings: Beginnings, batch: Batch, settled: Settled) -> None:
    """Add the texts of a batch by the ids under which documents are stored or reported."""
    beginnings.add(settled.batch.ids, settled.batch.texts)
    kept = batch.chosen(settled.kept)
    beginnings.add(kept.ids, kept.texts)
    left = batch.chosen(list(settled.rows))
    beginnings.add([row["id"] for row in settled.rows.values()], left.texts)
