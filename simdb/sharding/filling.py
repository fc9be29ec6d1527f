"""Filling: documents on their way into new shards, some of them in memory at a time."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.engine import state as states
from simdb.engine import write
from simdb.engine.maintenance import compaction
from simdb.engine.state.opening import open_store
from simdb.engine.state.store import Store
from simdb.ground.choices import ErrorsName, ModeName
from simdb.ground.errors import InputError, OptionError
from simdb.running.progress import Progress, report_of
from simdb.settings.options import Options
from simdb.sharding.inspection import ContentDigest
from simdb.sharding.routing import numbers_of
from simdb.storage.environment import registry
from simdb.storage.files.location import sync_directory
from simdb.storage.files.shards_file import shard_name
from simdb.storage.records.batch import StoredBatch, concatenate
from simdb.values.arrays import check_many

# Documents, and bytes of them and their metadata, that are in memory before they are committed.
BUFFERED_DOCUMENTS = 1 << 20
BUFFERED_BYTES = 1 << 28
# What a batch has: ids and documents, or also metadata.
PARTS = (2, 3)


class _WaitingDocuments:
    """The documents of one shard that are not committed yet, and a digest of all of them."""

    def __init__(self) -> None:
        self.batches: list[StoredBatch] = []
        self.metadata: list[tuple[int, bytes]] = []
        self.count = 0
        self.content = ContentDigest()


class Filling:
    """New databases that are being filled, in the directories of the numbers that are given."""

    def __init__(
        self,
        directories: Mapping[int, str],
        shards: int,
        options: Options | None,
        *,
        errors: ErrorsName,
        threads: int,
    ) -> None:
        """Create the databases, empty, all with the same `options`."""
        if isinstance(options, Options) and options.keeps_clusters:
            raise OptionError(
                "shards cannot keep clusters, since a cluster can lie in several shards; leave out"
                " keep_clusters="
            )
        for name in ("passages", "features"):
            if isinstance(options, Options) and getattr(options, name):
                raise OptionError(
                    f"shards have no {name}, which only queries of one database use; leave out"
                    f" {name}="
                )
        self._directories = directories
        self._shards = shards
        self._errors = errors
        self._threads = threads
        self._waiting = {number: _WaitingDocuments() for number in directories}
        self._held = self._held_bytes = self._done = 0
        for directory in directories.values():
            with _opened(directory, "x", options) as store:
                self._sketcher = store.sketcher

    def add_all(self, batches: Iterable[Any], progress: Progress | None) -> None:
        """Store the documents of all batches; see `write_sharded`."""
        report = report_of(progress)
        check_many(batches, "batches of tuples (ids, documents)")
        for at, batch in enumerate(batches):
            is_batch = isinstance(batch, tuple | list) and len(batch) in PARTS
            if not is_batch:
                raise InputError(
                    f"batch {at} must be a tuple (ids, documents) or (ids, documents, metadata),"
                    f" got {type(batch).__name__}"
                )
            self._add(*batch)
            if report is not None:
                report(self._done)
        self._commit()

    def finish(self) -> dict[int, ContentDigest]:
        """Make one run of each database, and return what each holds, by the number of the shard."""
        for directory in self._directories.values():
            with _opened(directory, "w", None) as store:
                compaction.compact(store, self._threads)
            sync_directory(directory)
        return {number: waiting.content for number, waiting in self._waiting.items()}

    def _add(self, ids: Any, documents: Any, metadata: Any = None) -> None:
        incoming = states.incoming
        encoded = incoming.EncodedIds(incoming.as_list(ids, "ids"))
        packed = incoming.pack_all(metadata, encoded.ids)
        numbers = numbers_of(encoded.hashes, self._shards)
        self._check_numbers(numbers, encoded.ids)
        sketches = incoming.sketch_all(
            self._sketcher, documents, len(encoded), errors=self._errors, threads=self._threads,
            progress=None,
        )  # fmt: skip
        batch = incoming.make_batch(encoded, sketches)
        for number, waiting in self._waiting.items():
            chosen = np.flatnonzero(numbers == number)
            if not len(chosen):
                continue
            waiting.content.add(encoded.hashes[chosen], sketches.taken(chosen))
            waiting.batches.append(incoming.chosen_batch(batch, chosen))
            if packed:
                place = {at: rank for rank, at in enumerate(chosen.tolist(), waiting.count)}
                waiting.metadata += [(place[at], value) for at, value in packed if at in place]
            waiting.count += len(chosen)
        self._done += len(encoded)
        self._held += len(encoded)
        self._held_bytes += sketches.vectors.nbytes + batch.content.nbytes
        self._held_bytes += sum(len(value) for _, value in packed)
        if self._held >= BUFFERED_DOCUMENTS or self._held_bytes >= BUFFERED_BYTES:
            self._commit()

    def _commit(self) -> None:
        """Store what is in memory, shard by shard."""
        for number, waiting in self._waiting.items():
            if waiting.count:
                batch = concatenate(waiting.batches)
                with _opened(self._directories[number], "w", None) as store:
                    write.write_state.store_batch(store, batch, waiting.metadata, self._threads)
            waiting.batches, waiting.metadata, waiting.count = [], [], 0
        self._held = self._held_bytes = 0

    def _check_numbers(self, numbers: npt.NDArray[np.int64], ids: list[Any]) -> None:
        if len(self._waiting) == self._shards:
            return
        for at in np.flatnonzero(~np.isin(numbers, list(self._waiting))).tolist():
            (own,) = self._waiting
            raise InputError(
                f"the id {ids[at]!r} belongs to {shard_name(int(numbers[at]))} and not to"
                f" {shard_name(own)}; distribute ids by simdb.shard_of(ids, {self._shards})"
            )


@contextmanager
def _opened(directory: str, mode: ModeName, options: Options | None) -> Iterator[Store]:
    """Open a database; its data are on the disk when the `with` block ends without an error."""
    store = open_store(
        directory, mode, options, durability="process", map_size=None, timeout=None, allow=()
    )
    try:
        yield store
    except BaseException:
        registry.abandon(store.lease)
        raise
    store.close()
