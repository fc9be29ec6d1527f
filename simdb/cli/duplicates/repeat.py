"""Repeats of `simdb dedup --db`: the name of a run, and its earlier decisions by batch and row."""

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np

import simdb
from simdb.cli.output.render import match_row
from simdb.deduplication import repeat
from simdb.outputs.remote import is_remote, remote_place
from simdb.outputs.rows import Row
from simdb.results.matches import Match
from simdb.sources.batch import Batch
from simdb.sources.content import STANDARD_INPUT
from simdb.values.arrays import Id


def run_name(given: str | None, sources: Collection[str]) -> str | None:
    """Return the name of a run: the `given` one, or one made of the places of its sources.

    None if a source is standard input, which can be anything when it is read again.
    """
    if given is not None:
        return repeat.checked_name(given, "--run")
    if STANDARD_INPUT in sources:
        return None
    places = sorted(
        {
            os.fsencode(remote_place(each) if is_remote(each) else os.path.realpath(each))
            for each in sources
        }
    )
    return blake2b(b"\0".join(places), digest_size=16).hexdigest()


class Repeat:
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
