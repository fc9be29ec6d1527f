"""Passages: writes the grains of new documents as a passage run, merged with small older runs.

Every commit that inserts writes one passage run.  What is too much for one LMDB transaction is
written ahead, a part in each commit: the manifest then names the first number that does not count.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from simdb.database.write.staging import Staging
from simdb.database.write.writer import Ahead, Writer
from simdb.plan import compaction
from simdb.storage import (
    Change,
    Manifest,
    PassageInfo,
    Passages,
    Source,
    check_rewritten,
    layout,
    living,
    passage_keys,
    stored_passages,
    write_passages,
)

# A commit merges runs of so many entries together, 48 MB, and no more: that takes some 50 ms.
MERGED_MOST = 1 << 22
# More entries than that are written ahead of the commit that makes them live.
AHEAD_ENTRIES = 1 << 23


def write_new(
    ahead: Ahead, writer: Writer, manifest: Manifest, staging: Staging, source: Source
) -> Manifest:
    """Store the grains of new documents; returns the manifest, whose `next_ordinal` is the new."""
    staged = staging.staged_passages
    if staged is None:
        return manifest
    if ahead.passages is not None:
        return replace(manifest, passages=(*manifest.passages, ahead.passages), passages_ahead=0)
    manifest = drop_strays(writer, manifest)
    rows, stop = manifest.passages, manifest.next_ordinal
    start = rows[-1].stop if rows else 0
    if start == stop:
        return manifest
    if rows and not staged.entry_count:
        return replace(manifest, passages=(*rows[:-1], rows[-1]._replace(stop=stop)))
    first = _merged_from(rows, staged.entry_count, writer.store.options.growth)
    merged = rows[first:]
    passages = Passages(stored_passages(merged).runs, staged.entries())
    span = (merged[0].start if merged else start, stop)
    change = living(staging.dead, stop)
    row = write_passages(passages, manifest.next_passage, span, source, writer.put, change)
    drop_runs(writer, merged)
    return replace(manifest, passages=(*rows[:first], row), next_passage=row.number + 1)


def write_new_ahead(ahead: Ahead, staging: Staging, source: Source) -> None:
    """Write the grains of so many new documents that they would be too much for one commit."""
    staged = staging.staged_passages
    if staged is not None and staged.entry_count >= AHEAD_ENTRIES:
        rows, stop = ahead.manifest.passages, staging.next_ordinal
        passages = Passages([], staged.entries())
        change = living(staging.dead, stop)
        span = (rows[-1].stop if rows else 0, stop)
        ahead.passages = write_ahead(ahead, passages, span, source, change)


def write_ahead(
    ahead: Ahead, passages: Passages, span: tuple[int, int], source: Source, change: Change
) -> PassageInfo:
    """Write a passage run in commits of their own and read it again; nobody reads it before."""
    number = max(ahead.manifest.next_passage, 1)

    def reserve(writer: Writer) -> Manifest:
        kept = drop_strays(writer, ahead.manifest)
        return replace(kept, passages_ahead=number + 1, next_passage=number + 1)

    def put(name: bytes, key: bytes, value: Any) -> None:
        def write(writer: Writer) -> Manifest:
            writer.put(name, key, value)
            return ahead.manifest

        ahead.commit(write)

    ahead.commit(reserve)
    row = write_passages(passages, number, span, source, put, change)
    with ahead.store.source() as written:
        check_rewritten([row], written)
    return row


def rewrite(
    ahead: Ahead, writer: Writer, rows: Sequence[PassageInfo], source: Source, change: Change,
    count: int,
) -> tuple[PassageInfo, ...]:  # fmt: skip
    """Return the row of all passages in one run of `count` documents; it is stored if not ahead.

    Values of `rows` are removed.
    """
    row = ahead.passages
    if row is None:
        drop_strays(writer, ahead.manifest)
    if row is None and rows:
        number = ahead.manifest.next_passage
        passages = stored_passages(rows)
        row = write_passages(passages, number, (0, count), source, writer.put, change)
        check_rewritten([row], writer.store.source(inside=writer.transaction))
    drop_runs(writer, rows)
    return () if row is None or not count else (row,)


def drop_runs(writer: Writer, rows: Sequence[PassageInfo]) -> None:
    """Remove every value of some passage runs."""
    if rows:
        writer.store.environment.watch.walk(frozenset({layout.PASSAGES}))
    for row in rows:
        for key in passage_keys(row):
            writer.delete(layout.PASSAGES, key)


def drop_strays(writer: Writer, manifest: Manifest) -> Manifest:
    """Remove passages written ahead of a commit that did not follow; returns the manifest."""
    if not manifest.passages_ahead:
        return manifest
    writer.delete_from([layout.PASSAGES], manifest.passages_ahead - 1)
    return replace(manifest, passages_ahead=0)


def _merged_from(rows: Sequence[PassageInfo], new: int, growth: int) -> int:
    """Return the position of the first stored run to merge with `new` entries."""
    counts = [*(row.entry_count for row in rows), new]
    first = min(compaction.first_within(counts, MERGED_MOST), len(rows))
    return first + compaction.merged_from(counts[first:], 1, growth)
