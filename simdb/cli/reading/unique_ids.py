"""Unique ids: renames documents when the sources give one id to several of them.

A document with a taken id gets an id that contains the name of its source.  A document that an
earlier run stored with the same id and fingerprint counts as seen, and is not stored again.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import compress, count, repeat
from typing import TypeVar

import simdb
from simdb.cli.output.progress import Progress
from simdb.cli.reading.batch import Batch
from simdb.cli.reading.records import ID_BYTES_MAX, InputId
from simdb.engine.state.incoming import sketch_all
from simdb.sketch.kinds import AnySketcher
from simdb.threads import thread_count
from simdb.values import Id

REPORTED_NAMES = 10

Answer = TypeVar("Answer")


class UniqueIds:
    """The ids of one run, each given to one document; counts `renamed` and `seen` documents."""

    def __init__(
        self, progress: Progress, sketcher: AnySketcher, before: simdb.Snapshot | None = None
    ) -> None:
        """`before`: the documents of earlier runs, made by `sketcher`; None without --db."""
        self._progress = progress
        self._sketcher = sketcher
        self._before = before
        self.renamed = 0
        self.seen = 0

    def store(
        self,
        batch: Batch,
        present: Container[Id],
        put: Callable[[Batch], Answer],
    ) -> tuple[Batch, Answer]:
        """Store a batch by `put`, which raises ExistsError if an id is `present`.

        Returns the stored documents, with their unique ids, and the result of `put`.
        """
        if len(set(batch.ids)) == len(batch):
            try:
                return batch, put(batch)
            except simdb.ExistsError:
                pass
        settled = self._settled(batch, present)
        return settled, put(settled)

    def _settled(self, batch: Batch, present: Container[Id]) -> Batch:
        bits: Iterable[int] = repeat(0)
        stored: dict[InputId, int] = {}
        if self._before is not None:
            bits = sketch_all(
                self._sketcher, batch.texts, len(batch), errors="strict", threads=thread_count(),
                progress=None,
            ).bits.tolist()  # fmt: skip
            stored = self._stored_bits(batch.ids)
        taken: dict[InputId, int] = {}  # the position of the document that has the id
        for at, own in zip(range(len(batch)), bits, strict=False):
            for id in _candidates(batch, at):
                found = stored.get(id) if id == batch.ids[at] else self._stored_bits([id]).get(id)
                if self._before is not None and found == own:
                    self.seen += 1
                    break
                if id not in taken and id not in present:
                    taken[id] = at
                    self._note_name(batch, at, id)
                    break
        return replace(batch.chosen(list(taken.values())), ids=list(taken))

    def _stored_bits(self, ids: Sequence[InputId]) -> dict[InputId, int]:
        """Return the fingerprint of each document with one of `ids` that an earlier run stored."""
        if self._before is None:
            return {}
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


def _candidates(batch: Batch, at: int) -> Iterator[InputId]:
    """Yield the id of a document and then, without end, alternatives for when it is taken."""
    id, source, position = batch.ids[at], batch.sources[at], batch.positions[at]
    yield id
    base = f"{id}"
    if position:
        base = f"{source}:{position}:{id}"
        short = f"{source}:{id}"
        if len(base.encode()) + len("#9999") > ID_BYTES_MAX:
            base = short = f"{source}:{position}"
        yield short
        yield base
    for number in count(2):
        yield f"{base}#{number}"
