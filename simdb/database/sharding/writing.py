"""Writing shards: all of them by one process, or each by a task of a job that runs anywhere.

A shard is written next to its place and moved into it when it is complete.  The shards file is
written last, after all shards were opened again and checked.  Without that file, no set of shards
is opened.  `Filling` holds a limited number of documents in memory on their way into new shards.
"""

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from simdb import storage
from simdb.core.arrays import check_many
from simdb.core.checks import flag, instance, shown, whole
from simdb.core.choices import BY_FINGERPRINT, ErrorsName, ModeName, OnError, ShardByName
from simdb.core.errors import (
    CorruptError,
    ExistsError,
    FormatError,
    InputError,
    NotFoundError,
    OptionError,
    undoing,
)
from simdb.core.options import Options
from simdb.core.progress import Progress, report_of
from simdb.core.skipped import Skipped
from simdb.core.stored_options import differences
from simdb.core.threads import mapped, thread_count
from simdb.database import state as states, write
from simdb.database.maintenance import compaction
from simdb.database.sharding.shard import (
    ContentDigest,
    Division,
    Inspected,
    check_distinct,
    inspect,
)
from simdb.database.state.store import Access, Store, open_store

# Limits on the documents in memory, and on their bytes with metadata, before they are committed.
BUFFERED_DOCUMENTS = 1 << 20
BUFFERED_BYTES = 1 << 28
# Lengths of a batch: ids and documents, or also metadata.
PARTS = (2, 3)


def write_sharded(
    path: str | os.PathLike[str],
    batches: Iterable[Any],
    shards: int,
    *,
    shard_by: ShardByName = "id",
    options: Options | None = None,
    errors: ErrorsName = "strict",
    on_error: OnError = "raise",
    progress: Progress | None = None,
    threads: int | None = None,
) -> int:
    """Make a sharded database of many documents.

    The directory gets its name when all shards are complete, on disk, opened again and checked.  If
    anything fails, the directory does not exist.

    Parameters
    ----------
    path : str or path
        The directory of the new database.
    batches : iterable of tuples
        Tuples (ids, documents) or (ids, documents, metadata), each as `Database.insert_many` takes
        them.  They are read one at a time, and up to a million documents are in memory.
    shards : int
        Number of shards, 1 to 10,000, each of which is a database; see `shard_of`.
    shard_by : {"id", "fingerprint"}, default "id"
        The value that assigns a document to a shard; see `shard_of`.  With "fingerprint", a query
        asks only the shards that its flipped bits can lead to.  `shards` must then be a power of
        two.
    options : Options, optional
        The options of every database; see `open`.
    errors : {"strict", "replace"}, default "strict"
        What to do with text that is not valid Unicode; see `Database.query`.
    on_error : {"raise", "skip"} or callable, default "raise"
        What to do with a document that cannot be read; see `Database.insert_many`.  Rows are
        numbered across all batches.
    progress : callable or True, optional
        Called after each batch with the number of documents read; see `Database.insert_many`.
    threads : int, optional
        Number of threads; see `Database.insert_many`.

    Returns
    -------
    int
        Number of documents.

    Raises
    ------
    ExistsError
        If `path` exists.
    InputError
        If a document is invalid, or an id appears twice.
    OptionError
        If an argument is invalid, or the options do not suit shards.
    """
    division = Division.checked(shards, shard_by)
    count, place, skipped = thread_count(threads), _checked_path(path), Skipped(on_error)

    def make(directory: str) -> int:
        places = {
            number: os.path.join(directory, storage.shards_file.shard_name(number))
            for number in range(shards)
        }
        filling = Filling(places, division, options, skipped, errors=errors, threads=count)
        filling.add_all(batches, progress)
        reports = filling.finish().values()
        return finish_sharded(directory, shards, shard_by=shard_by, reports=reports, threads=count)

    written = storage.made_beside(place, storage.shards_file.UNFINISHED, make)
    skipped.named().warn()
    return written


