"""Staging: the changes of a write transaction that are not yet committed.

All of them are in memory: documents in the order of their new ordinals, deletions as a bitmap,
metadata in its stored form.  Nothing is written before the commit, so an abort only drops them, and
a commit that finds no space can be tried again.  When the delta grows large, it is sealed into a
run, also in memory, so that queries inside the transaction stay fast.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from simdb import storage
from simdb.core import kernel
from simdb.core.arrays import BARE, EMPTY, ORDINALS_MAX, Sketches
from simdb.core.dtypes import I64, U8, U32, U64
from simdb.core.errors import FullError, InputError
from simdb.core.options import SEEN
from simdb.database.clusters.maintain import Maintainer
from simdb.database.search.question import of_maintained
from simdb.database.state.staged import StagedBytes, StagedMetadata, StagedPassages, StagedTimes
from simdb.database.state.store import Store
from simdb.database.state.view import KeptParts, View
from simdb.plan import compaction
from simdb.sketch import check_content
from simdb.storage import by_ordinal, merge as merges, rewriting

Made = TypeVar("Made")


class Saved(NamedTuple):
    """A record of the staged changes at one time.  Lists only grow, or new lists replace them."""

    batches: list[storage.StoredBatch]
    sealed: list[storage.Run]
    deleted: list[U32]
    # Sizes at that time: documents in no run and the ordinal of the first, batches, deletions,
    # metadata, and entries of the logs.
    marks: tuple[int, int, int, int, tuple[int, int], tuple[int, ...]]
    counts: tuple[int, int, int, int]


class Staging:
    """The changes on top of a committed state."""

    def __init__(
        self,
        store: Store,
        base: storage.Contents,
        source: storage.Source,
        kept: KeptParts | None = None,
    ) -> None:
        """Begin without changes on `base`, which `source` sees; `kept`: parts of its view."""
        self._store = store
        self._base = base
        self._source = source
        self._view: View | None = None
        # Parts for the next view, from the last one, which has the present runs.
        self.kept: KeptParts | None = kept
        # The delta and the new documents joined, made when a query needs them.
        self._joined: storage.Delta | None = None
        # New documents that are in no run, their number, and the ordinal of the first.
        self._batches: list[storage.StoredBatch] = []
        self.new_count = 0
        self.new_start = base.manifest.next_ordinal
        self.sealed: list[storage.Run] = []
        self._tombstones = storage.Tombstones(base.dead, store.spare)
        self.metadata = StagedMetadata()
        self.times = StagedTimes() if store.options.keeps_times else None
        first = base.manifest.next_ordinal
        self.staged_passages = StagedPassages(first) if store.options.passages else None
        columns = by_ordinal.columns_of(store.options)
        self.staged_columns = {column: StagedBytes(first) for column in columns}
        known = store.field_codes(base.manifest) if store.options.fields else None
        self.staged_codes = None if known is None else storage.StagedCodes(known, first)
        logs = (
            self.times, self.staged_passages, self.staged_codes, *self.staged_columns.values()
        )  # fmt: skip
        self._logs = [log for log in logs if log is not None]
        # The packed content of notes by their keys; None for a note that is removed.
        self.notes: dict[bytes, bytes | None] = {}
        self.document_count = base.manifest.document_count
        self.empty_count = base.manifest.empty_count
        self.bare_count = base.manifest.bare_count
        self.content = base.manifest.content
        self.maintainer = self._make_maintainer()
        self.merging = self._take_merging()
        # Number of threads that make and merge tables, as given to the last verb.
        self.threads = 1

    @property
    def deleted(self) -> list[U32]:
        """The ordinals of each deletion."""
        return self._tombstones.deleted

    @property
    def dead(self) -> storage.Bitmap | None:
        """The tombstones of all deleted documents; the bitmap changes with the next deletion."""
        return self._tombstones.bitmap

    @property
    def id_key(self) -> bytes:
        """The key of the hash of ids."""
        return self._base.manifest.id_key

    @property
    def has_changes(self) -> bool:
        """Whether there are changes to commit."""
        return bool(self._changes_view or self.metadata.has_changes or self.times)

    @property
    def _changes_view(self) -> bool:
        """Whether documents were inserted or deleted; metadata and times are in no view."""
        return bool(self.new_count or self.sealed or self.deleted)

    @property
    def next_ordinal(self) -> int:
        """The ordinal of the next document."""
        return self.new_start + self.new_count

    @property
    def delta_count(self) -> int:
        """The number of documents in the delta: stored ones that are not sealed, and new ones."""
        return self.new_count + (0 if self.sealed else len(self._base.delta.batch))

    def new_batch(self) -> storage.StoredBatch:
        """Return the new documents that are not in a run; there must be some."""
        if self._joined is None or len(self._batches) == 1:
            return storage.StoredBatch.joined(self._batches)
        count = len(self._joined)
        return self._joined.view().batch.part(count - self.new_count, count)

    def view(self, base_view: View) -> View:
        """Return the state with all changes, prepared for queries; `base_view` shows the base."""
        if not self._changes_view:
            self.kept = base_view.kept
            return base_view
        if self._view is None:
            if self.delta_count > self._store.options.delta_documents:
                self.seal_delta()
            runs = [*self._base.runs, *self.sealed]
            delta = self._join().view()
            kind, calibration = self._store.kind, base_view.calibration
            kept = self.kept or base_view.kept
            self._view = View(runs, delta, self.dead, kind, calibration, kept=kept)
            self.kept = self._view.kept
        return self._view

    def committed(self, number: int, manifest: storage.Manifest) -> storage.Contents:
        """Return the stored contents after the transaction `number` has committed the changes."""
        self._tombstones.committed()
        return self._base.after(number, manifest, self._join(), self.dead)

    def lacks(self, form: tuple[I64, U8, U64]) -> bool:
        """Return True if no document has this id; False if that is not certain.

        `form`: the id as `encode_ids` returns it.  This needs no view, so that inserting documents
        one by one is fast.
        """
        ids = None if self.kept is None else self.kept.sealed.ids
        if ids is None or self.delta_count >= self._store.options.delta_documents:
            return False
        hash, found = int(form[2][0]), np.full(1, -1)
        if not self._join().lacks(hash) or ids.tables.lookup_one(hash, 0, 0, False):
            return False
        ids.find_ints(form, None, self._sealed_ids, found)
        return bool(found[0] < 0)

    def saved(self) -> Saved:
        """Return the changes staged now, for `restore`."""
        counts = (self.document_count, self.empty_count, self.bare_count, self.content)
        return Saved(self._batches, self.sealed, self.deleted, self._marks, counts)

    def is_settled_since(self, saved: Saved) -> bool:
        """Return whether maintained clusters include changes staged after `saved`."""
        count, start, _, deletions, *_ = saved.marks
        return self.maintainer is not None and self.maintainer.is_past(start + count, deletions)

    def restore(self, saved: Saved) -> None:
        """Drop the changes staged since `saved`, even an interrupted one."""
        self.content = saved.counts[-1]
        is_same = self._batches is saved.batches and self.sealed is saved.sealed
        is_same &= self.deleted is saved.deleted
        if is_same and self._marks == saved.marks:  # every change first adds to one of these
            return
        self._view = self._joined = self.kept = None
        self._batches, self.sealed = saved.batches, saved.sealed
        self.new_count, self.new_start, batches, deletions, metadata, logs = saved.marks
        del self._batches[batches:]
        self._tombstones.restore(saved.deleted, deletions)
        self.metadata.restore(metadata)
        for log, length in zip(self._logs, logs, strict=True):
            log.restore(length)
        self.document_count, self.empty_count, self.bare_count, self.content = saved.counts

    def settle(self, sketches: Sketches) -> Sketches:
        """Return the sketches to insert.

        The first document determines the content of the database; see `Sketches`.  Raises
        InputError if the sketches have another content.
        """
        if self.document_count:
            check_content(self.content, sketches)
        elif len(sketches):
            self.content = sketches.content
        return sketches

    def insert(
        self,
        batch: storage.StoredBatch,
        metadata: Sequence[tuple[int, bytes]],
        times: U32 | None = None,
    ) -> None:
        """Add documents at the end; `metadata`: position in the batch and stored form.

        `times` uint32[n]: when each document was seen, if the database keeps times; None for now.
        An exception in the middle leaves some of the changes, which `restore` drops.
        """
        first = self.next_ordinal
        if first + len(batch) > ORDINALS_MAX:
            raise FullError(
                f"the database has used {first} of {ORDINALS_MAX} document numbers;"
                " compact() frees the numbers of deleted documents"
            )
        self._batches.append(batch)
        self.new_count += len(batch)
        if self._joined is not None:
            if len(batch) > self._store.options.delta_documents:
                self._joined = None  # all of it will be sealed
            else:
                self._joined.append(batch)
        self._tombstones.make_room(self.next_ordinal)
        self.metadata.insert(first, metadata)
        if self.staged_passages is not None:
            self.staged_passages.insert(self._beside(batch.extras.grains, "passages"))
        for column, staged in self.staged_columns.items():
            made = getattr(batch.extras, column.what)
            if made is None and column is by_ordinal.TEXTS:
                made = by_ordinal.without(len(batch))
            staged.insert(self._beside(made, column.what))
        if self.times is not None:
            self.times.note(np.arange(first, self.next_ordinal, dtype=np.uint32), times)
        self._change_codes(first, len(batch), metadata, partial(_named, batch))
        self._count(batch.states, 1)

    def change_metadata(self, ordinal: int, packed: bytes, id: Any) -> None:
        """Replace the metadata of the live document `id` by `packed`, in stored form."""
        self.metadata.change(ordinal, packed)
        name = f"document {id!r}"
        self._change_codes(ordinal, 1, [(0, packed)], lambda _: name)

    def _change_codes(
        self, start: int, count: int, metadata: Sequence[tuple[int, bytes]],
        named: Callable[[int], str],
    ) -> None:  # fmt: skip
        """Note the codes of the fields of documents that have new metadata."""
        if self.staged_codes is not None:
            fields = self._store.options.fields
            codes = storage.codes_of(metadata, fields, count, self.id_key, named)
            self.staged_codes.change(start, codes)

    @property
    def fields_version(self) -> int:
        """The version of the codes of fields that are stored."""
        return self._base.manifest.fields_version

    @property
    def passages(self) -> tuple[storage.PassageInfo, ...]:
        """The stored passage runs; `staged_passages` has the rest."""
        return self._base.manifest.passages

    def see(self, ordinals: U32) -> None:
        """Note the time for documents that claims matched, if the database keeps it."""
        if self.times is not None and self._store.options.keep_times == SEEN:
            self.times.note(ordinals)

    def delete(self, ordinals: U32, states: U8) -> None:
        """Delete live documents, whose `states` are given."""
        if len(ordinals):
            self._view = None
            self._tombstones.delete(ordinals, self.next_ordinal)
            self._count(states, -1)

    def revive(self, ordinals: U32, states: U8) -> None:
        """Undo the deletion of documents that this transaction has deleted."""
        self._view = None
        self._tombstones.revive(ordinals)
        self._count(states, 1)
        if self.times is not None:
            self.times.note(ordinals)

    @property
    def may_revive(self) -> bool:
        """Whether deletions can be undone: no clusters or passages depend on them yet."""
        is_settled = self.maintainer is not None and self.maintainer.is_past(self.next_ordinal, 0)
        return bool(self.deleted) and not is_settled and self.staged_passages is None

    def rebase(self, base: storage.Contents, source: storage.Source) -> None:
        """Move to `base`, the same state read again through `source`."""
        self._base = base
        self._source = source
        self._view = self.kept = None
        self._tombstones.rebase(base.dead)
        if self.maintainer is not None:
            self.maintainer.membership.rebase(source)

    def seal_delta(self) -> None:
        """Seal the documents of the delta into a run in memory."""
        if self.delta_count:
            sealed, start = self.sealed, self.next_ordinal
            for delta in self._delta_parts():
                # The run gets its number when it is written.
                offset = self._store.options.header_offset
                run = rewriting.seal(delta, self._store.keying, offset, self.threads)
                sealed = self._merged([*sealed, run])
            self.kept = None
            # No exception can come between these, so every document is in the delta or in a run.
            self.sealed, self.new_start, self.new_count = sealed, start, 0
            self._batches, self._joined = [], None

    def merging_of(self, merge: storage.Unfinished) -> merges.Merging:
        """Return the part of an unfinished merge that is in memory."""
        if self.merging is None or self.merging.number != merge.run.number:
            self.merging = merges.Merging(
                merge.run.number, storage.table_names(self._store.options)
            )
        return self.merging

    def give_back(self) -> None:
        """Leave merge and clusters to the next transaction, if this one ends without a commit."""
        if self.merging is not None:
            self._store.merging = self._stamp, self.merging
        known = self._base.manifest.next_ordinal
        if self.maintainer is not None and not self.maintainer.is_past(known, 0):
            self._store.membership = self._stamp, self.maintainer.membership

    @property
    def _stamp(self) -> tuple[int, int]:
        """A stamp that changes if another process writes or the map moves."""
        return self._base.transaction_number, self._base.generation

    def _take_merging(self) -> merges.Merging | None:
        """Return the merge that the last transaction left in memory; None if it is of no use."""
        known, self._store.merging = self._store.merging, None
        return known[1] if known is not None and known[0] == self._stamp else None

    def _make_maintainer(self) -> Maintainer | None:
        """Return the maintainer of the clusters; None if the database maintains none.

        It uses the clusters that the last transaction read, if no other process has written since.
        """
        if not self._store.options.keeps_clusters:
            return None
        known, self._store.membership = self._store.membership, None
        if known is not None and known[0] == self._stamp:
            membership = known[1]
            membership.rebase(self._source)
        else:
            membership = storage.Membership(self._source)
        return Maintainer(membership, of_maintained(self._store.options), self._base.manifest)

    def _delta_parts(self) -> Iterator[storage.DeltaView]:
        """Yield the documents of the delta, in parts of at most the size of a run in memory."""
        joined = self._joined
        if joined is not None and len(joined) <= compaction.STAGED_MOST:
            yield joined.view()
            return
        stored = self._base.delta
        start, before = (self.new_start, []) if self.sealed else (stored.start, [stored.batch])
        parts = [each for each in (*before, *self._batches) if len(each)]
        batch = storage.StoredBatch.joined(parts) if joined is None else joined.view().batch
        for first in range(0, len(batch), compaction.STAGED_MOST):
            part = batch.part(first, min(first + compaction.STAGED_MOST, len(batch)))
            yield part.view(start + first, self._store.keying)

    def _merged(self, sealed: list[storage.Run]) -> list[storage.Run]:
        """Return the runs in memory, merged as a commit merges stored runs.

        Runs of many documents are not merged, since they would be in memory twice.
        """
        counts = [len(run.info) for run in sealed]
        first = min(compaction.first_within(counts, compaction.STAGED_MOST), len(counts) - 1)
        growth = self._store.options.growth
        start = first + compaction.merged_from(counts[first:], 1, growth)
        if start == len(counts) - 1:
            return sealed
        names = storage.table_names(self._store.options)
        merged = rewriting.merge_in_memory(
            sealed[start:], self._source, table_names=names, threads=self.threads
        )
        return [*sealed[:start], merged]

    def _sealed_ids(self, ordinals: U32) -> Any:
        """Return the ids of documents in runs, at least for `ordinals`."""
        assert self.kept is not None
        return self.kept.sealed.identifiers.over(self._source, ordinals, self.new_start)

    def _join(self) -> storage.Delta:
        if self._joined is None:
            if self.sealed:
                joined = storage.Delta(self.new_start, self._store.width, self._store.keying)
            else:
                joined = self._base.buffer.branch()
            for batch in self._batches:
                joined.append(batch)
            self._joined = joined
        return self._joined

    def _beside(self, made: Made | None, name: str) -> Made:
        """Return values made of the texts of new documents.

        Raises InputError if the documents are not texts.
        """
        if made is None:
            raise InputError(
                f"{self._store.environment.path} has {name}, which are made of texts, and these"
                " are sketches; insert the texts, or use a database that stores none"
            )
        return made

    @property
    def _marks(self) -> tuple[int, int, int, int, tuple[int, int], tuple[int, ...]]:
        """Sizes of the staged changes; see `Saved`."""
        logs = tuple(map(len, self._logs))
        batches, deletions = len(self._batches), len(self.deleted)
        return self.new_count, self.new_start, batches, deletions, self.metadata.counts, logs

    def _count(self, states: U8, sign: int) -> None:
        self._view = None
        if len(states) == 1:
            state = int(states[0])
            self.document_count += sign
            self.empty_count += sign * (state == EMPTY)
            self.bare_count += sign * (state == BARE)
            return
        self.document_count += sign * len(states)
        self.empty_count += sign * int(np.count_nonzero(states == EMPTY))
        self.bare_count += sign * int(np.count_nonzero(states == BARE))


def _named(batch: storage.StoredBatch, at: int) -> str:
    """Name one document of a batch for a message."""
    part = batch.part(at, at + 1)
    return f"document {kernel.decode_ids(part.offsets, part.content)[0]!r}"
