"""Claims: stores each document that no stored document matches.

Documents are taken in groups.  A group is looked up among the stored and staged documents.  It is
also compared with the documents of the group whose ids are stored already, so that a group that is
claimed again matches the same documents.  Last, it is compared with the documents of the group that
match nothing stored.  Then its documents are decided one by one, since a refused document must not
keep the next one out.  Refused documents are remembered until the call ends, so that their copies
are refused, too.

Only documents that stay can keep others out.  So if a document matches many others of its group,
the documents are first compared with each other in batches.  Documents that no earlier document
keeps out stay, and the whole group is compared with them.

Tables find a share of the matches, and comparing one by one finds all of them.  So a call could
refuse a document while its match is in the delta, and miss this match for an equal document after
the delta was sealed.  Therefore it remembers refusals: a document with an equal sketch is compared
with the match that was found before.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from simdb.core import kernel
from simdb.core.arrays import Sketches, ranges, sorted_unique
from simdb.core.dtypes import I64, U32, U64, Bools
from simdb.core.matches import Matches, Verification
from simdb.core.options import EXHAUSTIVE, POLYTOPE
from simdb.core.progress import Progress, report_of
from simdb.core.reports import Plan
from simdb.core.threads import mapped, parts_of
from simdb.database import search
from simdb.database.search import lookup
from simdb.database.search.couples import Batches, Couples
from simdb.database.search.method import SURE_SHARE
from simdb.database.search.question import Question, criterion_of
from simdb.database.search.rows import Rows, gathered, joined, merged, no_rows
from simdb.database.state.documents import stored_sketches
from simdb.database.state.incoming import EncodedIds, chosen_batch, make_batch
from simdb.database.state.kinds import gathered_whole, looked_up, with_sealed
from simdb.database.state.state import State
from simdb.database.state.view import FINGERPRINTS, Sealed, View
from simdb.database.write.conflicts import Conflicts, StoredGroup
from simdb.database.write.write_state import WriteState
from simdb.plan import Criterion, Problem, delays_of, polytopes, unlike_share
from simdb.storage import Delta, DeltaView, StoredBatch, is_deleted

if TYPE_CHECKING:
    from simdb.database.search.judge import Judge, Texts

# Number of candidates of a document that suffice at first.  If fewer than one in `SURE_SHARE` of
# this number match, there are no other matches.
MATCHES_FIRST = 128
# Size of the first batch of documents that are compared with each other.  Each later batch has at
# most GROWTH documents for each document of the batch before that stays.
COMPARED_FIRST = 64
GROWTH = 8
# Number of documents that one thread compares with earlier ones in one step.
COMPARED_MOST = 512
# An array is joined with the one before it, unless that is larger by this factor.
PART_GROWTH = 2
# Limit on the matches that are taken for each refused fingerprint.
LEADERS_MOST = 64

# The first group is small, so that later groups find the documents that many others copy.  All
# groups are small if it is expensive to compare documents or to judge their texts.
GROUP_FIRST = 1024
GROUP_DOCUMENTS = 8192
# Number of documents that are looked up in one step, since they may have many candidates.
LOOKED_UP = 1024
# Fewer documents are not worth a thread.
LOOKED_UP_LEAST = 512
# Gathering tables pays up to this number of stored documents for each one looked up.
GATHERED_STORED = 32
# A call makes its plan again when the number of documents has grown by this factor.
PLANNED_GROWTH = 2
# Number of candidates of a document that suffice if some of them match; see `Method`.
MATCHES_ENOUGH = 64
# Number of candidates of a document, most similar first, whose texts are compared at first.
JUDGED_FIRST = 64


def matches_among(
    state: State,
    group: StoredBatch,
    undecided: I64,
    criterion: Criterion,
    confirm: Callable[..., Rows] | None,
) -> Rows:
    """Return the matches of each document with earlier `undecided` ones, as positions in `group`.

    Matches with a document that an earlier undecided document keeps out may be missing.  `confirm`:
    returns the matches of a group that texts confirm; None if sketches alone are compared.
    """
    if len(group) < 2 or not len(undecided):
        return no_rows(len(group))
    sketches = Sketches(group.fingerprints, group.vectors, group.states)
    every, by_similarity = np.arange(len(group)), criterion.similarity is not None

    def found_in(chosen: I64, asking: I64, first: int = 0) -> Rows:
        among = group if len(chosen) == len(group) else chosen_batch(group, chosen)
        view = among.view(0, state.keying)
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

    `first`: number of matches of each query that suffice, as for `lookup.search`.
    """
    view = stored.view(0, state.keying)
    among = _over(state, view, state.threads)
    return lookup.search(among, queries, by_comparing(criterion), first=first)


