"""Sums: whether the entries of tables are those that were written.

The manifest has a checksum of the entries of each table, which their order does not change.  So a
merge knows what it must have read before it stores a value, and a check reads a table only once.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence

from simdb.core.errors import CorruptError, FormatError
from simdb.storage import layout
from simdb.storage.records.manifest import RunInfo
from simdb.storage.runs.merge import TableMerge
from simdb.storage.runs.run import Run
from simdb.storage.runs.source import Source
from simdb.storage.runs.table import Entries, joint, sums_of

REMEDY = "build the tables again from the stored columns: rebuild(), simdb rebuild"


def written_entries(
    runs: Sequence[Run], name: bytes, source: Source, table_names: Sequence[bytes]
) -> Entries:
    """Return the entries of a table of all `runs`, as they were written.

    For a run of an older version, which has no sums, that are the stored entries if their checksums
    are right; CorruptError otherwise.  `table_names`: all tables of keys.
    """
    return joint(_written(run, name, source, table_names) for run in runs)


def check_merge(runs: Sequence[Run], name: bytes, merge: TableMerge, written: Entries) -> None:
    """Raise CorruptError unless a complete merge has read what was `written` to a table of `runs`.

    It has lost none of the entries that it did not leave out.
    """
    check_read(runs, name, merge.read, written)
    if merge.kept != merge.written:
        raise CorruptError(
            f"{entries_in(runs, name)} were not merged as they are: {merge.kept.length} became"
            f" {merge.written.length} others; nothing was changed, try again"
        )


def check_read(runs: Sequence[Run], name: bytes, read: Entries, written: Entries) -> None:
    """Raise CorruptError unless the entries `read` are those that were `written`."""
    if read != written:
        raise CorruptError(f"{entries_in(runs, name)} are not those that were written; {REMEDY}")


def entries_in(runs: Sequence[Run], name: bytes) -> str:
    """Name the entries of a table of some runs for a message."""
    first, last = runs[0].info.number, runs[-1].info.number
    return f"the entries of {name.decode()} in the runs {first} to {last}"


def check_written(found: Iterable[tuple[bytes, str]]) -> None:
    """Raise CorruptError if there is a difference between what was written and what is stored."""
    for name, problem in found:
        raise CorruptError(
            f"{name.decode()} was not stored as it was written: {problem}; nothing was changed, try"
            " again, and if it happens again, on another disk"
        )


def differences(
    rows: Iterable[RunInfo], source: Source, table_names: Sequence[bytes]
) -> Iterator[tuple[bytes, str]]:
    """Yield a sub-database and a message for each value of runs that is not as it was written.

    Every byte of the runs is read once.
    """
    for row in rows:
        yield from table_differences(Run(row), source, table_names)
        yield from column_differences(Run(row), source, layout.COLUMN_KINDS)


def table_differences(
    run: Run, source: Source, table_names: Sequence[bytes]
) -> Iterator[tuple[bytes, str]]:
    """Yield the `differences` of the tables of a run."""
    known = sums_of(run.info, table_names)
    for name in (layout.IDS, *table_names):
        try:
            if name not in known:
                run.verify_table(name, source)
                continue
            run.verify_table(name, source, (layout.DIRECTORY,))
            table = run.named_table(name, source)
            if table.entries.checksum != known[name]:
                number = run.info.number
                yield name, f"the entries of run {number} are not those that were written"
        except (CorruptError, FormatError) as error:
            yield name, str(error)
        run.give_back()


def column_differences(
    run: Run, source: Source, columns: Collection[int]
) -> Iterator[tuple[bytes, str]]:
    """Yield the `differences` of some columns by ordinal of a run."""
    for number in range(run.segment_count):
        for column in columns:
            try:
                run.verify_column(column, number, source)
            except (CorruptError, FormatError) as error:
                yield layout.column_name(column), str(error)
        run.give_back()


def _written(run: Run, name: bytes, source: Source, table_names: Sequence[bytes]) -> Entries:
    known = sums_of(run.info, table_names)
    table = run.named_table(name, source)
    if name in known:
        return Entries(len(table.keys), known[name])
    run.verify_table(name, source)
    return table.entries
