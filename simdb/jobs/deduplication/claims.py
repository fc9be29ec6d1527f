"""Claims: decides which documents of a run are kept and stored in a database.

A document whose id and sketch are stored is not compared.  It is kept if this run stored it on an
earlier occasion; if another run stored it, it counts as seen.  A document that this run left out on
an earlier occasion is left out again (`repeat.py`).  All other documents are `Arrivals`.  Each is
looked up among the stored documents.  The arrivals without a match there are compared with each
other, as in a run without a database, and the kept ones are stored.  So the database never has to
find documents of the run itself, and an empty database costs no lookup.
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

# Rows per call of `Claims.settle`.
CLAIMED_ROWS = 1 << 15
# Documents per batch when the texts of documents that were left out are hashed.
NOTED_DOCUMENTS = 1 << 12
# Documents per call of `insert_sketched`.
STORED_DOCUMENTS = 1 << 16
# States of a document.
UNDECIDED, FRESH, AGAIN, SEEN, LEFT = range(5)
# Maps the position of a document to an endless series of ids that can replace its own.
OtherIds: TypeAlias = Callable[[int], Iterator[Id]]
# Maps ids of stored documents to their texts, None for an unknown text.
KnownTexts: TypeAlias = Callable[[list[Id]], Sequence[Any]]


class LeftOut(NamedTuple):
    """The documents that are left out, by ascending places, and their matches.

    `earlier`: number of compared documents that match a stored document.
    """

    places: I64
    found: Left
    earlier: int
    verification: Verification | None


class Arrivals(ExitStack):
    """The documents of one run, in the order of adding; `with` frees them."""

    def __init__(
        self,
        held: "database.Database",
        transaction: "database.WriteTransaction",
        question: DedupQuestion,
    ) -> None:
        """Compare with the documents that `transaction` sees, and store in it.

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
        # An empty search raises the errors of the question before anything is read.
        self._lookups(0, None).find([], self._sketcher.sketch([]))
        # `search` chooses how to search the database, and the arrivals are not in it yet.
        self.documents = alone(held.options, replace(question, search=None))
        self.push(self.documents)
        self._sifted = Sifted(self.documents, question.threads)
        self._stays = self._sifted.fresh

    def add_all(
        self, parts: Iterable[Any], count: Callable[[], float], known: KnownTexts | None
    ) -> Iterator[int]:
        """Add the texts of all parts, about `count()` in all; yield the number of texts so far.

        `known` returns the texts of stored documents; None if no text is known.
        """
        lookups = self._lookups(count(), known)
        yield from self._sifted.add_all(
            parts, count, lambda texts: self._taken(texts, lookups, count()),
            errors=self._question.errors,
        )  # fmt: skip

    def decide(self, order: I64 | None, texts: TextSource, names: NamesAt) -> LeftOut:
        """Return the documents that are not to be stored, by their positions.

        `order` int64[n]: all positions, the preferred first; None for the order of adding.  `texts`
        and `names` return the texts and the ids at given positions.
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
        """Store the kept documents in portions; yield the positions and ids of each stored portion.

        `names` and `texts`: see `decide`.
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
        """Keep the sketches of some texts, and look these up in the database; see `Sifted`."""
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
        """Return the distances of documents left[i] and right[i], as a database measures them."""
        if not len(left):
            return np.empty(0, np.uint8)
        sketch, bits, vectors = self._sketcher.options, self._bits.whole(), self._vectors.whole()
        return apart(sketch, bits, vectors, left, right)


class Settled(NamedTuple):
    """Some documents, by their states before any comparison, as ascending positions.

    `fresh`: the documents to compare.  `names`: new ids by position, for documents that cannot be
    stored under their own.  `left`: the documents that this run left out on an earlier occasion;
    `found`: their matches.
    """

    fresh: I64
    names: dict[int, Id]
    left: I64
    found: Left