class Referee:
    """A judge of the matches of the documents of one call, which have no ordinals yet.

    For the judge, an undecided document has the ordinal that it would have if all documents before
    it in its group were stored.  `stored`: the positions in the call of the documents stored by
    now.
    """

    def __init__(self, judge: "Judge", documents: Sequence[Any], next_ordinal: int) -> None:
        """Let `judge` compare `documents`; it has the texts of documents stored before.

        `next_ordinal`: the ordinal of the first document of the call to be stored.
        """
        self.stored: list[int] = []
        self._documents = documents
        self._first = next_ordinal
        self._judge = judge

    @property
    def counts(self) -> Verification:
        """The counts of decisions by texts so far."""
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
        """Return the texts of documents stored before the call, in it, and of undecided ones.

        A document that is a ready sketch has no text.
        """
        before, count = int(np.searchsorted(ordinals, self._first)), len(self.stored)
        positions = (
            self.stored[at] if at < count else int(places[at - count])
            for at in (ordinals[before:].astype(np.int64) - self._first).tolist()
        )
        texts = self._judge.texts(state, ordinals[:before]) if before else []
        own = (self._documents[position] for position in positions)
        return [*texts, *(each if isinstance(each, str | list | tuple) else None for each in own)]


def refereed(
    state: State,
    sketches: Sketches,
    documents: Sequence[Any],
    question: Question,
    texts: "Texts[Any] | None",
    *,
    is_exact: bool,
) -> tuple[Criterion, Referee | None]:
    """Return the criterion for stored matches of `documents`, and the referee that confirms them.

    `is_exact`: texts are compared, and `texts` has the texts of stored documents.  The referee is
    None if sketches alone are compared.
    """
    found = criterion_of(state.store.options, sketches, question, state.counts.content)
    criterion, judge = search.judge.judging(state, found, question, texts, is_exact=is_exact)
    return criterion, None if judge is None else Referee(judge, documents, state.next_ordinal)


class Refusals:
    """The fingerprints that one call has refused, and the ordinals of their matches."""

    def __init__(self) -> None:
        """Begin without any."""
        # Each part is sorted by fingerprint, then by ordinal, and has each pair once.
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
        """Return the positions of documents with a refused fingerprint, and its matches.

        Positions and ordinals ascend, each once.
        """
        queries, ordinals = [np.empty(0, np.int64)], [np.empty(0, np.uint32)]
        # Sorted, so that neighbours are found in the same place.
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
    """Return a state with only the documents of `delta`."""
    among = state.over(View([], delta, None, state.kind, None)).choose(())
    among.threads = threads
    return among


def _note_staying(stays: Bools, some: I64, matches: Sequence[Rows]) -> None:
    """Note which documents of `some` match no earlier document that stays."""
    is_open = np.any([np.diff(rows.offsets)[some] > 0 for rows in matches], axis=0)
    # A document that matches nothing stays in any case.
    stays[some[~is_open]] = True
    for at in some[is_open].tolist():
        stays[at] = not any(
            stays[rows.ordinals[rows.offsets[at] : rows.offsets[at + 1]]].any() for rows in matches
        )


def _sorted(fingerprints: U64, ordinals: U32) -> tuple[U64, U32]:
    """Return the distinct pairs, by fingerprint, then by ordinal."""
    places = np.arange(len(ordinals), dtype=np.uint32)
    kernel.sort(ordinals.astype(np.uint64), places)
    fingerprints, ordinals = fingerprints[places], ordinals[places]
    kernel.sort(fingerprints, ordinals)
    is_other = np.ones(len(places), np.bool_)
    is_other[1:] = (fingerprints[1:] != fingerprints[:-1]) | (ordinals[1:] != ordinals[:-1])
    return fingerprints[is_other], ordinals[is_other]


