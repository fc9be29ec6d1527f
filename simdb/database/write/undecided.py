"""Undecided documents of one call: their matches with each other, and what the call has refused.

Only documents that stay can keep others out.  So where a document matches many others of its group,
some documents at a time are compared with each other; those that none before them keeps out stay,
and the whole group is compared with them.

Tables find a share of the matches, and comparing one by one finds all of them.  So a call can
refuse a document while its match is in the delta, and miss the same match for an equal document
after the delta was sealed.  The call remembers what it has refused: a document with an equal sketch
is compared with the match that was found before.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from simdb.core import kernel
from simdb.core.arrays import Sketches, ranges, sorted_unique
from simdb.core.dtypes import I64, U32, U64, Bools
from simdb.core.matches import Verification
from simdb.core.options import EXHAUSTIVE
from simdb.core.threads import mapped, parts_of
from simdb.database import search
from simdb.database.search import lookup
from simdb.database.search.couples import Couples
from simdb.database.search.method import SURE_SHARE
from simdb.database.search.question import Question, criterion_of
from simdb.database.search.rows import Rows, gathered, joined, merged, no_rows
from simdb.database.state.incoming import chosen_batch
from simdb.database.state.state import State
from simdb.database.state.view import View
from simdb.plan import Criterion
from simdb.storage import DeltaView, StoredBatch, delta_view

if TYPE_CHECKING:
    from simdb.database.search.judge import Judge, Texts

# At first so many candidates of a document are enough; a document with fewer matches than one in
# `SURE_SHARE` of them has no others.
MATCHES_FIRST = 128
# So many documents are then compared with each other first; later, so many for each one that stays.
COMPARED_FIRST = 64
GROWTH = 8
# So many documents are compared with those before them by one thread at a time.
COMPARED_MOST = 512
# An array is joined with the one before it unless that is so many times larger.
PART_GROWTH = 2
# Of the matches that documents with one fingerprint had, so many are taken.
LEADERS_MOST = 64


def matches_among(
    state: State,
    group: StoredBatch,
    undecided: I64,
    criterion: Criterion,
    confirm: Callable[..., Rows] | None,
) -> Rows:
    """Return the matches of each document with `undecided` ones before it, as positions in `group`.

    Matches with a document that an earlier undecided document keeps out may be missing.  `confirm`:
    returns the matches of a group that texts confirm; None if the criterion alone decides.
    """
    if len(group) < 2 or not len(undecided):
        return no_rows(len(group))
    sketches = Sketches(group.fingerprints, group.vectors, group.states)
    every, by_similarity = np.arange(len(group)), criterion.similarity is not None

    def found_in(chosen: I64, asking: I64, first: int = 0) -> Rows:
        among = group if len(chosen) == len(group) else chosen_batch(group, chosen)
        view = delta_view(0, among, state.keying)
        compared = by_comparing(criterion)
        plan = _over(state, view, 1).plan(compared)
        find = partial(lookup.search, criterion=compared, first=first, plan=plan)

        def compare(part: slice) -> Rows:
            some = asking[part]
            is_all = len(parts) == 1
            before = view if is_all else view.until(int(np.searchsorted(chosen, some[-1])))
            return find(_over(state, before, 1), sketches.taken(some))

        parts = parts_of(len(asking), state.threads, most=COMPARED_MOST, least=COMPARED_MOST)
        rows = joined(list(mapped(compare, parts, state.threads)))
        rows.ordinals = chosen[rows.ordinals].astype(np.uint32)
        return gathered(len(group), [(asking, rows)])

    def earlier(rows: Rows) -> Rows:
        before = rows.chosen(np.flatnonzero(rows.ordinals < rows.queries))
        return before if confirm is None else confirm(before, is_inside=True)

    found = found_in(undecided, every, MATCHES_FIRST)
    is_crowded = np.diff(found.offsets) >= max(MATCHES_FIRST // SURE_SHARE, 1)
    if not is_crowded.any():
        return earlier(found)
    known = earlier(found.chosen(np.flatnonzero(~is_crowded[found.queries])))
    crowded, parts = np.flatnonzero(is_crowded), [(every, known)]
    stays, size = np.zeros(len(group), np.bool_), COMPARED_FIRST
    while len(undecided):
        some, undecided = undecided[:size], undecided[size:]
        asking = some[is_crowded[some]]
        inside = earlier(found_in(some, asking)) if len(asking) else no_rows(len(group))
        _note_staying(stays, some, (known, inside))
        stay = some[stays[some]]
        asking = crowded[crowded > some[0]]
        if len(stay) and len(asking):
            kept_out = earlier(found_in(stay, asking))
            parts.append((every, kept_out))
            undecided = undecided[np.diff(kept_out.offsets)[undecided] == 0]
        size = max(COMPARED_FIRST, GROWTH * len(stay))
    return merged(len(group), parts, by_similarity=by_similarity)


def by_comparing(criterion: Criterion) -> Criterion:
    """Return the criterion by which the documents of a group are compared one by one."""
    return Criterion(criterion.least, criterion.distance, criterion.recall, EXHAUSTIVE)


def matches_in(
    state: State, stored: StoredBatch, queries: Sketches, criterion: Criterion, *, first: int
) -> Rows:
    """Return the matches of each query among the documents of a batch, as positions in the batch.

    `first`: so many matches of each query are enough, as for `lookup.search`.
    """
    view = delta_view(0, stored, state.keying)
    among = _over(state, view, state.threads)
    return lookup.search(among, queries, by_comparing(criterion), first=first)


class Referee:
    """A judge of the matches of the documents of one call, which have no ordinals yet.

    To the judge, an undecided document has the ordinal that it would have if all documents before
    it in its group were stored.  `stored`: the positions in the call of what is stored by now.
    """

    def __init__(self, judge: "Judge", documents: Sequence[Any], next_ordinal: int) -> None:
        """Let `judge` decide about `documents`; its texts are those of documents stored before.

        `next_ordinal`: the ordinal of the first document of the call to be stored.
        """
        self.stored: list[int] = []
        self._documents = documents
        self._first = next_ordinal
        self._judge = judge

    @property
    def counts(self) -> Verification:
        """What the texts have decided so far."""
        return self._judge.counts

    def confirmed(self, state: State, places: I64, rows: Rows, *, is_inside: bool = False) -> Rows:
        """Return the matches of a group that the texts confirm, best first.

        `places`: the positions in the call of the documents of the group.  `is_inside`: the matches
        are positions in the group.
        """
        queries, undecided = rows.queries, self._first + len(self.stored)
        left = (queries + undecided).astype(np.uint32)
        right = rows.ordinals + np.uint32(undecided if is_inside else 0)
        couples = Couples(left, right, rows.distances, rows.similarities)
        known = self._judge.measured(state, couples, partial(self._texts, places))
        rows = Rows(rows.offsets, rows.ordinals, rows.distances, known.similarities)
        chosen = np.flatnonzero(known.similarities >= np.float32(self._judge.least))
        far = -known.similarities[chosen]
        return rows.chosen(chosen[np.lexsort((rows.ordinals[chosen], far, queries[chosen]))])

    def _texts(self, places: I64, state: State, ordinals: U32) -> list[Any]:
        """Return the texts of documents stored before the call, in it, and of undecided ones."""
        before, count = int(np.searchsorted(ordinals, self._first)), len(self.stored)
        positions = (
            self.stored[at] if at < count else int(places[at - count])
            for at in (ordinals[before:].astype(np.int64) - self._first).tolist()
        )
        texts = self._judge.texts(state, ordinals[:before]) if before else []
        return [*texts, *(self._documents[position] for position in positions)]


def refereed(
    state: State,
    sketches: Sketches,
    documents: Sequence[Any],
    question: Question,
    texts: "Texts[Any] | None",
    *,
    is_exact: bool,
) -> tuple[Criterion, Referee | None]:
    """Return by what stored matches of `documents` are found, and who confirms them, if any does.

    `is_exact`: texts decide, those of stored documents by `texts`.
    """
    found = criterion_of(state.store.options, sketches, question)
    criterion, judge = search.judge.judging(state, found, question, texts, is_exact=is_exact)
    return criterion, None if judge is None else Referee(judge, documents, state.next_ordinal)


class Refusals:
    """The fingerprints that one call has refused, and the ordinals of their matches."""

    def __init__(self) -> None:
        """Begin without any."""
        # Sorted by fingerprint, then by ordinal, each pair once in each part.
        self._parts: list[tuple[U64, U32]] = []

    def note(self, fingerprints: U64, ordinals: U32) -> None:
        """Remember refused documents, and for each the stored document that it matches."""
        if not len(fingerprints):
            return
        part = _sorted(fingerprints, ordinals)
        while self._parts and len(self._parts[-1][0]) < PART_GROWTH * len(part[0]):
            last = self._parts.pop()
            part = _sorted(np.concatenate([last[0], part[0]]), np.concatenate([last[1], part[1]]))
        self._parts.append(part)

    def leaders(self, fingerprints: U64) -> tuple[I64, U32]:
        """Return which of the documents have a fingerprint that was refused, and its matches.

        Positions and ordinals ascend, each once.
        """
        queries, ordinals = [np.empty(0, np.int64)], [np.empty(0, np.uint32)]
        # In order, so that neighbours are found in the same place.
        order = np.arange(len(fingerprints), dtype=np.uint32)
        fingerprints = fingerprints.copy()
        kernel.sort(fingerprints, order)
        for known, leaders in self._parts:
            starts = np.searchsorted(known, fingerprints)
            found = np.flatnonzero(known[np.minimum(starts, len(known) - 1)] == fingerprints)
            if len(found):
                starts = starts[found]
                stops = np.searchsorted(known, fingerprints[found], side="right")
                counts = np.minimum(stops - starts, LEADERS_MOST)
                queries.append(order[found].astype(np.int64))
                ordinals.append(leaders[ranges(starts, counts)])
        return sorted_unique(np.concatenate(queries)), sorted_unique(np.concatenate(ordinals))


def _over(state: State, delta: DeltaView, threads: int) -> State:
    """Return a state of the documents of `delta` alone."""
    among = state.over(View([], delta, None, state.kind, None))
    among.threads = threads
    return among


def _note_staying(stays: Bools, some: I64, matches: Sequence[Rows]) -> None:
    """Note which of `some` documents match no document before them that stays."""
    is_open = np.any([np.diff(rows.offsets)[some] > 0 for rows in matches], axis=0)
    # What matches nothing stays, whatever becomes of the others.
    stays[some[~is_open]] = True
    for at in some[is_open].tolist():
        stays[at] = not any(
            stays[rows.ordinals[rows.offsets[at] : rows.offsets[at + 1]]].any() for rows in matches
        )


def _sorted(fingerprints: U64, ordinals: U32) -> tuple[U64, U32]:
    """Return pairs by fingerprint, then by ordinal, each once."""
    places = np.arange(len(ordinals), dtype=np.uint32)
    kernel.sort(ordinals.astype(np.uint64), places)
    fingerprints, ordinals = fingerprints[places], ordinals[places]
    kernel.sort(fingerprints, ordinals)
    is_other = np.ones(len(places), np.bool_)
    is_other[1:] = (fingerprints[1:] != fingerprints[:-1]) | (ordinals[1:] != ordinals[:-1])
    return fingerprints[is_other], ordinals[is_other]