class Claims(ExitStack):
    """The documents of one run over a database, by their places in the input; `with` frees them.

    Compared documents also have a position, which counts only compared documents.
    """

    def __init__(
        self,
        held: "database.Database",
        transaction: "database.WriteTransaction",
        question: DedupQuestion,
        run: str | None,
    ) -> None:
        """Begin without documents; `run`: the name of the run, None for a run without a name.

        Raises OptionError for a question that the database cannot answer.
        """
        super().__init__()
        self._sketcher, self._transaction, self._question = held.sketcher, transaction, question
        key = database.id_key(transaction)
        self._repeat = Repeat(run, question.rule, transaction, key)
        self._key = self._repeat.key or kernel.new_id_key()
        self._is_back = np.zeros(self._repeat.kept_count, np.bool_)  # stored ones that came again
        self._taken = SortedKeys()  # hashes of ids of documents compared or left out again
        self._places: list[I64] = []  # of compared documents
        self._again: list[I64] = []
        self._seen: list[I64] = []
        self._empty: list[Bools] = []
        self._left: list[tuple[I64, Left]] = []
        self.samples: list[Id] = []  # one id of each stored portion
        self._count = 0
        self._arrivals = self.enter_context(Arrivals(held, transaction, question))
        self.documents = self._arrivals.documents

    @property
    def again(self) -> I64:
        """The places of documents that this run stored on an earlier occasion: they are kept."""
        return joined(self._again)

    @property
    def seen(self) -> I64:
        """The places of documents that another run stored."""
        return joined(self._seen)

    @property
    def is_empty(self) -> Bools:
        """Whether each document of `seen` has no features: bool[k]."""
        return np.concatenate([np.empty(0, np.bool_), *self._empty])

    def settle(self, ids: Sequence[Id], texts: TextSource, others: OtherIds) -> Settled:
        """Take the next documents of the input, and return which of them need a comparison.

        `texts` returns the texts at given positions among them.  `others` is called for a document
        whose id belongs to another document.
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
        """Add the texts of all fresh documents; see `Arrivals.add_all`."""
        return self._arrivals.add_all(parts, count, known)

    def decide(self, order: I64 | None, texts: TextSource, names: NamesAt) -> LeftOut:
        """Return the documents that are left out, now or again; see `Arrivals.decide`."""
        self._refused = refused = self._arrivals.decide(order, texts, names)
        own = joined(self._places)[refused.places]
        places = np.concatenate([own, *(each for each, _ in self._left)])
        found = Left.joined([refused.found, *(each for _, each in self._left)])
        by_place = np.argsort(places)
        return refused._replace(places=places[by_place], found=found.taken(by_place))

    def store(self, names: NamesAt, texts: TextSource) -> I64:
        """Store the new documents and the note of the run; return the places of new documents."""
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
        """Return the states of some documents, new ids by position, and the matches of `LEFT` ones.

        `own`: their sketches.  Documents with equal ids and texts get different new ids, so that
        the note of the run can distinguish the kept ones.
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
        """Mark documents that the run stored earlier, by their places in its note (-1: none).

        Returns the positions of the documents that were not marked before.
        """
        known = np.flatnonzero(kept >= 0)
        first = known[np.unique(kept[known], return_index=True)[1]]
        back = first[~self._is_back[kept[first]]]
        self._is_back[kept[back]] = True
        return back


class OwnSketches:
    """The sketches of some documents, each made when it is first compared."""

    def __init__(self, make: Callable[[I64], Sketches], count: int) -> None:
        """Begin without sketches; `make` returns the sketches of documents at given positions."""
        self._make = make
        self._bits = np.zeros(count, np.uint64)
        self._is_made = np.zeros(count, np.bool_)
        self.is_empty = np.zeros(count, np.bool_)  # of sketched documents

    def are(self, bits: U64, positions: I64, is_asked: Bools) -> Bools:
        """Return whether each document has a flag in `is_asked` and its sketch has these `bits`."""
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
    """Return a function that returns the texts at the positions in UTF-8."""
    return lambda: encoded(texts(positions))