def add_new(
    writing: WriteState,
    batch: StoredBatch,
    criterion: Criterion,
    conflicts: Conflicts,
    progress: Progress | None,
    referee: Referee | None,
) -> Matches:
    """Stage the documents of `batch` that are new; return the best match of each of the rest.

    `conflicts` decides what happens to documents whose ids are stored.  `referee` decides which
    pairs match; None leaves this to the criterion.
    """
    staging, report = writing.staging, report_of(progress)
    current = conflicts.chosen(writing.current)
    found: list[Rows] = []
    refusals = Refusals()
    known = dict(conflicts.metadata)
    before, most = current(staging.threads), GROUP_FIRST
    conflicts.begin(staging, before)
    earlier = _Earlier(before, criterion, len(batch))
    if referee is None:
        earlier.look_up(current(staging.threads), batch, conflicts.unstored)
    if len(batch) > most and referee is None and _are_few_by_chance(before, criterion):
        most = GROUP_DOCUMENTS
    for start, stop in conflicts.groups(GROUP_FIRST, most):
        whole = batch.part(start, stop)
        fresh, own = conflicts.settled(staging, current, start, whole)
        part = whole if own is None else chosen_batch(whole, fresh)
        places = start + fresh
        sketches = Sketches(part.fingerprints, part.vectors, part.states)
        state = current(staging.threads)
        confirm = None if referee is None else partial(referee.confirmed, state, places)
        rows = earlier.and_later(state, places, sketches, own, confirm)
        rows = matches_again(state, sketches, rows, refusals, criterion, confirm)
        undecided = np.flatnonzero(np.diff(rows.offsets) == 0)
        inside = matches_among(state, part, undecided, criterion, confirm)
        new, matches = _decide(rows, inside, staging.next_ordinal, criterion)
        if len(new):
            chosen = part if len(new) == len(part) else chosen_batch(part, new)
            packed = [
                (at, known[place])
                for at, place in enumerate(places[new].tolist() if known else ())
                if place in known
            ]
            staging.insert(chosen, packed)
        refusals.note(part.fingerprints[matches.queries], matches.ordinals)
        if referee is not None:
            referee.stored += places[new].tolist()
            if own is not None:
                own.rows.similarities = state.scale.shown(own.rows.similarities)
        if own is not None:
            others = np.delete(np.arange(stop - start), fresh)
            matches = gathered(stop - start, [(fresh, matches), (others, own.rows)])
        staging.see(matches.ordinals)
        found.append(matches)
        report(stop)
    counts = None if referee is None else referee.counts
    return lookup.as_matches(current(), joined(found), verification=counts)


def find_stored(
    state: State, sketches: Sketches, criterion: Criterion, referee: Referee | None = None
) -> Matches:
    """Return a stored match of each document that has one, and store nothing."""
    found: list[Rows] = []
    for start in range(0, max(len(sketches), 1), GROUP_DOCUMENTS):
        places = np.arange(start, min(start + GROUP_DOCUMENTS, len(sketches)))
        confirm = None if referee is None else partial(referee.confirmed, state, places)
        rows = stored_matches([state], sketches.taken(places), None, criterion, confirm)
        found.append(rows.limited(1))
    counts = None if referee is None else referee.counts
    return lookup.as_matches(state, joined(found), verification=counts)


def gathered_of(state: State, criterion: Criterion, expected: float) -> Sealed | None:
    """Return the tables of all documents in runs, gathered for about `expected` look-ups.

    The cheapest number of tables is chosen.  Returns None if the look-ups do not pay for gathering;
    see `database/state/kinds.py`.
    """
    view, source = state.view, state.source
    if expected * GATHERED_STORED < view.delta.start or state.plan(criterion).method != POLYTOPE:
        return None
    whole = looked_up(state.population(criterion), view, source, expected)
    problem = Problem(criterion, whole, None, delays_of(view.calibration))
    best = min(polytopes.plans(problem), key=lambda plan: plan.cost_seconds)
    return gathered_whole(view, source, best.tables, state.threads)


