"""Claims: keeps the rows that a database has nothing like yet, and stores them in it.

A row that matches no stored document is also compared with the other new rows, see `Arrivals`.
A row with the id of a stored document was seen before, and needs no search.  Its text is that of
the document, so it also decides about the other rows.  What this run kept or left out before is
kept or left out again, see `repeat.py`.

`Arrivals` looks up each document among the stored ones.  Those that match none of them are compared
with each other as the documents of a run without a database are, and those that stay are stored.
So nothing is looked up among the documents of the run itself, and a database that is empty costs no
look-up.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from simdb import database, engine
from simdb.deduplication.measures import apart
from simdb.deduplication.minima import Blocks
from simdb.deduplication.newcomers import Sifted, lookups_of
from simdb.deduplication.question import DedupQuestion, TextSource
from simdb.deduplication.repeat import Left, Repeat, hashes_of, name_of
from simdb.deduplication.result import RowMatches
from simdb.deduplication.texts import RowTexts
from simdb.deduplication.within import alone
from simdb.engine.state.incoming import sketch_all
from simdb.ground.choices import ErrorsName
from simdb.ground.dtypes import F32, I64, U8, U64, Objects
from simdb.ground.errors import ExistsError, InputError
from simdb.results.clusters import Clusters
from simdb.results.matches import Matches, Verification
from simdb.values.arrays import EMPTY, Id, Sketches, object_array, offsets_of

# So many rows are claimed at a time.
CLAIMED_ROWS = 1 << 15
# So many documents are stored at a time.
STORED_DOCUMENTS = 1 << 16

# From positions of documents to their ids.
Names = Callable[[I64], Sequence[Id]]


class Claims:
    """The claims of one call, in one transaction: all new rows are stored or, after an error, none.

    `ids` and `hashes`: the id of each row and its hash; with `has_own_ids` false the ids were made
    of the texts.  `repeat`: what this run did before.
    """

    def __init__(
        self,
        held: database.Database,
        transaction: "engine.transaction.WriteTransaction",
        texts: RowTexts,
        ids: Sequence[Id],
        hashes: U64,
        question: DedupQuestion,
        repeat: Repeat,
        *,
        has_own_ids: bool,
    ) -> None:
        """Begin without claims."""
        self._held = held
        self._transaction = transaction
        self._texts = texts
        self._ids = ids
        self._hashes = hashes
        self._question = question
        self._repeat = repeat
        self._has_own_ids = has_own_ids
        self._seen: dict[Id, int] = {}  # the rows stored by earlier calls
        self.matched: dict[int, tuple[Id, float]] = {}  # by row
        self.verification: Verification | None = None

    def see(self, rows: I64) -> I64:
        """Note which rows are stored already or were left out before, and return the others.

        Raises ExistsError if the database holds another text with the id of a row.
        """
        is_stored, stored_bits = self._transaction.bits_many(self._ids_of(rows))
        is_again = is_stored & (self._repeat.kept(self._hashes[rows]) >= 0)
        is_left = np.zeros(len(rows), np.bool_)
        others = np.flatnonzero(~is_again)
        places, left = self._repeat.left(
            self._hashes[rows[others]], lambda: self._texts.contents_at(rows[others])
        )
        is_left[others[places]] = True
        self._leave(rows[is_left], left)
        is_seen = is_stored & ~is_left
        seen = rows[is_seen]
        sketches = self._sketches(seen)
        other = np.flatnonzero(sketches.bits != stored_bits[is_seen])
        if len(other):
            row = int(seen[other[0]])
            raise ExistsError(
                f"row {row} has the id {self._ids[row]!r}, with which the database holds"
                " another text; give ids that stay with their texts, or leave out id="
            )
        stays = is_again[is_seen]
        if not self._has_own_ids:
            # A text without words is like nothing, so its own copy in the database is not it.
            stays |= sketches.states == EMPTY
        for row, is_kept in zip(seen.tolist(), stays.tolist(), strict=True):
            self._seen[self._ids[row]] = row
            if not is_kept:
                self.matched[row] = (self._ids[row], 1.0)
        return rows[~is_stored & ~is_left]

    def claim(self, rows: I64) -> None:
        """Store the rows that match nothing, and note what each of the others matches."""
        question, done = self._question, 0
        known = self._seen_texts if self._seen else None
        arrivals = Arrivals(self._held, self._transaction, question, known)
        with arrivals:
            try:
                for done in arrivals.add_all(
                    map(self._texts.at, _portions(rows)), lambda: len(rows), errors=question.errors
                ):
                    question.report(len(self._ids) - len(rows) + done)
            except InputError as error:
                question.refuse(error, self._held.sketcher, self._texts, rows[done:])
            refused = arrivals.decide(
                None, lambda places: self._texts.at(rows[places]),
                lambda places: self._ids_of(rows[places]),
            )  # fmt: skip
            for places, _ in arrivals.store(
                lambda places: self._ids_of(rows[places]),
                lambda places: self._texts.at(rows[places]),
            ):
                self._repeat.add_kept(self._hashes[rows[places]])
        left = rows[refused.positions]
        found = Left(
            object_array(self._ids_of(left)), refused.matches, refused.distances,
            refused.similarities,
        )  # fmt: skip
        self._leave(left, found)
        self._repeat.add_left(self._hashes[left], self._texts.contents_at(left), found)
        self.verification = refused.verification

    def repeat(self, rows: I64, firsts: I64) -> None:
        """Note what rows match whose ids other rows have, the `firsts`, which were claimed.

        Raises InputError if the texts of two such rows differ.
        """
        other = np.flatnonzero(self._sketches(rows).bits != self._sketches(firsts).bits)
        if len(other):
            pair = sorted((int(rows[other[0]]), int(firsts[other[0]])))
            raise InputError(
                f"the rows {pair[0]} and {pair[1]} have the id {self._ids[pair[0]]!r} but different"
                " texts; the database needs an id for each text: make them distinct, or leave out"
                " id="
            )
        for row, first in zip(rows.tolist(), firsts.tolist(), strict=True):
            self.matched[row] = self.matched.get(first, (self._ids[row], 1.0))

    def _leave(self, rows: I64, left: Left) -> None:
        """Note what some rows match."""
        found = zip(left.matches, left.similarities.tolist(), strict=True)
        self.matched.update(zip(rows.tolist(), found, strict=True))

    def _sketches(self, rows: I64) -> Sketches:
        """Return the sketches of rows."""
        question = self._question
        try:
            return sketch_all(
                self._held.sketcher, self._texts.at(rows), len(rows), errors=question.errors,
                threads=question.threads, progress=None,
            )  # fmt: skip
        except InputError as error:
            question.refuse(error, self._held.sketcher, self._texts, rows)

    def _ids_of(self, rows: I64) -> list[Id]:
        return [self._ids[row] for row in rows.tolist()]

    def _seen_texts(self, ids: list[Id]) -> list[Any]:
        """Return the texts of documents of earlier calls, None if no row has the id."""
        rows = [self._seen.get(id, -1) for id in ids]
        found = iter(self._texts.at(np.array([row for row in rows if row >= 0], np.int64)))
        return [next(found) if row >= 0 else None for row in rows]


def find_new(
    held: database.Database,
    texts: RowTexts,
    order: I64,
    ids: Sequence[Id] | None,
    question: DedupQuestion,
    run: str | None,
) -> tuple[Sequence[Id], RowMatches]:
    """Store the rows that nothing in the database matches; return all ids, and what was found.

    `order`: the rows to compare, those to be preferred first.  `ids`: None makes them of the texts.
    `run`: the name of the run; None makes it of the ids.
    """
    names = texts.digests() if ids is None else ids
    order, repeats, firsts = _repeats(names, order)
    hashes = np.zeros(len(names), np.uint64)
    hashes[order] = hashes_of([names[row] for row in order.tolist()])
    name = name_of(hashes[order]) if run is None else run
    with held.write() as transaction:
        repeat = Repeat(name, question.rule, transaction)
        claims = Claims(
            held, transaction, texts, names, hashes, question, repeat, has_own_ids=ids is not None
        )  # fmt: skip
        new = np.concatenate([order[:0], *(claims.see(some) for some in _portions(order))])
        done = len(order) - len(new) + len(repeats)
        if done:
            question.report(done)
        claims.claim(new)
        claims.repeat(repeats, firsts)
        question.check_share(len(claims.matched), len(texts))
        repeat.store(transaction)
    removed = np.array(sorted(claims.matched), np.int64)
    found = [claims.matched[row] for row in removed.tolist()]
    similarities = np.array([each for _, each in found], np.float32)
    groups = _grouped(names, claims, set(repeats.tolist()))
    return names, RowMatches(removed, [id for id, _ in found], similarities, groups)


def _portions(rows: I64) -> Iterator[I64]:
    for start in range(0, len(rows), CLAIMED_ROWS):
        yield rows[start : start + CLAIMED_ROWS]


def _grouped(ids: Sequence[Id], claims: Claims, repeats: set[int]) -> Clusters:
    """Return what was matched with the rows that matched it, in the order of the rows.

    Rows whose id another row has are left out.
    """
    members: dict[Id, list[Id]] = {}
    for row in sorted(claims.matched):
        representative, _ = claims.matched[row]
        if ids[row] != representative and row not in repeats:
            members.setdefault(representative, [representative]).append(ids[row])
    every = [id for group in members.values() for id in group]
    offsets = offsets_of([len(group) for group in members.values()])
    return Clusters(offsets, object_array(every), claims.verification)


def _repeats(ids: Sequence[Id], order: I64) -> tuple[I64, I64, I64]:
    """Return the first row with each id, the other rows, and the first row for each of those."""
    first: dict[Id, int] = {}
    try:
        firsts = np.fromiter(
            (first.setdefault(ids[row], row) for row in order.tolist()), np.int64, len(order)
        )
    except TypeError as error:
        raise InputError(f"ids must be str, bytes or int: {error}") from error
    is_first = firsts == order
    return order[is_first], order[~is_first], firsts[~is_first]


@dataclass(frozen=True, slots=True)
class Refused:
    """The documents that are not stored, by their positions, and what each of them matches.

    `positions` int64[k], ascending; `matches` object[k], the ids of documents that stay;
    `distances` uint8[k]; `similarities` float32[k], NaN for none.  `earlier`: how many of them
    match documents that were stored before.
    """

    positions: I64
    matches: Objects
    distances: U8
    similarities: F32
    earlier: int
    verification: Verification | None


class Arrivals(ExitStack):
    """The documents of one run, in the order in which they are added; `with` frees them."""

    def __init__(
        self,
        held: database.Database,
        transaction: "engine.transaction.WriteTransaction",
        question: DedupQuestion,
        known: Callable[[list[Id]], Sequence[Any]] | None,
    ) -> None:
        """Compare with what the `transaction` of a database sees, and store in it.

        `known` returns the texts of stored documents by their ids, None for one that is not known;
        it is None if no text is known.
        Raises OptionError for a question that the database cannot answer.
        """
        super().__init__()
        self._question, self._transaction, self._known = question, transaction, known
        self._sketcher = held.sketcher
        self._sketcher.prepare()
        self._has_stored = len(transaction) > 0
        memory = question.memory
        columns = [self.enter_context(Blocks(memory)) for _ in range(3)]
        self._bits, self._vectors, self._states = columns
        self._lookups(0).find([], self._sketcher.sketch([]))  # raises what the question raises
        # How a database is searched says nothing of documents that are in none.
        self._within = alone(held.options, replace(question, search=None))
        self.push(self._within)
        self._sifted = Sifted(self._within, question.threads)
        self._stays = self._sifted.fresh

    @property
    def way(self) -> str:
        """How candidates among the documents themselves are found, in words."""
        return self._within.way

    def add_all(
        self, parts: Iterable[Any], count: Callable[[], float], *, errors: ErrorsName
    ) -> Iterator[int]:
        """Add the texts of all parts, about `count()` in all; yield how many there are so far."""
        lookups = self._lookups(count())
        yield from self._sifted.add_all(
            parts, count, lambda texts: self._taken(texts, lookups, count(), errors), errors=errors
        )

    def decide(self, order: I64 | None, texts: TextSource, names: Names) -> Refused:
        """Return which documents are not stored.

        `order` int64[n]: their positions, those to be preferred first; None for the order in which
        they were added.  `texts` and `names` return the texts and the ids at some positions.
        """
        decided, found = self._sifted.decide(order, texts), self._sifted.found
        removed, leaders = decided.removed, decided.leaders
        positions = np.concatenate([removed, *self._sifted.matched])
        by_position = np.argsort(positions)
        matches = [object_array(list(names(leaders))), *(each.ids for each in found)]
        distances = [self._apart(removed, leaders), *(each.distances for each in found)]
        similarities = [decided.similarities, *(each.similarities for each in found)]
        self._stays = np.setdiff1d(self._sifted.fresh, removed, assume_unique=True)
        return Refused(
            positions[by_position],
            np.concatenate(matches)[by_position],
            np.concatenate(distances)[by_position],
            np.concatenate(similarities)[by_position],
            len(positions) - len(removed),
            decided.verification,
        )

    def store(self, names: Names, texts: TextSource) -> Iterator[tuple[I64, Sequence[Id]]]:
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
            engine.stored.insert_sketched(
                self._transaction, ids, Sketches(bits[some], vectors[some], states[some]),
                partial(texts, some), self._question.threads,
            )  # fmt: skip
            yield some, ids

    def _taken(
        self, texts: Any, lookups: "engine.stored.Lookups[Any]", count: float, errors: ErrorsName
    ) -> tuple[Matches[Any] | None, Any]:
        """Keep the sketches of some texts, and look them up among what is stored; see `Sifted`."""
        if len(texts):
            sketches, rest = self._sifted.sketched(self._sketcher, texts, count, errors)
        else:
            sketches, rest = self._sketcher.sketch([]), texts
        self._bits.add(sketches.bits)
        self._vectors.add(sketches.vectors)
        self._states.add(sketches.states)
        return lookups.find(texts, sketches) if self._has_stored else None, rest

    def _lookups(self, expected: float) -> "engine.stored.Lookups[Any]":
        return lookups_of(self._transaction, self._question, self._known, expected)

    def _apart(self, left: I64, right: I64) -> U8:
        """Return the distances of some documents, as a database measures them."""
        if not len(left):
            return np.empty(0, np.uint8)
        sketch, bits, vectors = self._sketcher.options, self._bits.whole(), self._vectors.whole()
        return apart(sketch, bits, vectors, left, right)
