"""Command demo: finds near-duplicates among the Python files of this machine."""

import os
import sysconfig
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from time import perf_counter
from typing import Annotated

import simdb
from simdb.cli.duplicates.groups import group_rows, temporary_database
from simdb.cli.options.arguments import Json
from simdb.cli.options.declare import Option
from simdb.cli.output.progress import Progress
from simdb.cli.output.render import is_table, print_rows, quantity
from simdb.cli.reading.intake import Intake
from simdb.sources.batch import batched
from simdb.sources.reading import read_folder
from simdb.sources.records import Reading, Record

QUERIES = 200
SHOWN_GROUPS = 10
EXPLANATION = (
    "Each file became 64 bits and 128 small weights.  Two files are near-duplicates if the",
    "estimated cosine of their weights is 0.889 or more.  For your own files: simdb dedup FOLDER",
)
FOLDERS = {"stdlib": "stdlib", "site-packages": "purelib"}


def demo(
    limit: Annotated[int, Option(min=1, help="Read at most this many files.")] = 20_000,
    json: Json = False,
) -> None:
    """Find near-duplicates among the Python files of this machine, and show how long it takes."""
    with Progress("reading") as progress, temporary_database(simdb.Options()) as database:
        intake = Intake(batched(islice(python_files(), limit)), progress)
        storing = 0.0
        for batch in intake.batches(database.options.sketch):
            begun = perf_counter()
            database.insert_many(batch.ids, batch.texts)
            storing += perf_counter() - begun
        reading = progress.elapsed_seconds - storing
        begun = perf_counter()
        clusters = database.find_clusters()
        grouping = perf_counter() - begun
        rows = sorted(group_rows(database, clusters), key=lambda row: -int(row["size"]))
        query_seconds = _query_seconds(database)
    shown = rows[:SHOWN_GROUPS] if is_table(json) else rows
    print_rows(shown, ("representative", "size", "duplicates"), as_json=json)
    megabytes = intake.size_bytes / 1e6
    speed = megabytes / max(storing, 1e-9)
    progress.note(
        f"read {quantity(intake.documents, 'file')}, {megabytes:,.1f} MB: {reading:.2f} s"
    )
    progress.note(f"fingerprinted and stored: {storing:.2f} s, {speed:,.0f} MB/s")
    progress.note(f"found {quantity(len(rows), 'group')} of near-duplicates: {grouping:.3f} s")
    progress.note(f"one query among all files: {query_seconds * 1e6:,.0f} us")
    for line in EXPLANATION:
        progress.note(line)


def _query_seconds(database: simdb.Database) -> float:
    """Return the mean time of one query."""
    ids = list(islice(database, QUERIES))
    begun = perf_counter()
    for id in ids:
        database.query(id=id)
    return (perf_counter() - begun) / max(len(ids), 1)


def python_files() -> Iterator[Record]:
    """Yield the Python files of the standard library and of installed packages, as records.

    Their ids are short paths, such as `stdlib/os.py`.
    """
    for name, key in FOLDERS.items():
        folder = sysconfig.get_path(key)
        others = [os.path.realpath(sysconfig.get_path(each)) for each in FOLDERS.values()]
        passed = set(others) - {os.path.realpath(folder)}
        for record in read_folder(folder, Reading(), passed, ending=".py"):
            # Problems are left out: some files of the standard tests are invalid on purpose.
            if isinstance(record, Record):
                yield replace(record, id=f"{name}/{os.path.relpath(str(record.id), folder)}")
