"""Claims: store each document that no stored document matches.

Documents are taken in groups.  A group is looked up among the stored and staged documents,
and compared with those documents of the group whose ids are stored already, so that a group that is
claimed again matches what it matched before, and with those that match nothing stored.  Then they
are decided one by one, since a document that is not stored must not keep the next one out.  What is
refused is remembered until the call ends, so that its copies are refused, too.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from simdb.core.arrays import Sketches
from simdb.core.dtypes import I64, Bools
from simdb.core.matches import Match, Matches
from simdb.core.options import POLYTOPE
from simdb.core.progress import Progress, report_of
from simdb.core.reports import Plan
from simdb.database.search import lookup, one
from simdb.database.search.couples import Batches
from simdb.database.search.method import SURE_SHARE
from simdb.database.search.rows import Rows, gathered, joined, merged
from simdb.database.state.documents import find_ids, stored_sketches
from simdb.database.state.incoming import EncodedIds, chosen_batch, make_batch
from simdb.database.state.polytope_tables import gathered_whole, looked_up, with_sealed
from simdb.database.state.state import State
from simdb.database.state.view import FINGERPRINTS, Sealed
from simdb.database.write.conflicts import Conflicts, StoredGroup
from simdb.database.write.staging import Staging
from simdb.database.write.undecided import (
    Referee,
    Refusals,
    by_comparing,
    matches_among,
    matches_in,
)
from simdb.database.write.write_state import WriteState
from simdb.plan import Criterion, Problem, delays_of, polytopes, unlike_share
from simdb.storage import Delta, StoredBatch, is_deleted

# The first group is small, so that later ones find what all documents are copies of; and all are,
# where comparing documents with each other, or judging their texts, costs much.
GROUP_FIRST = 1024
GROUP_DOCUMENTS = 8192
# So many documents are looked up at a time, whose candidates may be many.
LOOKED_UP = 1024
# Fewer of them are not worth a thread.
LOOKED_UP_LEAST = 512
# To gather tables costs as much for so many stored documents as it saves for one that is looked up.
GATHERED_STORED = 32
# The plan of a call is made again when there are so many times the documents.
PLANNED_GROWTH = 2
# So many candidates of a document are enough if some of them match: see `Method`.
MATCHES_ENOUGH = 64
# So many candidates of a document, the most similar ones, are judged by their texts at first.
JUDGED_FIRST = 64


def add_new(
    writing: WriteState,
    batch: StoredBatch,
    criterion: Criterion,
    conflicts: Conflicts,
    progress: Progress | None,
    referee: Referee | None,
) -> Matches:
    """Stage the documents of `batch` that are new; returns the best match of each of the rest.

    `conflicts` decides about documents whose ids are stored; `referee` decides what matches, if
    that is not the criterion alone.
    """
    staging, current, report = writing.staging, writing.current, report_of(progress)
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
                own.rows.similarities = state.kind.shown(own.rows.similarities)
        if own is not None:
            others = np.delete(np.arange(stop - start), fresh)
            matches = gathered(stop - start, [(fresh, matches), (others, own.rows)])
        staging.see(matches.ordinals)
        found.append(matches)
        if report is not None:
            report(stop)
    counts = None if referee is None else referee.counts
    return lookup.as_matches(current(), joined(found), verification=counts)


def find_stored(
    state: State, sketches: Sketches, criterion: Criterion, referee: Referee | None = None
) -> Matches:
    """Return a match of each document that a stored one matches, and store nothing."""
    found: list[Rows] = []
    for start in range(0, max(len(sketches), 1), GROUP_DOCUMENTS):
        places = np.arange(start, min(start + GROUP_DOCUMENTS, len(sketches)))
        confirm = None if referee is None else partial(referee.confirmed, state, places)
        rows = stored_matches([state], sketches.taken(places), None, criterion, confirm)
        found.append(rows.limited(1))
    counts = None if referee is None else referee.counts
    return lookup.as_matches(state, joined(found), verification=counts)


def add_one(
    staging: Staging,
    state: State,
    batch: StoredBatch,
    metadata: Sequence[tuple[int, bytes]],
    criterion: Criterion,
) -> Match | None:
    """Stage the only document of `batch` if it is new; otherwise return its best match."""
    sketches = Sketches(batch.fingerprints, batch.vectors, batch.states)
    found = one.best_match(state, sketches, criterion, among=MATCHES_ENOUGH)
    if found is None:
        staging.insert(batch, metadata)
    else:
        staging.see(find_ids(state, [found.id]).astype(np.uint32))
    return found


def gathered_of(state: State, criterion: Criterion, expected: float) -> Sealed | None:
    """Return the tables of all documents in runs, gathered for about `expected` look-ups.

    As many tables as cost least; None if the look-ups are not worth it.  See
    `engine/state/polytope_tables.py`.
    """
    view, source = state.view, state.source
    if expected * GATHERED_STORED < view.delta.start or state.plan(criterion).method != POLYTOPE:
        return None
    whole = looked_up(state.population(criterion), view, source, expected)
    problem = Problem(criterion, whole, None, delays_of(view.calibration))
    best = min(polytopes.plans(problem), key=lambda plan: plan.cost_seconds)
    return gathered_whole(view, source, best.tables, state.threads)


class _Earlier:
    """The documents in runs before a call, in gathered tables where these are worth it."""

    def __init__(self, state: State, criterion: Criterion, expected: int) -> None:
        """Gather the tables of `state`, if that is worth it for `expected` look-ups."""
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

        All at once: a group has too few for many threads.
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
        """Return states that have all documents together: those in gathered tables, and later ones.

        And the plan to follow in each of them, if there are two.
        """
        runs = [run for run in state.runs if run.info.stop <= self._stop]
        if self._sealed is None or runs[-1].info.stop != self._stop:
            return [state], None
        whole = state.only(runs, Delta(self._stop, state.width, state.keying).view())
        later = state.only(state.runs[len(runs) :], state.delta)
        if self._plan is None or state.delta.stop > PLANNED_GROWTH * self._planned:
            # To plan for each group would take a tenth of what one thread must do.
            self._plan, self._planned = state.plan(self._criterion), state.delta.stop
        return [whole.over(with_sealed(whole.view, self._sealed)), later], self._plan


def _are_few_by_chance(state: State, criterion: Criterion) -> bool:
    """Return whether comparing all documents of a large group with each other costs little.

    Fingerprints cost little, unless unlike documents are so often candidates that measuring them
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

    Rows are best first.  `earlier`: the matches of each document among those before it in its
    group, as positions.  Those of them that are not stored keep nothing out, and have no ordinal.
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
    """Return the better match of each document, which has one at most in each: `left` of equals."""
    count, places = len(left.offsets) - 1, []
    far = np.full((2, count), np.inf)
    for at, rows in enumerate((left, right)):
        places.append(rows.queries)
        is_far = rows.distances if criterion.similarity is None else -rows.similarities
        far[at, places[-1]] = is_far
    is_right = far[1] < far[0]
    parts = (
        (np.arange(count), rows.chosen(np.flatnonzero(is_right[own] == at)))
        for at, (rows, own) in enumerate(zip((left, right), places, strict=True))
    )
    return gathered(count, [*parts])