def write_shard(
    path: str | os.PathLike[str],
    number: int,
    batches: Iterable[Any],
    shards: int,
    *,
    shard_by: ShardByName = "id",
    options: Options | None = None,
    errors: ErrorsName = "strict",
    on_error: OnError = "raise",
    progress: Progress | None = None,
    threads: int | None = None,
) -> storage.Shard:
    """Write one shard of a sharded database, from one task of a job.

    When all tasks are done, call `finish_sharded` with their results.

    Parameters
    ----------
    path : str or path
        The directory of the sharded database.
    number : int
        The number of the shard, 0 to `shards` - 1.
    batches : iterable of tuples
        The documents; see `write_sharded`.  All must belong to this shard; see `shard_of`.  Give
        `batches=[]` for a shard without documents.
    shards : int
        Number of shards; see `write_sharded`.
    shard_by : {"id", "fingerprint"}, default "id"
        The value that assigns a document to a shard; see `shard_of`.
    options : Options, optional
        The options of the database, the same in every task; see `open`.
    errors : {"strict", "replace"}, default "strict"
        What to do with text that is not valid Unicode; see `Database.query`.
    on_error : {"raise", "skip"} or callable, default "raise"
        What to do with a document that cannot be read; see `write_sharded`.
    progress : callable or True, optional
        Called after each batch with the number of documents read; see `write_sharded`.
    threads : int, optional
        Number of threads; see `Database.insert_many`.

    Returns
    -------
    Shard
        The shard as it was written, for `finish_sharded`.

    Raises
    ------
    ExistsError
        If the shard was written before with other documents or options.
    InputError
        If an id belongs to another shard, a document is invalid, or an id appears twice.
    OptionError
        If an argument is invalid, or the options do not suit shards.

    Notes
    -----
    A task may run twice, even twice at once.  The first attempt to complete is kept.  A later
    attempt with the same documents changes nothing and returns the same shard.

    A killed attempt leaves a directory with a name that ends in ".writing", which `finish_sharded`
    removes.
    """
    division = Division.checked(shards, shard_by)
    whole("number", number, 0, shards - 1)
    count, directory, skipped = thread_count(threads), _checked_path(path), Skipped(on_error)
    name = storage.shards_file.shard_name(number)

    def make(place: str) -> Inspected:
        filling = Filling({number: place}, division, options, skipped, errors=errors, threads=count)
        filling.add_all(batches, progress)
        return _as_written(place, number, division, filling.finish()[number])

    def settle(made: Inspected) -> Inspected:
        there = inspect(directory, number, division)
        if (there.shard, there.options_digest) != (made.shard, made.options_digest):
            counts = f"{there.shard.document_count} documents, not {made.shard.document_count}"
            raise ExistsError(
                f"{name} of {directory} was written before with other documents or options"
                f" ({counts}); remove it to write it again, or write all shards into a new"
                " directory"
            )
        return there

    found = storage.made_beside(
        os.path.join(directory, name), storage.shards_file.UNFINISHED, make, settle=settle
    ).shard
    skipped.named().warn()
    return found


def finish_sharded(
    path: str | os.PathLike[str],
    shards: int,
    *,
    shard_by: ShardByName = "id",
    reports: Iterable[storage.Shard] | None = None,
    deep: bool = False,
    threads: int | None = None,
) -> int:
    """Check the shards in a directory and write the file that makes them one database.

    Call it when no task is running any more: it removes the leftovers of killed attempts.  It can
    be called again, for example after a shard was changed on purpose.

    Parameters
    ----------
    path : str or path
        The directory of the sharded database.
    shards : int
        Number of shards.
    shard_by : {"id", "fingerprint"}, default "id"
        The value that assigns a document to a shard, as in `write_shard`.
    reports : iterable of Shard, optional
        The results of all calls of `write_shard`.  Every shard must hold exactly the documents that
        its task reported.
    deep : bool, default False
        Compare every checksum and table as well.
    threads : int, optional
        Number of shards that are checked at the same time; see `Database.insert_many`.

    Returns
    -------
    int
        Number of documents.

    Raises
    ------
    NotFoundError
        If the directory or a shard is missing.
    CorruptError
        If a shard is damaged, or does not hold what its task reported.
    OptionError
        If shards have different options, or an argument is invalid.
    FormatError
        If a directory is none of the shards, or a shard has another format.
    InputError
        If a document belongs to another shard, an id is in two shards, or `reports` are incomplete.

    Notes
    -----
    All documents are read: each must belong to its shard, and all shards must have the same
    options.  With shard_by="fingerprint", no id may be in two shards; this check takes 16 bytes of
    memory per document.  An error names the shard.
    """
    division = Division.checked(shards, shard_by)
    flag("deep", deep)
    directory = _checked_path(path)
    expected = _expected(reports, shards)
    _check_names(directory, shards)
    look = partial(inspect, directory, division=division, deep=deep)
    found = list(mapped(look, range(shards), thread_count(threads)))
    for each in found:
        shard, where = each.shard, f"{each.shard.name} of {directory}"
        wanted = expected.get(shard.name, shard)
        if wanted != shard:
            raise CorruptError(
                f"{where} holds {shard.document_count} documents that are not the"
                f" {wanted.document_count} that its task reported; remove it and write it again"
            )
        if each.options_digest != found[0].options_digest:
            differing = differences(found[0].options, each.options)
            raise OptionError(
                f"{where} was made with other options than {found[0].shard.name}:"
                f" {'; '.join(differing) or 'other stop words, or another IDF table'}; remove it"
                " and write it again with the same options"
            )
    check_distinct(directory, found)
    entries = tuple(each.shard for each in found)
    content = storage.shards_file.ShardsFile(found[0].options_digest, entries, shard_by)
    storage.shards_file.write_shards_file(directory, content)
    return content.document_count