class ClaimedRows:
    """The rows of one call, by their positions in the data; `names` has the ids of all rows."""

    def __init__(
        self,
        held: "database.Database",
        texts: Documents,
        order: I64,
        ids: Sequence[Id] | None,
        question: DedupQuestion,
        run: str | None,
    ) -> None:
        """Take the rows in `order`, the preferred first.

        `ids`: None derives ids from the texts.  `run`: the name of the run; None derives it from
        the ids.  Raises InputError for rows with equal ids and different texts.
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
        """Store the rows that match nothing, and return the matches of all other rows."""
        with self._held.write() as transaction:
            # The memory of the search is freed before the commit.
            return self._claim(transaction)

    def _claim(self, transaction: "database.WriteTransaction") -> RowMatches:
        """Stage the new rows, and return the matches of all other rows."""
        texts, every = self._texts, np.sort(self._order)
        with Claims(self._held, transaction, self._question, self._run) as claims:
            rows = joined([self._settled(claims, every[some]) for some in _portions(len(every))])
            self._add_all(claims, rows, known=every[np.concatenate([claims.again, claims.seen])])
            ids_at, texts_at = (lambda at: self.ids(rows[at])), (lambda at: texts.at(rows[at]))
            removed = claims.decide(self._preferred(rows), texts_at, ids_at)
            # A text without words never matches, not even its own copy in the database.
            seen = claims.seen if self._has_own_ids else claims.seen[~claims.is_empty]
            found = self._matches(every[removed.places], removed, every[seen])
            # A seen row is removed at every threshold, so it does not count here.
            self._question.check_share(len(found.removed) - len(seen), len(texts))
            claims.store(ids_at, texts_at)
        return found

    def _preferred(self, rows: I64) -> I64 | None:
        """Return the positions of `rows`, the preferred first; None if that is their own order."""
        if (self._order[1:] > self._order[:-1]).all():
            return None
        places = places_in(rows, self._order)
        return places[places >= 0]

    def ids(self, rows: I64) -> list[Id]:
        """Return the ids of some rows."""
        return [self.names[row] for row in rows.tolist()]

    def _settled(self, claims: Claims, rows: I64) -> I64:
        """Settle rows, and return the rows to compare.

        Raises ExistsError if the database holds another text with the id of a row.
        """

        def others(at: int) -> NoReturn:
            row = int(rows[at])
            raise ExistsError(
                f"row {row} has the id {self.names[row]!r}, but the database holds another text"
                " with this id; give the row another id, or omit id="
            )

        with self._refusing(rows):
            settled = claims.settle(self.ids(rows), lambda at: self._texts.at(rows[at]), others)
        return rows[settled.fresh]

    def _add_all(self, claims: Claims, rows: I64, known: I64) -> None:
        """Add the texts of `rows` to the claims; `known`: the rows that are stored documents."""
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
        """Raise InputError unless each row has the same text as the first row with its id."""
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
        """Add the position of the row in the data to an InputError about a row."""
        try:
            yield
        except InputError as error:
            self._question.refuse(error, self._held.sketcher, self._texts, rows)

    def _matches(self, rows: I64, removed: LeftOut, seen: I64) -> RowMatches:
        """Return the matches of all removed rows, by ids.

        `rows`: the rows of `removed`.  `seen`: rows that match the stored documents with their ids.
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
        # A row that repeats the id of an earlier row has the match of that row.
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
    """Return the first row of each id, the repeated rows, and the first row of each repeated one.

    `hashes`: the hashes of the ids of the rows in `order`.
    """
    by_hash = np.argsort(hashes, kind="stable")
    is_new = is_first(hashes[by_hash])
    firsts = np.empty(len(order), np.int64)
    firsts[by_hash] = by_hash[np.flatnonzero(is_new)][np.cumsum(is_new) - 1]
    is_one = firsts == np.arange(len(order))
    return order[is_one], order[~is_one], order[firsts[~is_one]]
