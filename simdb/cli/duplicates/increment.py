"""Increment: stores what earlier runs have not, and reports what everything else matches."""

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from hashlib import blake2b
from heapq import merge
from operator import itemgetter
from typing import Any

import numpy as np

import simdb
from simdb.cli.duplicates.texts import Beginnings, TextsById
from simdb.cli.duplicates.unique_ids import CountedRepeat, Settled, UniqueIds, rows_of
from simdb.cli.duplicates.work import DedupWork, Outcome
from simdb.cli.options.intake import is_default
from simdb.cli.options.opening import begin_write, open_or_create
from simdb.cli.options.sketch_options import Given, allowed, check_given, make_sketch
from simdb.columns.arrow import encoded
from simdb.deduplication import repeat
from simdb.deduplication.arrivals import Arrivals, Refused
from simdb.deduplication.question import I64, joined
from simdb.deduplication.repeat import Left
from simdb.deduplication.run import SecondLook
from simdb.outputs.remote import is_remote, remote_place
from simdb.outputs.rows import Row
from simdb.report.text_pairs import TextPair, nearest_pairs
from simdb.settings import keeping
from simdb.settings.options import SEEN
from simdb.sources.batch import Batch
from simdb.sources.content import AMOUNT, STANDARD_INPUT
from simdb.values.arrays import Id, object_array

# The texts of so many documents are read again at a time.
NOTED_DOCUMENTS = 1 << 12


def open_against(
    path: str,
    given: Given,
    allow: Sequence[str] | None,
    work: DedupWork,
    *,
    must_exist: bool,
    has_features: bool,
) -> AbstractContextManager[simdb.Database]:
    """Open the database of earlier runs for a `with` statement, or create it with options `given`.

    Raises OptionError if the database exists with other options, and NotFoundError if there is none
    and it `must_exist`.
    """

    def try_out(database: simdb.Database) -> None:
        sketch = database.options.sketch
        check_given(given, sketch, path)
        if has_features and not database.options.features:
            raise simdb.OptionError(
                f"{path} was created without --features, and what it has stored cannot get any;"
                " leave out --features, or begin a new database"
            )
        with (
            begin_write(database, work.progress) as transaction,
            Arrivals(database, transaction, work.question(sketch), _unknown),
        ):
            pass

    return open_or_create(
        path, try_out=try_out, must_exist=must_exist, allow=allowed(given, allow),
        # Documents that were not seen for long can then be dropped without foresight.
        make_options=lambda: simdb.Options(
            sketch=make_sketch(given), keep_times=SEEN, features=has_features
        ),
        intake=work.intake,
    )  # fmt: skip


def find_new(work: DedupWork, database: simdb.Database, older: TextsById | None) -> Outcome:
    """Store new documents and write them to the survivors; put the match of each other in a row.

    All new documents are stored, or, after an error, none.  `older`: texts of documents that are
    stored already; None if they are not known.  What is stored already is kept, whatever
    `--keep` says; that rule chooses among the documents of this run.
    """
    outcome = Outcome(keep=work.given.keep)
    empty = database.stats().empty_count
    with (
        begin_write(database, work.progress) as transaction,
        database.read() as before,
        _Increment(work, database, transaction, before, older) as increment,
    ):
        increment.read()
        work.progress.begin("finding duplicates")
        refused = increment.decide()
        work.progress.timings.note = increment.arrivals.way
        outcome.verification = refused.verification
        outcome.earlier = refused.earlier
        outcome.duplicates = len(refused.positions) + len(increment.left)
        outcome.seen, outcome.renamed = increment.ids.seen, increment.ids.renamed
        outcome.again = increment.repeat.again
        if work.rows is not None:
            for row in increment.rows():
                work.rows.add(row)
        work.check_share(outcome)
        if work.has_page:
            outcome.pairs = increment.pairs()
        work.progress.begin("storing what is new")
        increment.store()
        outcome.stored = len(transaction) - len(before)
        if work.survivors:
            work.progress.begin("writing what is kept")
            increment.write()
    outcome.empty = database.stats().empty_count - empty
    return outcome


