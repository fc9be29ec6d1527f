"""Claims: store each document that no stored document matches.

Documents are taken in small groups.  A group is looked up among the stored and staged documents,
and its documents are compared with each other.  Then they are decided one by one, since a document
that is not stored must not keep the next one out.
"""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from simdb.checks import called
from simdb.engine.search import lookup, one
from simdb.engine.search.rows import Rows, joined, no_rows
from simdb.engine.state.incoming import Progress, chosen_batch
from simdb.engine.state.state import State
from simdb.engine.state.view import View
from simdb.engine.write.staging import Staging
from simdb.options import EXHAUSTIVE
from simdb.plan.problem import Criterion
from simdb.storage.records.batch import Batch
from simdb.storage.records.delta import Delta
from simdb.values import Match, Matches, Sketches, offsets_of

GROUP_DOCUMENTS = 512


def add_new(
    staging: Staging,
    current: Callable[[], State],
    batch: Batch,
    metadata: Sequence[tuple[int, bytes]],
    criterion: Criterion,
    progress: Progress | None,
) -> Matches:
    """Stage the documents of `batch` that are new; returns the best match of each of the rest.

    `current` returns the state with all that is staged.
    """
    called("progress", progress)
    found: list[Rows] = []
    known = dict(metadata)
    for start in range(0, max(len(batch), 1), GROUP_DOCUMENTS):
        part = batch.part(start, min(start + GROUP_DOCUMENTS, len(batch)))
        sketches = Sketches(part.fingerprints, part.vectors, part.states)
        state = current()
        state.threads = staging.threads
        rows = lookup.search(state, sketches, criterion, limit=1)
        among = _among(current(), part, sketches, criterion)
        new, matches = _decide(rows, among, staging.next_ordinal, criterion)
        if len(new):
            chosen = part if len(new) == len(part) else chosen_batch(part, new)
            packed = [
                (at, known[start + int(position)])
                for at, position in enumerate(new)
                if start + int(position) in known
            ]
            staging.insert(chosen, packed)
        found.append(matches)
        if progress is not None:
            progress(start + len(part))
    return lookup.as_matches(current(), joined(found))


def add_one(
    staging: Staging,
    state: State,
    batch: Batch,
    metadata: Sequence[tuple[int, bytes]],
    criterion: Criterion,
) -> Match | None:
    """Stage the only document of `batch` if it is new; otherwise return its best match."""
    sketches = Sketches(batch.fingerprints, batch.vectors, batch.states)
    found = one.best_match(state, sketches, criterion)
    if found is None:
        staging.insert(batch, metadata)
    return found


def _among(state: State, part: Batch, sketches: Sketches, criterion: Criterion) -> Rows:
    """Return the matches of the documents of a group among themselves, as positions in it."""
    if len(part) == 1:
        return no_rows(1)
    delta = Delta(0, state.width, state.keying)
    delta.append(part)
    among = state.over(View([], delta.view(), None, state.kind, None))
    exhaustive = Criterion(criterion.similarity, criterion.distance, criterion.recall, EXHAUSTIVE)
    return lookup.search(among, sketches, exhaustive)


def _decide(
    stored: Rows, among: Rows, next_ordinal: int, criterion: Criterion
) -> tuple[npt.NDArray[np.int64], Rows]:
    """Return the positions of the documents to store, and the best match of each of the rest."""
    count = len(stored.offsets) - 1
    ordinal_of: dict[int, int] = {}
    rows: list[tuple[int, int, float]] = []
    counts = np.zeros(count, np.int64)
    for at in range(count):
        best = _best(stored, at, None, criterion)
        inside = _best(among, at, ordinal_of, criterion)
        if best is None or (inside is not None and inside[0] < best[0]):
            best = inside
        if best is None:
            ordinal_of[at] = next_ordinal + len(ordinal_of)
        else:
            counts[at] = 1
            rows.append(best[1])
    matches = Rows(
        offsets_of(counts),
        np.array([row[0] for row in rows], np.uint32),
        np.array([row[1] for row in rows], np.uint8),
        np.array([row[2] for row in rows], np.float32),
    )
    return np.array(list(ordinal_of), np.int64), matches


def _best(
    rows: Rows, query: int, ordinal_of: dict[int, int] | None, criterion: Criterion
) -> tuple[float, tuple[int, int, float]] | None:
    """Return how far the best match of a query is, for comparing, and the match itself.

    With `ordinal_of`, only its keys count, and the match has the ordinal of the key.  Rows are best
    first, so the first row that counts is the best.
    """
    for at in range(int(rows.offsets[query]), int(rows.offsets[query + 1])):
        ordinal = int(rows.ordinals[at])
        if ordinal_of is not None:
            if ordinal not in ordinal_of:
                continue
            ordinal = ordinal_of[ordinal]
        distance, similarity = int(rows.distances[at]), float(rows.similarities[at])
        far = distance if criterion.similarity is None else -similarity
        return far, (ordinal, distance, similarity)
    return None