class _WaitingDocuments:
    """The documents of one shard that are not yet committed, and a digest of all its documents."""

    def __init__(self) -> None:
        self.batches: list[storage.StoredBatch] = []
        self.metadata: list[tuple[int, bytes]] = []
        self.count = 0
        self.content = ContentDigest()


class Filling:
    """A set of new databases that are being filled, each in the directory of its number."""

    def __init__(
        self,
        directories: Mapping[int, str],
        division: Division,
        options: Options | None,
        skipped: Skipped,
        *,
        errors: ErrorsName,
        threads: int,
    ) -> None:
        """Create empty databases, all with the same `options`.

        `skipped` collects the documents that cannot be read, by row across all batches.
        """
        if isinstance(options, Options) and options.keeps_clusters:
            raise OptionError(
                "shards cannot keep clusters, since a cluster can lie in several shards; leave out"
                " keep_clusters="
            )
        is_other = isinstance(options, Options) and (options.is_minhash or options.is_wide)
        if is_other and division.by == BY_FINGERPRINT:
            raise OptionError(
                "shard_by='fingerprint' works only with fingerprints; for MinHash signatures, and"
                " hashes of other than 64 bits, use shard_by='id'"
            )
        self._directories = directories
        self._division = division
        self._errors = errors
        self._threads = threads
        self._waiting = {number: _WaitingDocuments() for number in directories}
        self._skipped, self._read = skipped, 0
        self._held = self._held_bytes = self._done = 0
        for directory in directories.values():
            with _opened(directory, "x", options) as store:
                self._sketcher, self._beside = store.sketcher, store.beside
                self._fields = store.options.fields

    def add_all(self, batches: Iterable[Any], progress: Progress | None) -> None:
        """Store the documents of all batches; see `write_sharded`."""
        report = report_of(progress)
        check_many(batches, "batches of tuples (ids, documents)")
        for at, batch in enumerate(batches):
            is_batch = isinstance(batch, tuple | list) and len(batch) in PARTS
            if not is_batch or isinstance(batch[0], str | bytes | int):
                got = f"the id {shown(batch[0])}" if is_batch else type(batch).__name__
                raise InputError(
                    f"batch {at} must be a tuple (ids, documents) or (ids, documents, metadata) of"
                    f" many documents, got {got}; all can be one batch: [(ids, documents)]"
                )
            self._add(*batch)
            report(self._done)
        self._commit()

    def finish(self) -> dict[int, storage.Shard]:
        """Compact each database into one run, and return the entries of the shards by number."""
        for directory in self._directories.values():
            with _opened(directory, "w", None) as store:
                compaction.compact(store, self._threads)
            storage.sync_directory(directory)
        return {number: waiting.content.shard(number) for number, waiting in self._waiting.items()}

    def _add(self, ids: Any, documents: Any, metadata: Any = None) -> None:
        incoming = states.incoming
        if self._skipped.is_allowed:
            ids, documents, metadata = self._readable(ids, documents, metadata)
        encoded = incoming.EncodedIds(incoming.as_ids(ids))
        packed = incoming.pack_all(metadata, encoded)
        sketches = incoming.sketch_all(
            self._sketcher, documents, len(encoded), errors=self._errors, threads=self._threads,
            beside=self._beside,
        )  # fmt: skip
        batch = incoming.make_batch(encoded, sketches)
        numbers = self._division.numbers(encoded.hashes, sketches.bits)
        self._division.check(numbers, encoded, self._waiting)
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

    def _readable(self, ids: Any, documents: Any, metadata: Any) -> tuple[Any, Any, Any]:
        """Return ids, sketches and metadata of the readable documents of a batch."""
        first, listed = self._read, states.incoming.as_list(ids, "ids")
        self._read += len(listed)
        own = Skipped(lambda row, id, reason: self._skipped.add(first + row, id, reason))
        how = states.incoming.Sketching(
            self._sketcher, self._errors, self._threads, beside=self._beside, fields=self._fields
        )
        found = states.incoming.readable(how, (listed, documents, metadata), own)
        own.named(listed)
        return found

    def _commit(self) -> None:
        """Store the documents in memory, shard by shard."""
        for number, waiting in self._waiting.items():
            if waiting.count:
                batch = storage.StoredBatch.joined(waiting.batches)
                with _opened(self._directories[number], "w", None) as store:
                    write.write_state.store_batch(store, batch, waiting.metadata, self._threads)
            waiting.batches, waiting.metadata, waiting.count = [], [], 0
        self._held = self._held_bytes = 0