class _Increment:
    """The documents of one run over a database; `with` frees them.

    Documents that are compared have a position among those, and a place in the input.
    """

    def __init__(
        self,
        work: DedupWork,
        database: simdb.Database,
        transaction: simdb.WriteTransaction,
        before: simdb.Snapshot,
        older: TextsById | None,
    ) -> None:
        self._work, self._transaction, self._options = work, transaction, database.options
        question = work.question(database.options.sketch)
        search = None if question.search is None else str(question.search)
        self.repeat = CountedRepeat(work.run, [*question.rule[:3], search, question.verify], before)
        self.ids = UniqueIds(work.progress, database.sketcher, before, self.repeat)
        self.left: dict[int, Row] = {}  # what an earlier occasion left out, by place
        self._places: list[I64] = []
        self._kept: list[I64] = []  # places of documents that stay
        self._count = 0
        rule = keeping.parse(work.given.keep, "--keep")
        with ExitStack() as held:
            self._again = held.enter_context(SecondLook(rule, work.origins, work.folder))
            known = _unknown if older is None else older.texts
            self.arrivals = held.enter_context(Arrivals(database, transaction, question, known))
            self._held = held.pop_all()

    def __enter__(self) -> "_Increment":
        return self

    def __exit__(self, *error: object) -> None:
        self._held.close()

    def read(self) -> None:
        """Read all documents, and look them up."""
        given = self._work.given
        notes_short = is_default(self._options, given.similarity, given.distance)
        batches = self._work.intake.batches(self._options.sketch, notes_short=notes_short)
        compared = map(self._settled, batches)
        for _ in self.arrivals.add_all(
            compared, lambda: AMOUNT.expected_documents, errors="strict"
        ):
            pass

    def decide(self) -> Refused:
        """Return which of the documents that are compared are not new."""
        again = self._again
        self._refused = refused = self.arrivals.decide(again.order(), again.texts, again.names.of)
        ids = object_array(list(again.names.of(refused.positions)))
        self._found = Left(ids, refused.matches, refused.distances, refused.similarities)
        return refused

    def rows(self) -> Iterator[Row]:
        """Yield a row for each document that is left out, in the order of the input."""
        places = joined(self._places)[self._refused.positions].tolist()
        found = zip(places, rows_of(self._found), strict=True)
        for _, row in merge(found, sorted(self.left.items()), key=itemgetter(0)):
            yield row

    def pairs(self) -> list[TextPair]:
        """Return the documents that are left out beside what they match, for a page."""
        beginnings, left = self._work.beginnings, list(self.left.values())
        assert beginnings is not None, "a page needs texts"
        ids = [*self._found.ids, *(row["id"] for row in left)]
        matches = [*self._found.matches, *(row["match"] for row in left)]
        others = [np.nan if row["similarity"] is None else row["similarity"] for row in left]

        def ids_at(at: I64) -> tuple[list[Id], list[Id]]:
            return [ids[each] for each in at], [matches[each] for each in at]

        def texts_at(at: I64) -> tuple[list[str | None], list[str | None]]:
            own, other = ids_at(at)
            return beginnings.of(own), beginnings.of(other)

        similarities = np.array([*self._found.similarities, *others], np.float32)
        return nearest_pairs(similarities, ids_at, texts_at, self._options.sketch)

    def store(self) -> None:
        """Store what is new, and the note of the run."""
        places = joined(self._places)
        names, texts = self._again.names, self._again.texts
        for positions, ids in self.arrivals.store(names.of, texts):
            self._kept.append(places[positions])
            self.repeat.add_kept(ids)
        if self._work.run is not None:
            for start in range(0, len(self._found), NOTED_DOCUMENTS):
                some = slice(start, start + NOTED_DOCUMENTS)
                positions = self._refused.positions[some]
                self.repeat.add_left(
                    names.of(positions, as_read=True), encoded(texts(positions)),
                    self._found.taken(some),
                )  # fmt: skip
        self.repeat.store(self._transaction)

    def write(self) -> None:
        """Write the documents that stay."""
        survivors = self._work.survivors
        assert survivors is not None, "there is an output"
        is_kept = np.zeros(self._count, np.bool_)
        is_kept[joined(self._kept)] = True
        self._again.write(is_kept, survivors)

    def _settled(self, batch: Batch) -> Any:
        """Note what is needed later of a batch; return the texts of the documents to compare."""
        settled, first = self.ids.settle(batch), self._count
        self._count += len(batch)
        self._kept.append(first + np.array(settled.kept, np.int64))
        self._places.append(first + np.array(settled.places, np.int64))
        self.left.update((first + at, row) for at, row in settled.rows.items())
        if self._work.survivors is not None:
            self._again.lines.add(batch, self._work.lines(batch))
        if self._work.beginnings is not None:
            _add_beginnings(self._work.beginnings, batch, settled)
        compared = settled.batch
        if len(compared):
            own = batch.ids if len(compared) == len(batch) else batch.chosen(settled.places).ids
            self._again.add(compared, own)
        return compared.texts


def _unknown(ids: list[Id]) -> list[None]:
    """Return the texts of documents whose texts nobody has given."""
    return [None] * len(ids)


def _add_beginnings(beginnings: Beginnings, batch: Batch, settled: Settled) -> None:
    """Add the texts of a batch by the ids under which documents are stored or reported."""
    beginnings.add(settled.batch.ids, settled.batch.texts)
    kept = batch.chosen(settled.kept)
    beginnings.add(kept.ids, kept.texts)
    left = batch.chosen(list(settled.rows))
    beginnings.add([row["id"] for row in settled.rows.values()], left.texts)


def run_name(given: str | None, sources: Collection[str]) -> str | None:
    """Return the name of a run: the `given` one, or one made of the places of its sources.

    None if a source is standard input, which can be anything when it is read again.
    """
    if given is not None:
        return repeat.checked_name(given, "--run")
    if STANDARD_INPUT in sources:
        return None
    places = sorted(
        {
            os.fsencode(remote_place(each) if is_remote(each) else os.path.realpath(each))
            for each in sources
        }
    )
    return blake2b(b"\0".join(places), digest_size=16).hexdigest()
