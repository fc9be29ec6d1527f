"""Unique ids: renames documents when the sources give one id to several of them.

A document with a taken id gets an id that contains the name of its source.  A document that an
earlier run stored with the same id and fingerprint counts as seen, and is not stored again.
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
        batch: list[Record],
        present: Container[Id],
        put: Callable[[list[Record]], Answer],
    ) -> tuple[list[Record], Answer]:
        """Store a batch by `put`, which raises ExistsError if an id is `present`.

        Returns the stored records, with their unique ids, and the result of `put`.
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
            self._progress.note(f"{record.where}: the id {record.id!r} is taken; renamed to {id!r}")
        return replace(record, id=id)


def _candidates(record: Record) -> Iterator[str | int]:
    """Yield the id of a record and then, without end, alternatives for when it is taken."""
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