def _as_written(place: str, number: int, division: Division, written: storage.Shard) -> Inspected:
    """Read a new shard again and return it; raise CorruptError unless it holds what was written."""
    found = inspect(os.path.dirname(place), number, division, place=place)
    if found.shard != written:
        raise CorruptError(
            f"{written.name} does not hold what was written: {found.shard.document_count} documents"
            f" instead of {written.document_count}, or other ones; the disk may be failing"
        )
    return found


def _checked_path(path: str | os.PathLike[str]) -> str:
    directory = storage.directory_of(path)
    if not directory:
        raise InputError("the path of the sharded database is empty")
    return directory


def _expected(reports: Iterable[storage.Shard] | None, shards: int) -> dict[str, storage.Shard]:
    """Return the reports by the name of the shard.

    Raises InputError unless each shard has exactly one.
    """
    if reports is None:
        return {}
    listed = list(reports)
    for each in listed:
        instance("reports", each, storage.Shard, "the result of write_shard")
    by_name = {each.name: each for each in listed}
    for each in listed:
        if by_name[each.name] != each:
            raise InputError(f"two reports of {each.name} differ; write it again")
    missing = [
        name for name in map(storage.shards_file.shard_name, range(shards)) if name not in by_name
    ]
    if missing or len(by_name) > shards:
        which = missing[0] if missing else max(by_name)
        raise InputError(
            f"reports must be of {shards} shards, but {which} is"
            f" {'missing' if missing else 'none of them'}"
        )
    return by_name


def _check_names(directory: str, shards: int) -> None:
    """Raise an error if a shard is missing or another directory is there; remove leftovers."""
    if not storage.check_directory(directory):
        raise NotFoundError(f"there is no directory {directory}")
    wanted = {storage.shards_file.shard_name(number) for number in range(shards)}
    for name in sorted(wanted):
        if not storage.check_directory(os.path.join(directory, name)):
            raise NotFoundError(
                f"{name} of {directory} is missing; write it with write_shard, with batches=[] if"
                " it has no documents"
            )
    for name in storage.shards_file.strange_directories(directory, shards):
        place = os.path.join(directory, name)
        if not storage.shards_file.LEFT_OVER.fullmatch(name) or os.path.islink(place):
            raise FormatError(
                f"{directory} has a directory {name!r} that is none of its {shards} shards; move it"
                " away"
            )
        shutil.rmtree(place)


@contextmanager
def _opened(directory: str, mode: ModeName, options: Options | None) -> Iterator[Store]:
    """Open a database; its data are on the disk when the `with` block ends without an error."""
    store = open_store(directory, mode, options, Access("process", None, None, ()))
    with undoing(store.lease.abandon):
        yield store
    store.close()
