"""Unfinished merges: begun by one commit, carried on by later ones, and finished by the last.

A commit does as many steps as are due for the documents that were inserted since the merge began
(`steps_due` in `plan/compaction.py`), and otherwise prepares the next step in memory.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from simdb.engine.state.store import Store
from simdb.engine.write.writer import DROPPED, Ahead, Writer, drop_run
from simdb.ground.errors import CorruptError
from simdb.plan import compaction
from simdb.storage.contents import Contents, table_names
from simdb.storage.records.manifest import Manifest, RunInfo, Unfinished, merged_into
from simdb.storage.records.tombstones import Bitmap
from simdb.storage.runs.merging import Merging, steps_of, written_keys
from simdb.storage.runs.run import Run
from simdb.storage.runs.source import Source


def begin_merge(manifest: Manifest, growth: int) -> Manifest:
    """Return the manifest with the next large merge begun; unchanged if none is wanted.

    The runs have been merged already as far as one commit may.
    """
    runs = manifest.runs
    first = compaction.first_within([len(run) for run in runs], compaction.LENGTH_MOST)
    start = first + compaction.begun_from([run.id_count for run in runs[first:]], growth)
    if start == len(runs):
        return manifest
    weighted_count = sum(run.weighted_count for run in runs[start:])
    number = manifest.next_run
    run = RunInfo(number, runs[start].start, runs[-1].stop, 0, 0, weighted_count)
    merge = Unfinished(run, 0, manifest.next_ordinal)
    return replace(manifest, next_run=number + 1, unfinished=merge)


def step_ahead(
    ahead: Ahead,
    base: Contents,
    merging: Callable[[Unfinished], Merging],
    next_ordinal: int,
    source: Source,
) -> None:
    """Do the due steps of the unfinished merge but the last, each in a commit of its own.

    So a commit that inserts many documents need not have the values of many steps in memory.
    `source` sees `base`.
    """
    merge = base.manifest.unfinished
    if merge is None:
        return
    work = _Work(ahead.store, base, merge)
    due = work.due(next_ordinal)
    for at in range(merge.done, due - 1):

        def write(writer: Writer, at: int = at) -> Manifest:
            merge = ahead.manifest.unfinished
            assert merge is not None
            run = merging(merge).write(
                work.steps[at], merge.run, work.runs, source, writer.put, base.dead
            )
            return replace(ahead.manifest, unfinished=Unfinished(run, at + 1, merge.begun))

        ahead.commit(write)
        # So many documents are being inserted that nobody waits for a query of these runs.
        for each in work.runs:
            each.give_back()


def carry_on(
    writer: Writer,
    manifest: Manifest,
    base: Contents,
    merging: Merging,
    dead: Bitmap | None,
    source: Source,
) -> Manifest:
    """Do the due steps of the unfinished merge of `manifest`; returns the manifest afterwards.

    `source` sees `base`, the state before this commit.  `merging` is what the last commit of this
    process left in memory, or new.
    """
    merge = manifest.unfinished
    assert merge is not None
    work = _Work(writer.store, base, merge)
    run, runs, steps, due = merge.run, work.runs, work.steps, work.due(manifest.next_ordinal)
    if merge.done >= due:
        merging.prepare(steps[merge.done], run, runs, source, dead)
        return manifest
    for step in steps[merge.done : due]:
        run = merging.write(step, run, runs, source, writer.put, dead)
    if due < len(steps):
        merging.note(steps[due], runs)
        return replace(manifest, unfinished=Unfinished(run, due, merge.begun))
    _drop(writer, runs)
    unmerged = [row for row in manifest.runs if row not in work.rows]
    every = sorted([*unmerged, run], key=lambda row: row.start)
    return replace(manifest, runs=tuple(every), unfinished=None)


def drop_unfinished(writer: Writer, merge: Unfinished | None) -> None:
    """Remove every value that an unfinished merge has written."""
    if merge is not None:
        for name, key in written_keys(merge, table_names(writer.store.options)):
            writer.delete(name, key)


class _Work:
    """What there is to do for the unfinished merge of a state."""

    def __init__(self, store: Store, base: Contents, merge: Unfinished) -> None:
        self._merge = merge
        self.rows = merged_into(merge.run, base.manifest.runs)
        self.runs = [each for each in base.runs if each.info in self.rows]
        self.steps = steps_of(merge.run, table_names(store.options))
        if merge.done >= len(self.steps):
            raise CorruptError(
                f"the unfinished merge into run {merge.run.number} has {merge.done} steps"
            )

    def due(self, next_ordinal: int) -> int:
        """Return how many steps must be done when `next_ordinal` documents were inserted."""
        inserted = next_ordinal - self._merge.begun
        return compaction.steps_due(len(self.steps), len(self._merge.run), inserted)


def _drop(writer: Writer, runs: Sequence[Run]) -> None:
    """Remove runs after they were merged."""
    store = writer.store
    store.environment.page_checks.walk(DROPPED.union(table_names(store.options)))
    for run in runs:
        drop_run(writer, run)
