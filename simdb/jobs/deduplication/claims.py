"""Claims: which documents of a run stay beside a database, by what is stored and by earlier runs.

A document whose id and sketch are stored is not compared.  If this run stored it before, it stays,
and if another run did, it was seen before.  A document that this run left out before is left out
again, see `repeat.py`.  All others are `Arrivals`: each is looked up among the stored ones, and
those that match none of them are compared with each other as the documents of a run without a
database are.  Those that stay are stored.  So nothing is looked up among the documents of the run
itself, and a database that is empty costs no look-up.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, NoReturn, TypeAlias

import numpy as np

from simdb import database
from simdb.core import kernel
from simdb.core.arrays import EMPTY, Id, Sketches, is_first, object_array, offsets_of, places_in
from simdb.core.arrow import encoded
from simdb.core.clusters import Clusters
from simdb.core.dtypes import I64, U8, U64, Array, Bools
from simdb.core.errors import ExistsError, InputError
from simdb.core.matches import Matches, Verification
from simdb.core.memory import Blocks
from simdb.core.scales import TEXT_CONTENT
from simdb.database import sketch_all
from simdb.jobs.deduplication.alike import apart
from simdb.jobs.deduplication.minima import SortedKeys
from simdb.jobs.deduplication.question import DedupQuestion, Documents, NamesAt, TextSource, joined
from simdb.jobs.deduplication.repeat import NOTHING, Left, Repeat, hashes_of, name_of
from simdb.jobs.deduplication.result import RowMatches
from simdb.jobs.deduplication.rows import RowTexts
from simdb.jobs.deduplication.within import Sifted, alone, lookups_of
from simdb.sketch import AnySketcher

# The rows claimed at a time.
CLAIMED_ROWS = 1 << 15
# The documents left out whose texts are asked for at a time.
NOTED_DOCUMENTS = 1 << 12
# The documents stored at a time.
STORED_DOCUMENTS = 1 << 16
# What becomes of a document.
UNDECIDED, FRESH, AGAIN, SEEN, LEFT = range(5)
# From the position of a document to ids that it can have in place of its own, without end.
OtherIds: TypeAlias = Callable[[int], Iterator[Id]]
# From ids of stored documents to their texts, None for one that is not known.
KnownTexts: TypeAlias = Callable[[list[Id]], Sequence[Any]]


class LeftOut(NamedTuple):
    """The documents that are left out, by their ascending places, and what they match.

    `earlier`: how many of the documents that were compared match a stored one.
    """

    places: I64
    found: Left
    earlier: int
    verification: Verification | None


class Arrivals(ExitStack):
    """The documents of one run, in the order in which they are added; `with` frees them."""

    def __init__(
        self,
        held: database.Database,
        transaction: "database.WriteTransaction",
        question: DedupQuestion,
    ) -> None:
        """Compare with what the `transaction` of a database sees, and store in it.

        Raises OptionError for a question that the database cannot answer.
        """
        super().__init__()
        self._question, self._transaction = question, transaction
        self._sketcher = held.sketcher
        self._sketcher.prepare()
        self._has_stored = len(transaction) > 0
        memory = question.memory
        columns = [self.enter_context(Blocks(memory)) for _ in range(3)]
        self._bits, self._vectors, self._states = columns
        # It raises what the question raises.
        self._lookups(0, None).find([], self._sketcher.sketch([]))
        # How a database is searched says nothing of documents that are in none.
        self.documents = alone(held.options, replace(question, search=None))
        self.push(self.documents)
        self._sifted = Sifted(self.documents, question.threads)
        self._stays = self._sifted.fresh

    def add_all(
        self, parts: Iterable[Any], count: Callable[[], float], known: KnownTexts | None
    ) -> Iterator[int]:
        """Add the texts of all parts, about `count()` in all; yield how many there are so far.

        `known`: the texts of stored documents; None if no text is known.
        """
        lookups = self._lookups(count(), known)
        yield from self._sifted.add_all(
            parts, count, lambda texts: self._taken(texts, lookups, count()),
            errors=self._question.errors,
        )  # fmt: skip

    def decide(self, order: I64 | None, texts: TextSource, names: NamesAt) -> LeftOut:
        """Return which documents are not stored, by their positions.

        `order` int64[n]: their positions, those to be preferred first; None for the order in which
        they were added.  `texts` and `names` return the texts and the ids at some positions.
        """
        decided, found = self._sifted.decide(order, texts), self._sifted.found
        removed, leaders = decided.removed, decided.leaders
        positions = np.concatenate([removed, *self._sifted.matched])
        by_position = np.argsort(positions)
        positions = positions[by_position]
        matches = [object_array(list(names(leaders))), *(each.ids for each in found)]
        distances = [self._apart(removed, leaders), *(each.distances for each in found)]
        similarities = [decided.similarities, *(each.similarities for each in found)]
        self._stays = np.setdiff1d(self._sifted.fresh, removed, assume_unique=True)
        columns = (np.concatenate(each)[by_position] for each in (matches, distances, similarities))
        left = Left(object_array(list(names(positions))), *columns)
        return LeftOut(positions, left, len(positions) - len(removed), decided.verification)

    def store(self, names: NamesAt, texts: TextSource) -> Iterator[tuple[I64, Sequence[Id]]]:
        """Store the documents that are not refused, and yield their positions and ids in portions.

        A portion is stored when it is yielded.  `names` and `texts`: see `decide`.
        """
        fresh = self._stays
        if len(fresh):
            bits, vectors, states = (
                each.whole() for each in (self._bits, self._vectors, self._states)
            )
        for start in range(0, len(fresh), STORED_DOCUMENTS):
            some = fresh[start : start + STORED_DOCUMENTS]
            ids = names(some)
            database.insert_sketched(
                self._transaction, ids,
                Sketches(bits[some], vectors[some], states[some], content=TEXT_CONTENT),
                partial(texts, some), self._question.threads,
            )  # fmt: skip
            yield some, ids

    def _taken(
        self, texts: Any, lookups: "database.Lookups[Any]", count: float
    ) -> tuple[Matches[Any] | None, Any]:
        """Keep the sketches of some texts, and look them up among what is stored; see `Sifted`."""
        if len(texts):
            errors = self._question.errors
            sketches, rest = self._sifted.sketched(self._sketcher, texts, count, errors)
        else:
            sketches, rest = self._sketcher.sketch([]), texts
        self._bits.add(sketches.bits)
        self._vectors.add(sketches.vectors)
        self._states.add(sketches.states)
        return lookups.find(texts, sketches) if self._has_stored else None, rest

    def _lookups(self, expected: float, known: KnownTexts | None) -> "database.Lookups[Any]":
        return lookups_of(self._transaction, self._question, known, expected)

    def _apart(self, left: I64, right: I64) -> Array:
        """Return the distances of some documents, as a database measures them."""
        if not len(left):
            return np.empty(0, np.uint8)
        sketch, bits, vectors = self._sketcher.options, self._bits.whole(), self._vectors.whole()
        return apart(sketch, bits, vectors, left, right)


class Settled(NamedTuple):
    """What is known of some documents without a comparison, by their positions among these.

    `fresh`: the documents to compare.  `names`: the ids under which some are stored in place of
    their own.  `left`: documents that this run left out before, and what was `found` then.  All
    positions ascend.
    """

    fresh: I64
    names: dict[int, Id]
    left: I64
    found: Left


class Claims(ExitStack):
    """The documents of one run over a database, by their places in the input; `with` frees them.

    Documents that are compared have a position among those, too.
    """

    def __init__(
        self,
        held: database.Database,
        transaction: "database.WriteTransaction",
        question: DedupQuestion,
        run: str | None,
    ) -> None:
        """Begin without documents; `run`: the name of the run, None for a run without one.

        Raises OptionError for a question that the database cannot answer.
        """
        super().__init__()
        self._sketcher, self._transaction, self._question = held.sketcher, transaction, question
        key = database.id_key(transaction)
        self._repeat = Repeat(run, question.rule, transaction, key)
        self._key = self._repeat.key or kernel.new_id_key()
        self._is_back = np.zeros(self._repeat.kept_count, np.bool_)  # what the run stored before
        self._taken = SortedKeys()  # hashes of the ids of documents compared, or left out again
        self._places: list[I64] = []  # of compared documents
        self._again: list[I64] = []
        self._seen: list[I64] = []
        self._empty: list[Bools] = []
        self._left: list[tuple[I64, Left]] = []
        self.samples: list[Id] = []  # one id of each portion that was stored
        self._count = 0
        self._arrivals = self.enter_context(Arrivals(held, transaction, question))
        self.documents = self._arrivals.documents

    @property
    def again(self) -> I64:
        """The places of documents that this run stored before, and that stay."""
        return joined(self._again)

    @property
    def seen(self) -> I64:
        """The places of documents that another run stored."""
        return joined(self._seen)

    @property
    def is_empty(self) -> Bools:
        """Which documents of `seen` have no features: bool[k]."""
        return np.concatenate([np.empty(0, np.bool_), *self._empty])

    def settle(self, ids: Sequence[Id], texts: TextSource, others: OtherIds) -> Settled:
        """Take the next documents of the input, and return what is known of them.

        `texts` returns the texts at some positions among them.  `others` is called for a document
        whose id another document has.
        """
        own = OwnSketches(
            lambda some: _sketched(self._sketcher, texts(some), len(some), self._question), len(ids)
        )
        becomes, names, found = self._become(ids, texts, own, others)
        fresh, again, seen, left = (
            np.flatnonzero(becomes == each) for each in (FRESH, AGAIN, SEEN, LEFT)
        )
        first, self._count = self._count, self._count + len(ids)
        self._places.append(first + fresh)
        self._again.append(first + again)
        self._seen.append(first + seen)
        self._empty.append(own.is_empty[seen])
        if len(left):
            self._left.append((first + left, found))
        came = np.concatenate([again, seen]).tolist()
        stored = [*(names.get(at, ids[at]) for at in came), *found.matches]
        if stored:
            database.note_seen(self._transaction, stored)
        return Settled(fresh, names, left, found)

    def add_all(
        self, parts: Iterable[Any], count: Callable[[], float], known: KnownTexts | None
    ) -> Iterator[int]:
        """Add the texts of the documents to compare; see `Arrivals.add_all`."""
        return self._arrivals.add_all(parts, count, known)

    def decide(self, order: I64 | None, texts: TextSource, names: NamesAt) -> LeftOut:
        """Return which documents are left out, now or again; see `Arrivals.decide`."""
        self._refused = refused = self._arrivals.decide(order, texts, names)
        own = joined(self._places)[refused.places]
        places = np.concatenate([own, *(each for each, _ in self._left)])
        found = Left.joined([refused.found, *(each for _, each in self._left)])
        by_place = np.argsort(places)
        return refused._replace(places=places[by_place], found=found.taken(by_place))

    def store(self, names: NamesAt, texts: TextSource) -> I64:
        """Store what is new, and the note of the run; return the places of what is new."""
        stored = []
        for positions, ids in self._arrivals.store(names, texts):
            stored.append(positions)
            self.samples.append(ids[0])
            self._repeat.add_kept(self._repeat.hashes(ids))
        refused = self._refused
        for start in range(0, len(refused.places), NOTED_DOCUMENTS):
            some = slice(start, start + NOTED_DOCUMENTS)
            contents = _contents(texts, refused.places[some])
            self._repeat.add_left(contents, refused.found.taken(some))
        self._repeat.store()
        return joined(self._places)[joined(stored)]

    def _become(
        self, ids: Sequence[Id], texts: TextSource, own: "OwnSketches", others: OtherIds
    ) -> tuple[U8, dict[int, Id], Left]:
        """Return what becomes of some documents, other ids by position, and what was left out.

        `own`: the sketches.  Of documents with one id and one text each has other names, by which
        the note of the run tells which of them it kept.
        """
        becomes = np.full(len(ids), UNDECIDED, np.uint8)
        pending, asked = np.arange(len(ids)), list(ids)
        places, left = [np.empty(0, np.int64)], [NOTHING]
        waiting: dict[int, Iterator[Id]] = {}
        names: dict[int, Id] = {}
        while len(pending):
            keys = self._repeat.hashes(asked)
            own_keys = keys if self._repeat.key else hashes_of(asked, self._key)
            is_stored, bits = self._transaction.bits_many(asked)
            is_same = own.are(bits, pending, is_stored)
            kept = np.where(is_same, self._repeat.kept(keys), -1)
            becomes[pending[self._back(kept)]] = AGAIN
            rest = np.flatnonzero(becomes[pending] == UNDECIDED)
            again, found = self._repeat.left(keys[rest], _contents(texts, pending[rest]))
            is_new = self._taken.add(own_keys[rest[again]])
            places.append(pending[rest[again[is_new]]])
            left.append(found.taken(is_new))
            becomes[places[-1]] = LEFT
            is_open = becomes[pending] == UNDECIDED
            becomes[pending[is_open & is_same & (kept < 0)]] = SEEN
            free = np.flatnonzero(is_open & ~is_stored)
            becomes[pending[free[self._taken.add(own_keys[free])]]] = FRESH
            pending = np.flatnonzero(becomes == UNDECIDED)
            for at in pending.tolist():
                if at not in waiting:
                    waiting[at] = others(at)
                names[at] = next(waiting[at])
            asked = [names[at] for at in pending.tolist()]
        order = np.argsort(joined(places))
        return becomes, names, Left.joined(left).taken(order)

    def _back(self, kept: I64) -> I64:
        """Take documents by their places among what the run stored, -1 for none.

        Returns the positions of those that come for the first time.
        """
        known = np.flatnonzero(kept >= 0)
        first = known[np.unique(kept[known], return_index=True)[1]]
        back = first[~self._is_back[kept[first]]]
        self._is_back[kept[back]] = True
        return back


class OwnSketches:
    """The sketches of some documents, each of which is made when it is first compared."""

    def __init__(self, make: Callable[[I64], Sketches], count: int) -> None:
        """`make` returns the sketches of documents at some positions."""
        self._make = make
        self._bits = np.zeros(count, np.uint64)
        self._is_made = np.zeros(count, np.bool_)
        self.is_empty = np.zeros(count, np.bool_)  # of what was compared

    def are(self, bits: U64, positions: I64, is_asked: Bools) -> Bools:
        """Return which of some documents are asked for and have sketches with these `bits`."""
        asked = positions[is_asked]
        new = asked[~self._is_made[asked]]
        if len(new):
            sketches = self._make(new)
            self._bits[new], self.is_empty[new] = sketches.bits, sketches.states == EMPTY
            self._is_made[new] = True
        is_same: Bools = is_asked & (self._bits[positions] == bits)
        return is_same


def _sketched(sketcher: AnySketcher, texts: Any, count: int, question: DedupQuestion) -> Sketches:
    return sketch_all(sketcher, texts, count, errors=question.errors, threads=question.threads)


def _contents(texts: TextSource, positions: I64) -> Callable[[], Iterator[bytes]]:
    """Return a function that returns the texts at some positions in UTF-8."""
    return lambda: encoded(texts(positions))


class ClaimedRows:
    """The rows of one call, by their positions in the data; `names`: the ids of all."""

    def __init__(
        self,
        held: database.Database,
        texts: Documents,
        order: I64,
        ids: Sequence[Id] | None,
        question: DedupQuestion,
        run: str | None,
    ) -> None:
        """Take the rows in `order`, those to be preferred first, to compare them.

        `ids`: None makes them of the texts.  `run`: the name of the run; None makes it of the ids.
        Raises InputError for rows with one id and different texts.
        """
        self._held, self._texts, self._question = held, texts, question
        self._has_own_ids = ids is not None
        if ids is None:
            assert isinstance(texts, RowTexts), "documents of files have ids"
            ids = texts.digests()
        self.names = ids
        own = self.ids(order)
        self._run = name_of(hashes_of(own)) if run is None else run
        self._order, *self._repeats = _repeats(order, hashes_of(own, kernel.new_id_key()))
        self._check_repeats(*self._repeats)

    def store_new(self) -> RowMatches:
        """Store the rows that nothing in the database matches, and return what the others match."""
        with self._held.write() as transaction:
            # All that was needed to decide is freed before the commit.
            return self._claim(transaction)

    def _claim(self, transaction: "database.WriteTransaction") -> RowMatches:
        """Store the rows that are new, and return what the others match."""
        texts, every = self._texts, np.sort(self._order)
        with Claims(self._held, transaction, self._question, self._run) as claims:
            rows = joined([self._settled(claims, every[some]) for some in _portions(len(every))])
            self._add_all(claims, rows, known=every[np.concatenate([claims.again, claims.seen])])
            ids_at, texts_at = (lambda at: self.ids(rows[at])), (lambda at: texts.at(rows[at]))
            removed = claims.decide(self._preferred(rows), texts_at, ids_at)
            # A text without words is like nothing, so its own copy in the database is not it.
            seen = claims.seen if self._has_own_ids else claims.seen[~claims.is_empty]
            found = self._matches(every[removed.places], removed, every[seen])
            # What was seen before is no duplicate that another threshold would keep.
            self._question.check_share(len(found.removed) - len(seen), len(texts))
            claims.store(ids_at, texts_at)
        return found

    def _preferred(self, rows: I64) -> I64 | None:
        """Return the positions of ascending rows, those to be preferred first; None for theirs."""
        if (self._order[1:] > self._order[:-1]).all():
            return None
        places = places_in(rows, self._order)
        return places[places >= 0]

    def ids(self, rows: I64) -> list[Id]:
        """Return the ids of some rows."""
        return [self.names[row] for row in rows.tolist()]

    def _settled(self, claims: Claims, rows: I64) -> I64:
        """Give rows to the claims, and return the rows to compare.

        Raises ExistsError if the database holds another text with the id of a row.
        """

        def others(at: int) -> NoReturn:
            row = int(rows[at])
            raise ExistsError(
                f"row {row} has the id {self.names[row]!r}, with which the database holds"
                " another text; give ids that stay with their texts, or leave out id="
            )

        with self._refusing(rows):
            settled = claims.settle(self.ids(rows), lambda at: self._texts.at(rows[at]), others)
        return rows[settled.fresh]

    def _add_all(self, claims: Claims, rows: I64, known: I64) -> None:
        """Give the texts of rows to the claims; `known`: rows that are stored documents."""
        place_of = dict(zip(self.ids(known), known.tolist(), strict=True))

        def known_texts(ids: list[Id]) -> list[Any]:
            places = [place_of.get(id, -1) for id in ids]
            found = iter(self._texts.at(np.array([each for each in places if each >= 0], np.int64)))
            return [None if each < 0 else next(found) for each in places]

        before, done = len(self.names) - len(rows), 0
        if before:
            self._question.report(before)
        parts = (self._texts.at(rows[some]) for some in _portions(len(rows)))
        count, texts = lambda: len(rows), known_texts if place_of else None
        try:
            for done in claims.add_all(parts, count, texts):
                self._question.report(before + done)
        except InputError as error:
            self._question.refuse(error, self._held.sketcher, self._texts, rows[done:])

    def _check_repeats(self, rows: I64, firsts: I64) -> None:
        """Raise InputError unless each row has the text of the first row with its id."""
        different = np.flatnonzero(self._bits(rows) != self._bits(firsts))
        if len(different):
            pair = sorted((int(rows[different[0]]), int(firsts[different[0]])))
            raise InputError(
                f"the rows {pair[0]} and {pair[1]} have the id {self.names[pair[0]]!r} but"
                " different texts; the database needs an id for each text: make them distinct, or"
                " leave out id="
            )

    def _bits(self, rows: I64) -> U64:
        """Return the bits of the sketches of rows."""
        sketcher, texts = self._held.sketcher, self._texts
        with self._refusing(rows):
            return _sketched(sketcher, texts.at(rows), len(rows), self._question).bits

    @contextmanager
    def _refusing(self, rows: I64) -> Iterator[None]:
        """Name the row of the data in an InputError about one of some rows."""
        try:
            yield
        except InputError as error:
            self._question.refuse(error, self._held.sketcher, self._texts, rows)

    def _matches(self, rows: I64, removed: LeftOut, seen: I64) -> RowMatches:
        """Return what rows match, by ids.

        `rows`: those that are `removed`.  `seen`: rows that match the documents with their ids.
        """
        repeats, firsts = self._repeats
        alike = np.concatenate([seen, repeats])
        every = np.concatenate([rows, alike])
        by_row = np.argsort(every)
        every = every[by_row]
        matches = np.concatenate([removed.found.matches, object_array(self.ids(alike))])[by_row]
        ones = np.ones(len(alike), np.float32)
        similarities = np.concatenate([removed.found.similarities, ones])[by_row]
        none = np.zeros(len(alike), np.int64)
        distances = np.concatenate([removed.found.distances.astype(np.int64), none])[by_row]
        # A row whose id an earlier row has matches what that row matches.
        again, first = places_in(every, repeats), places_in(every, firsts)
        again, first = again[first >= 0], first[first >= 0]
        matches[again], similarities[again] = matches[first], similarities[first]
        distances[again] = distances[first]
        members: dict[Id, list[Id]] = {}
        is_repeat = np.isin(every, repeats).tolist()
        for row, match, is_one in zip(every.tolist(), matches.tolist(), is_repeat, strict=True):
            if self.names[row] != match and not is_one:
                members.setdefault(match, [match]).append(self.names[row])
        offsets = offsets_of([len(group) for group in members.values()])
        grouped = object_array([id for group in members.values() for id in group])
        groups = Clusters(offsets, grouped, removed.verification, self._held.options.measure)
        return RowMatches(every, matches.tolist(), similarities, groups, distances=distances)


def _portions(count: int) -> Iterator[slice]:
    for start in range(0, count, CLAIMED_ROWS):
        yield slice(start, start + CLAIMED_ROWS)


def _repeats(order: I64, hashes: U64) -> tuple[I64, I64, I64]:
    """Return the first row with each id, the other rows, and the first row for each of those.

    `hashes`: those of the ids of the rows in `order`.
    """
    by_hash = np.argsort(hashes, kind="stable")
    is_new = is_first(hashes[by_hash])
    firsts = np.empty(len(order), np.int64)
    firsts[by_hash] = by_hash[np.flatnonzero(is_new)][np.cumsum(is_new) - 1]
    is_one = firsts == np.arange(len(order))
    return order[is_one], order[~is_one], order[firsts[~is_one]]
