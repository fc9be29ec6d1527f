"""Unique ids: renames documents when the sources give one id to several of them.

A document with a taken id gets an id that contains the name of its source.  A document that an
earlier run stored with the same id and fingerprint counts as seen, and is not stored again.  If it
was this run, on an earlier occasion, the document is kept again.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import compress
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import simdb
from simdb.cli.output.progress import Progress
from simdb.cli.output.render import match_row
from simdb.deduplication import repeat
from simdb.deduplication.minima import SortedKeys
from simdb.engine.state.incoming import sketch_all
from simdb.outputs.rows import Row
from simdb.results.matches import Match
from simdb.running.threads import thread_count
from simdb.sketch.sketcher import AnySketcher
from simdb.sources.batch import Batch
from simdb.sources.read_again import REPORTED_NAMES, other_ids
from simdb.sources.records import InputId
from simdb.values.arrays import Id

U64 = npt.NDArray[np.uint64]


class Settled(NamedTuple):
    """What becomes of the documents of a batch.

    `batch`: the documents to store, with unique ids; `places`: their positions in the whole batch.
    `kept`: positions of documents that this run stored before; `rows`: of those it left out.
    """

    batch: Batch
    places: list[int]
    kept: list[int]
    rows: dict[int, Row]


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
        self._earlier = earlier if earlier.is_known else None
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
        if (ordered[1:] == ordered[:-1]).any() or self._taken.holds(hashes).any():
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
        self._run = repeat.Repeat(name, rule, before)
        self.is_known = self._run.is_known
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
        self._places = dict(zip(batch.ids, self._run.kept(hashes).tolist(), strict=True))
        positions, left = self._run.left(hashes, batch.contents)
        return dict(zip(positions.tolist(), rows_of(left), strict=True))

    def add_kept(self, ids: Sequence[Id]) -> None:
        """Remember documents that the run has stored."""
        self._run.add_kept(repeat.hashes_of(ids))

    def add_left(self, ids: Sequence[Id], contents: Iterable[bytes], left: repeat.Left) -> None:
        """Remember documents that the run has left out, by ids and texts as they were read."""
        self._run.add_left(repeat.hashes_of(ids), contents, left)

    def store(self, transaction: simdb.WriteTransaction) -> None:
        """Stage the note of the run."""
        self._run.store(transaction)

    def _place(self, id: Id) -> int:
        place = self._places.get(id)
        return int(self._run.kept(repeat.hashes_of([id]))[0]) if place is None else place


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