def _refuse_copies(is_refused: Bools, earlier: Rows) -> None:
    """Refuse documents that match a document before them that is stored.

    `is_refused`: those that match a document stored before, at the begin.
    """
    queries, before = earlier.queries, earlier.ordinals
    is_open = np.diff(earlier.offsets) > 0
    # What matches nothing before it is certainly stored, and most copies match such a document.
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
    """Return the best match of each sketch, or some of the matches that texts confirm, best first.

    `among`: states that have all stored documents together.  `own`: the documents of the group that
    are stored.  `confirm`: returns the matches of a group that texts confirm; None if the criterion
    alone decides.  `plan`: as for `lookup.search`.
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
    """Return `rows`, and matches of documents without any among what refused their copies.

    `confirm`: as for `stored_matches`.
    """
    unknown = np.flatnonzero(np.diff(rows.offsets) == 0)
    again, leaders = refusals.leaders(sketches.bits[unknown])
    leaders = leaders[~is_deleted(state.dead, leaders)]
    if not len(leaders):
        return rows
    some, count = unknown[again], len(sketches)
    # Ids are in no search.
    stored = make_batch(EncodedIds([*range(len(leaders))]), stored_sketches(state, leaders))
    among = matches_in(state, stored, sketches.taken(some), criterion, first=MATCHES_ENOUGH)
    among.ordinals = leaders[among.ordinals]
    found = gathered(count, [(some, among)])
    found = found.limited(1) if confirm is None else confirm(found.limited(JUDGED_FIRST))
    every = np.arange(count)
    return gathered(count, [(every, rows), (every, found)])


def _judged(rows: Rows, confirm: Callable[..., Rows]) -> list[tuple[I64, Rows]]:
    """Return matches of each document that texts confirm, in parts as for `gathered`.

    Candidates are judged best first, some at a time, until one is a match.
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

    Tables alone can miss a match of `own`, that was found by comparing when both were new.
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
