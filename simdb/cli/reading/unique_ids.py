"""Names: ids that are distinct, when sources give one id to several documents.

A document whose id is taken by another is named after its source too.  A document that an earlier
run stored under the same id, with the same fingerprint, was seen before.
"""

from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import replace
from itertools import count, repeat
from typing import TypeVar

import simdb
from simdb.cli.output.progress import Progress
from simdb.cli.reading.records import ID_BYTES_MAX, Record
from simdb.sketch.kinds import AnySketcher
from simdb.values import Id

REPORTED_NAMES = 10

Answer = TypeVar("Answer")


class Names:
    """Gives every document of a run an id of its own; counts `renamed` and `seen`."""

    def __init__(
        self, progress: Progress, sketcher: AnySketcher, before: simdb.Snapshot | None = None
    ) -> None:
        """`before`: what earlier runs have stored, sketched by `sketcher`."""
        self._progress = progress
        self._sketcher = sketcher
        self._before = before
        self.renamed = 0
        self.seen = 0

    def store(
        self,
        batch: list[Record],
        present: Container[Id],
        put: Callable[[list[Record]], Answer],
    ) -> tuple[list[Record], Answer]:
        """Store a batch by `put`, which raises ExistsError when an id is `present`.

        Returns the records that were put, under their ids, and the answer.
        """
        if len({record.id for record in batch}) == len(batch):
            try:
                return batch, put(batch)
            except simdb.ExistsError:
                pass
        settled = self._settled(batch, present)
        return settled, put(settled)

    def _settled(self, batch: list[Record], present: Container[Id]) -> list[Record]:
        bits: Iterable[int] = repeat(0)
        if self._before is not None:
            bits = self._sketcher.sketch([record.text for record in batch]).bits.tolist()
        taken: set[str | int] = set()
        settled: list[Record] = []
        for record, own in zip(batch, bits, strict=False):
            for id in _candidates(record):
                if self._was_seen(id, own):
                    self.seen += 1
                    break
                if id not in taken and id not in present:
                    taken.add(id)
                    settled.append(self._named(record, id))
                    break
        return settled

    def _was_seen(self, id: str | int, bits: int) -> bool:
        if self._before is None:
            return False
        try:
            return self._before.get(id).fingerprint.bits == bits
        except simdb.NotFoundError:
            return False

    def _named(self, record: Record, id: str | int) -> Record:
        if id == record.id:
            return record
        self.renamed += 1
        if self.renamed <= REPORTED_NAMES:
            self._progress.note(f"{record.where}: the id {record.id!r} is taken; named {id!r} here")
        return replace(record, id=id)


def _candidates(record: Record) -> Iterator[str | int]:
    """The id of a record and what it may be called when that is taken, without end."""
    yield record.id
    base = f"{record.id}"
    if record.position:
        base = f"{record.source}:{record.position}:{record.id}"
        short = f"{record.source}:{record.id}"
        if len(base.encode()) + len("#9999") > ID_BYTES_MAX:
            base = short = f"{record.source}:{record.position}"
        yield short
        yield base
    for number in count(2):
        yield f"{base}#{number}"
