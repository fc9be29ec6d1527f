"""Command demo: finds near-duplicates among the Python files of this machine."""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from time import perf_counter
from typing import Any

import simdb
from simdb import files
from simdb.cli.options.declare import Positive
from simdb.cli.options.intake import Intake
from simdb.cli.output.progress import Progress
from simdb.cli.output.render import is_table, print_rows, quantity, rounded

QUERIES = 200
SHOWN_GROUPS = 10
EXPLANATION = (
    "Two files are near-duplicates if they share 80 % of their runs of three words (Jaccard).  In",
    "a database each is 64 bits and 128 small weights.  For your own files: simdb dedup FOLDER",
)
FOLDERS = {"stdlib": "stdlib", "site-packages": "purelib"}


def demo(*, limit: Positive = 20_000) -> None:
    """Find near-duplicates among the Python files of this machine, and show how long it takes."""
    with Progress("reading") as progress, simdb.open(None) as database:
        intake = Intake(files.batched(islice(python_files(), limit)), progress)
        batches = list(intake.batches(database.options.sketch))
        reading = progress.elapsed_seconds
        ids = [id for batch in batches for id in batch.ids]
        texts = [text for batch in batches for text in batch.texts]
        begun = perf_counter()
        found = simdb.deduplicate(texts, id=ids)
        finding = perf_counter() - begun
        begun = perf_counter()
        database.insert_many(ids, texts)
        storing = perf_counter() - begun
        query_seconds = _query_seconds(database)
    similarities = dict(zip(found.removed_ids, found.similarities.tolist(), strict=True))
    rows = [_row(group, similarities) for group in found.groups]
    rows.sort(key=lambda row: -int(row["size"]))
    shown = rows[:SHOWN_GROUPS] if is_table() else rows
    print_rows(shown, ("representative", "size", "duplicates"))
    megabytes = intake.size_bytes / 1e6
    count = quantity(intake.documents, "file")
    progress.note(f"read {count}, {megabytes:,.1f} MB: {reading:.2f} s")
    progress.note(
        f"found {quantity(len(rows), 'group')} of near-duplicates: {finding:.2f} s,"
        f" {megabytes / max(finding, 1e-9):,.0f} MB/s"
    )
    progress.note(f"stored in a database: {storing:.2f} s")
    progress.note(f"one query among all files: {query_seconds * 1e6:,.0f} us")
    for line in EXPLANATION:
        progress.note(line)


def _row(group: simdb.Cluster, similarities: dict[Any, float]) -> files.Row:
    """Return a group as a row."""
    first, *others = group.ids
    duplicates = [{"id": id, "similarity": rounded(similarities[id])} for id in others]
    return {"representative": first, "size": len(group), "duplicates": duplicates}


def _query_seconds(database: simdb.Database) -> float:
    """Return the mean time of one query."""
    ids = list(islice(database, QUERIES))
    begun = perf_counter()
    for id in ids:
        database.query(id=id)
    return (perf_counter() - begun) / max(len(ids), 1)


def python_files() -> Iterator[files.Record]:
    """Yield the Python files of the standard library and of installed packages, as records.

    Their ids are short paths, such as `stdlib/os.py`.
    """
    for name, key in FOLDERS.items():
        folder = sysconfig.get_path(key)
        others = [os.path.realpath(sysconfig.get_path(each)) for each in FOLDERS.values()]
        passed = set(others) - {os.path.realpath(folder)}
        for record in files.read_folder(folder, files.SourceOptions(), passed, ending=".py"):
            # Problems are skipped: some files of the standard tests are invalid on purpose.
            if isinstance(record, files.Record):
                yield replace(record, id=f"{name}/{os.path.relpath(str(record.id), folder)}")
