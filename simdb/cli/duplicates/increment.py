"""Increment: stores what earlier runs have not, and reports what everything else matches.

If the sources give one id to several documents, all but the first get an id that contains the name
of their source.  A document that an earlier run stored with the same id and fingerprint counts as
seen, and is not stored again.  If it was this run, on an earlier occasion, the document is kept
again.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from heapq import merge
from itertools import compress
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

import simdb
from simdb.cli.duplicates.work import DedupWork, Outcome
from simdb.cli.options.intake import is_default
from simdb.cli.options.opening import begin_write
from simdb.cli.options.texts import Beginnings, TextsById
from simdb.cli.output.progress import Progress
from simdb.cli.output.render import match_row
from simdb.columns.arrow import encoded
from simdb.deduplication import repeat
from simdb.deduplication.claims import Arrivals, Refused
from simdb.deduplication.minima import SortedKeys
from simdb.deduplication.question import joined
from simdb.deduplication.repeat import Left
from simdb.deduplication.run import SecondLook
from simdb.engine.state.incoming import sketch_all
from simdb.ground.dtypes import I64, U64
from simdb.outputs.rows import Row
from simdb.report.text_pairs import TextPair, nearest_pairs
from simdb.results.matches import Match
from simdb.running.threads import thread_count
from simdb.settings import keeping
from simdb.settings.options import SEEN
from simdb.sketch.sketcher import AnySketcher
from simdb.sources.batch import Batch
from simdb.sources.content import AMOUNT
from simdb.sources.read_again import REPORTED_NAMES, other_ids
from simdb.sources.records import InputId
from simdb.values.arrays import Id, object_array

# The texts of so many documents are read again at a time.
NOTED_DOCUMENTS = 1 << 12


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
            Arrivals(database, transaction, work.question(database.options.sketch), None),
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
    outcome = Outcome(keep=work.job.given.keep)
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


class Settled(NamedTuple):
    """What becomes of the documents of a batch.

    `batch`: the documents to store, with unique ids; `places`: their positions in the whole batch.
    `kept`: positions of documents that this run stored before; `rows`: of those it left out.
    """

    batch: Batch
    places: list[int]
    kept: list[int]
    rows: dict[int, Row]


class _Increment(ExitStack):
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
        super().__init__()
        self._work, self._transaction, self._options = work, transaction, database.options
        question = work.question(database.options.sketch)
        search = None if question.search is None else str(question.search)
        self.repeat = CountedRepeat(
            work.job.run, [*question.rule[:3], search, question.verify], before
        )
        self.ids = UniqueIds(work.progress, database.sketcher, before, self.repeat)
        self.left: dict[int, Row] = {}  # what an earlier occasion left out, by place
        self._places: list[I64] = []
        self._kept: list[I64] = []  # places of documents that stay
        self._count = 0
        rule = keeping.parse(work.job.given.keep, "--keep")
        with ExitStack() as held:
            self._again = held.enter_context(SecondLook(rule, work.origins, work.survivors))
            known = None if older is None else older.texts
            self.arrivals = held.enter_context(Arrivals(database, transaction, question, known))
            self.push(held.pop_all())

    def read(self) -> None:
        """Read all documents, and look them up."""
        given = self._work.job.given
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
            self.repeat.run.add_kept(repeat.hashes_of(ids))
        if self._work.job.run is not None:
            for start in range(0, len(self._found), NOTED_DOCUMENTS):
                some = slice(start, start + NOTED_DOCUMENTS)
                positions = self._refused.positions[some]
                hashes = repeat.hashes_of(names.of(positions, as_read=True))
                left = self._found.taken(some)
                self.repeat.run.add_left(hashes, encoded(texts(positions)), left)
        self.repeat.run.store(self._transaction)

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
        self._again.lines.add(batch)
        if self._work.beginnings is not None:
            _add_beginnings(self._work.beginnings, batch, settled)
        compared = settled.batch
        if len(compared):
            own = batch.ids if len(compared) == len(batch) else batch.chosen(settled.places).ids
            self._again.add(compared, own)
        return compared.texts


def _add_beginnings(beginnings: Beginnings, batch: Batch, settled: Settled) -> None:
    """Add the texts of a batch by the ids under which documents are stored or reported."""
    beginnings.add(settled.batch.ids, settled.batch.texts)
    kept = batch.chosen(settled.kept)
    beginnings.add(kept.ids, kept.texts)
    left = batch.chosen(list(settled.rows))
    beginnings.add([row["id"] for row in settled.rows.values()], left.texts)


class UniqueIds:
    """The ids of one run, each given to one document; counts `renamed` and `seen` documents."""

    def __init__(
        self,
        progress: Progress,
        sketcher: AnySketcher,
        before: simdb.Snapshot,
        earlier: "CountedRepeat",
    ) -> None:
        """`before`: the documents of earlier runs, made by `sketcher`.

        `earlier`: what this run did before.
        """
        self._progress = progress
        self._sketcher = sketcher
        self._before = before
        self._earlier = earlier if earlier.run.is_known else None
        self._taken = SortedKeys()
        self.renamed = 0
        self.seen = 0

    def settle(self, batch: Batch) -> Settled:
        """Give each document of a batch an id of its own, unless it is stored or known."""
        hashes = repeat.hashes_of(batch.ids)
        if self._earlier is None and not self._is_taken(batch.ids, hashes):
            settled = Settled(batch, list(range(len(batch))), [], {})
        else:
            settled = self._settled(batch)
            hashes = repeat.hashes_of(settled.batch.ids)
        self._taken.append(np.sort(hashes))
        return settled

    def _is_taken(self, ids: Sequence[InputId], hashes: U64) -> bool:
        """Return whether an id is stored, or was given before, or occurs twice."""
        ordered = np.sort(hashes)
        if (ordered[1:] == ordered[:-1]).any() or self._taken.holds(ordered).any():
            return True
        return bool(self._before.bits_many(ids)[0].any())

    def _settled(self, batch: Batch) -> Settled:
        earlier = self._earlier
        left = {} if earlier is None else earlier.left_rows(batch)
        rows: dict[int, Row] = {}
        kept: list[int] = []
        given: set[InputId] = set()
        bits = sketch_all(
            self._sketcher, batch.texts, len(batch), errors="strict", threads=thread_count(),
            progress=None,
        ).bits.tolist()  # fmt: skip
        stored = self._stored_bits(batch.ids)
        taken: dict[InputId, int] = {}  # the position of the document that has the id
        for at, own in enumerate(bits):
            for id in _candidates(batch, at):
                found = stored.get(id) if id == batch.ids[at] else self._stored_bits([id]).get(id)
                is_stored = found == own
                if is_stored and earlier is not None and earlier.take(id):
                    kept.append(at)
                    break
                if at in left:
                    # It had this id when it was compared, so no other document had it then.
                    rows[at] = left[at]
                    given.add(left[at]["id"])
                    break
                if is_stored and (earlier is None or not earlier.has_taken(id)):
                    self.seen += 1
                    break
                is_free = found is None and id not in taken and id not in given
                if is_free and not self._taken.holds(repeat.hashes_of([id]))[0]:
                    taken[id] = at
                    self._note_name(batch, at, id)
                    break
        places = list(taken.values())
        return Settled(replace(batch.chosen(places), ids=list(taken)), places, kept, rows)

    def _stored_bits(self, ids: Sequence[InputId]) -> dict[InputId, int]:
        """Return the fingerprint of each document with one of `ids` that an earlier run stored."""
        is_stored, bits = self._before.bits_many(ids)
        return dict(zip(compress(ids, is_stored), bits[is_stored].tolist(), strict=True))

    def _note_name(self, batch: Batch, at: int, id: InputId) -> None:
        """Count and report a document that gets another id than its own."""
        if id == batch.ids[at]:
            return
        self.renamed += 1
        if self.renamed <= REPORTED_NAMES:
            given = batch.ids[at]
            self._progress.note(f"{batch.where(at)}: the id {given!r} is taken; renamed to {id!r}")


class CountedRepeat:
    """What a run did before, and what it does now; counts the documents it keeps `again`."""

    def __init__(self, name: str | None, rule: Sequence[Any], before: simdb.Snapshot) -> None:
        """Read what the run `name` did, see `simdb.deduplication.repeat`."""
        self.run = repeat.Repeat(name, rule, before)
        self._used: set[int] = set()
        self._places: dict[Id, int] = {}  # of the ids of the latest batch

    @property
    def again(self) -> int:
        """The number of documents that are kept again."""
        return len(self._used)

    def take(self, id: Id) -> bool:
        """Return whether the run stored a document with this id; then it counts as kept again."""
        place = self._place(id)
        if place < 0 or place in self._used:
            return False
        self._used.add(place)
        return True

    def has_taken(self, id: Id) -> bool:
        """Return whether the document with this id was kept again before."""
        return self._place(id) in self._used

    def left_rows(self, batch: Batch) -> dict[int, Row]:
        """Return the row of each document that the run left out, by its position in the batch."""
        hashes = repeat.hashes_of(batch.ids)
        self._places = dict(zip(batch.ids, self.run.kept(hashes).tolist(), strict=True))
        positions, left = self.run.left(hashes, batch.contents)
        return dict(zip(positions.tolist(), rows_of(left), strict=True))

    def _place(self, id: Id) -> int:
        place = self._places.get(id)
        return int(self.run.kept(repeat.hashes_of([id]))[0]) if place is None else place


def rows_of(left: repeat.Left) -> Iterator[Row]:
    """Yield a row for each document that was left out."""
    for id, match, distance, similarity, lost in zip(
        left.ids.tolist(), left.matches.tolist(), left.distances.tolist(),
        left.similarities.tolist(), np.isnan(left.similarities).tolist(), strict=True,
    ):  # fmt: skip
        known = None if lost else similarity
        yield {"id": id, **match_row(Match(match, distance, known), "match")}


def _candidates(batch: Batch, at: int) -> Iterator[InputId]:
    """Yield the id of a document and then, without end, others for when it is taken."""
    own = batch.ids[at]
    yield own
    yield from other_ids(own, batch.sources[at], int(batch.positions[at]))