class _Earlier:
    """The documents in runs before a call, in gathered tables if these save time."""

    def __init__(self, state: State, criterion: Criterion, expected: int) -> None:
        """Gather the tables of `state`, if that pays for `expected` look-ups."""
        self._sealed = gathered_of(state, criterion, expected)
        self._stop, self._criterion = state.delta.start, criterion
        self._plan: Plan | None = None
        self._planned = 0  # documents that the plan is for
        # The best match of each document of the call, once they are looked up.
        self._matches: Rows | None = None

    def and_later(
        self,
        state: State,
        places: I64,
        sketches: Sketches,
        own: StoredGroup | None,
        confirm: Callable[..., Rows] | None,
    ) -> Rows:
        """Return the matches of a group in all of `state`, as `stored_matches` does.

        `places`: the positions in the call of the documents of the group.
        """
        among, plan = self._parts(state)
        if self._matches is None:
            return stored_matches(among, sketches, own, self._criterion, confirm, plan)
        later = stored_matches(among[1:], sketches, own, self._criterion, confirm, plan)
        return _better(self._matches.of(places), later, self._criterion)

    def look_up(self, state: State, batch: StoredBatch, chosen: I64) -> None:
        """Look up the `chosen` documents of a call in the gathered tables, if there are some.

        All are looked up at once, since a group has too few for many threads.
        """
        (whole, *later), plan = self._parts(state)
        if not later:
            return
        asking = Sketches(batch.fingerprints, batch.vectors, batch.states)
        if len(chosen) < len(batch):
            asking = asking.taken(chosen)
        search = partial(lookup.search, limit=1, first=MATCHES_ENOUGH, plan=plan, most=LOOKED_UP)
        rows = search(whole, asking, self._criterion)
        self._matches = gathered(len(batch), [(chosen, rows)])

    def _parts(self, state: State) -> tuple[list[State], Plan | None]:
        """Return states that together have all documents, and the plan to follow in each of them.

        If there are gathered tables, one state has their documents and another all later ones.
        Otherwise one state has all, and the plan is None.
        """
        runs = [run for run in state.runs if run.info.stop <= self._stop]
        if self._sealed is None or runs[-1].info.stop != self._stop:
            return [state], None
        nothing = Delta(self._stop, state.width, state.keying).view()
        whole = state.over(state.view.only(runs, nothing))
        later = state.over(state.view.only(state.runs[len(runs) :], state.delta))
        if self._plan is None or state.delta.stop > PLANNED_GROWTH * self._planned:
            # Planning for each group would take a tenth of the time of one thread.
            self._plan, self._planned = state.plan(self._criterion), state.delta.stop
        return [whole.over(with_sealed(whole.view, self._sealed)), later], self._plan


def _are_few_by_chance(state: State, criterion: Criterion) -> bool:
    """Return whether comparing all documents of a large group with each other costs little.

    It does for fingerprints, unless unlike documents are so often candidates that measuring them
    costs more than comparing.
    """
    if state.kind.stores != FINGERPRINTS:
        return False
    plan = state.plan(by_comparing(criterion))
    share = unlike_share(plan.distance, plan.firm_distance)
    return share * GROUP_DOCUMENTS <= MATCHES_ENOUGH


def _decide(
    stored: Rows, earlier: Rows, next_ordinal: int, criterion: Criterion
) -> tuple[I64, Rows]:
    """Return the positions of the documents to store, and the best match of each of the rest.

    Rows are best first.  `earlier`: the matches of each document among earlier documents of its
    group, as positions.  Earlier documents that are not stored keep nothing out, and have no
    ordinal.
    """
    is_refused = np.diff(stored.offsets) > 0
    best = stored.limited(1)
    if len(earlier.ordinals):
        _refuse_copies(is_refused, earlier)
        inside = earlier.chosen(np.flatnonzero(~is_refused[earlier.ordinals])).limited(1)
        before = np.cumsum(~is_refused) - 1
        inside.ordinals = (next_ordinal + before[inside.ordinals]).astype(np.uint32)
        best = _better(best, inside, criterion)
    return np.flatnonzero(~is_refused), best


def _better(left: Rows, right: Rows, criterion: Criterion) -> Rows:
    """Return the better match of each document; of equally good ones, the one of lowest ordinal."""
    every, by_similarity = np.arange(len(left.offsets) - 1), criterion.similarity is not None
    both = merged(len(every), [(every, left), (every, right)], by_similarity=by_similarity)
    return both.limited(1)


def _refuse_copies(is_refused: Bools, earlier: Rows) -> None:
    """Refuse documents that match an earlier document that is stored.

    `is_refused` is true at first for documents that match a document stored before.
    """
    queries, before = earlier.queries, earlier.ordinals
    is_open = np.diff(earlier.offsets) > 0
    # A document that matches nothing before it is certainly stored, and most copies match one.
    is_refused[queries[~(is_open | is_refused)[before]]] = True
    for at in np.flatnonzero(is_open & ~is_refused).tolist():
        near = before[earlier.offsets[at] : earlier.offsets[at + 1]]
        is_refused[at] = not is_refused[near].all()


def stored_matches(
    among: Sequence[State],
    sketches: Sketches,
    own: StoredGroup | None,
    criterion: Criterion,
    confirm: Callable[..., Rows] | None,
    plan: Plan | None = None,
) -> Rows:
    """Return the best match of each sketch, or some matches that texts confirm, best first.

    `among`: states that together have all stored documents.  `own`: the stored documents of the
    group.  `confirm`: returns the matches of a group that texts confirm; None if sketches alone are
    compared.  `plan`: as for `lookup.search`.
    """
    count = len(sketches)
    rows = _look_up(among, sketches, own, criterion, plan, first=MATCHES_ENOUGH)
    if confirm is None:
        return rows.limited(1)
    rows = rows.limited(JUDGED_FIRST)
    found = confirm(rows)
    is_many = np.diff(rows.offsets) >= max(MATCHES_ENOUGH // SURE_SHARE, 1)
    unsure = np.flatnonzero(is_many & (np.diff(found.offsets) == 0))
    parts = [(np.arange(count), found)]
    batches = Batches(unsure.astype(np.uint32), 1, first=1)
    for batch in batches:
        some = np.sort(batch.astype(np.int64))
        every = _look_up(among, sketches.taken(some), own, criterion, plan, first=0)
        batches.found(len(every.ordinals))
        parts += _judged(gathered(count, [(some, every)]), confirm)
    return gathered(count, parts)


def matches_again(
    state: State,
    sketches: Sketches,
    rows: Rows,
    refusals: Refusals,
    criterion: Criterion,
    confirm: Callable[..., Rows] | None,
) -> Rows:
    """Return `rows`, after comparing unmatched documents with the ones that refused copies.

    `confirm`: as for `stored_matches`.
    """
    unknown = np.flatnonzero(np.diff(rows.offsets) == 0)
    again, leaders = refusals.leaders(sketches.bits[unknown])
    leaders = leaders[~is_deleted(state.dead, leaders)]
    if not len(leaders):
        return rows
    some, count = unknown[again], len(sketches)
    # These ids are not used in the search.
    stored = make_batch(EncodedIds([*range(len(leaders))]), stored_sketches(state, leaders))
    among = matches_in(state, stored, sketches.taken(some), criterion, first=MATCHES_ENOUGH)
    among.ordinals = leaders[among.ordinals]
    found = gathered(count, [(some, among)])
    found = found.limited(1) if confirm is None else confirm(found.limited(JUDGED_FIRST))
    every = np.arange(count)
    return gathered(count, [(every, rows), (every, found)])


def _judged(rows: Rows, confirm: Callable[..., Rows]) -> list[tuple[I64, Rows]]:
    """Return matches of each document that texts confirm, in parts as for `gathered`.

    Candidates are judged best first, in growing batches, until one is a match.
    """
    every, parts = np.arange(len(rows.offsets) - 1), []
    size = JUDGED_FIRST
    while len(rows.ordinals):
        counts = np.diff(rows.offsets)
        places = np.arange(len(rows.ordinals)) - np.repeat(rows.offsets[:-1], counts)
        found = confirm(rows.chosen(np.flatnonzero(places < size)))
        parts.append((every, found))
        is_open = np.repeat(np.diff(found.offsets) == 0, counts)
        rows = rows.chosen(np.flatnonzero((places >= size) & is_open))
        size *= 2
    return parts


def _look_up(
    among: Sequence[State],
    sketches: Sketches,
    own: StoredGroup | None,
    criterion: Criterion,
    plan: Plan | None,
    *,
    first: int,
) -> Rows:
    """Return the matches of sketches that are stored, best first; `first` as for `lookup.search`.

    Tables alone can miss a match of `own` that was found by comparing when both were new.
    """
    every = np.arange(len(sketches))
    search = partial(lookup.search, first=first, plan=plan, most=LOOKED_UP, least=LOOKED_UP_LEAST)
    parts = [(every, search(state, sketches, criterion)) for state in among]
    if own is not None:
        found = matches_in(among[0], own.stored, sketches, criterion, first=first)
        found.ordinals = own.rows.ordinals[found.ordinals]
        parts.append((every, found))
    parts = [part for part in parts if len(part[1].ordinals)] or parts[:1]
    if len(parts) == 1:
        return parts[0][1]
    return merged(len(sketches), parts, by_similarity=criterion.similarity is not None)
