"""Commands compact, rebuild, copy, merge and more: repair, copy, move and convert databases."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack, suppress
from dataclasses import asdict
from functools import partial
from typing import Annotated

import simdb
from simdb import compat, core, files
from simdb.cli.options.opening import open_either, open_idle
from simdb.cli.output.progress import Progress
from simdb.cli.output.render import (
    FINDINGS,
    Exit,
    in_words,
    is_table,
    print_note,
    print_one,
    quantity,
)
from simdb.core.choices import ConflictName


def compact(db: str) -> None:
    """Merge all runs of a database into one, drop deleted documents, and shrink the file."""
    with open_idle(db) as database:
        print_one(asdict(database.compact()))


def rebuild(db: str, *, drop_damaged: bool = False, polytopes: int | None = None) -> None:
    """Repair a database: rebuild all its tables from the stored documents."""
    with suppress(simdb.CorruptError, simdb.FormatError):
        open_idle(db).close()  # waits for present writers
    report = simdb.rebuild(db, drop_damaged=drop_damaged, polytopes=polytopes)
    row = asdict(report)
    if is_table():
        size = core.previews.size
        row = {
            "documents": f"{report.document_count:,}", "lost": f"{report.lost_count:,}",
            **({"dropped": report.dropped} if report.dropped else {}),
            "size": f"{size(report.after_bytes)}, {size(report.before_bytes)} before",
            "note": report.note,
        }  # fmt: skip
    print_one(row)
    for each in (*report.losses, *report.notes):
        print_note(in_words(each))
    if report.losses or report.notes:
        raise Exit(FINDINGS)


def copy(db: str, target: str, *, incremental: bool = False) -> None:
    """Copy the current state of a database to a new directory; other processes can keep writing."""
    files.check_outputs({"TARGET": target}, (), {}, [db])
    with simdb.open(db, "r") as database:
        count = database.copy(target, incremental=incremental)
    with simdb.open(target, "r") as copied:
        print_one({"path": target, "documents": len(copied), "bytes": count})


def merge(
    db: str, others: Annotated[list[str], "FROM..."], *, on_conflict: ConflictName = "error"
) -> None:
    """Store the documents of other databases with the same sketch in a database, all or none."""
    with Progress("merging") as progress, simdb.open(db, "w") as database, ExitStack() as held:
        given: list[simdb.database.Mergeable] = []
        for each in others:
            given.append(other := open_either(each))
            held.callback(other.close)
        count = database.merge(given, on_conflict=on_conflict, progress=progress.documents)
        row = {"path": db, "merged": count, "documents": len(database)}
    print_one(row)


def dump(db: str, *, output: str = "-") -> None:
    """Write everything in a database to one portable file; other processes can keep writing."""
    if output == files.STANDARD_OUTPUT and sys.stdout.isatty():
        raise simdb.OptionError(
            "a dump is binary and would garble the terminal; use -o FILE, or a pipe"
        )
    files.check_outputs({"--output": output}, (), {}, [db])
    with Progress("dumping") as progress, simdb.open(db, "r") as database:
        show = partial(progress.documents, whole=len(database))
        if output == files.STANDARD_OUTPUT:
            count = database.dump(sys.stdout.buffer, show)
            sys.stdout.buffer.flush()
        else:
            count = database.dump(output, show)
    if output == files.STANDARD_OUTPUT:
        print(f"dumped {quantity(count, 'document')}", file=sys.stderr)
    else:
        row = {"path": output, "documents": count, "bytes": os.path.getsize(output)}
        print_one(row)


def load(db: str, source: Annotated[str, "FILE"]) -> None:
    """Make a new database from a dump, completely or not at all."""
    with Progress("loading") as progress:
        count = simdb.load(
            sys.stdin.buffer if source == "-" else source, db, progress=progress.documents
        )
    print_one({"path": db, "documents": count})


def upgrade(db: str, *, python: str | None = None) -> None:
    """Convert a database to the format of this version; the old one is kept next to it."""
    with Progress("upgrading") as progress:
        old = simdb.upgrade(db, python=python, progress=progress.documents)
    print_one({"path": db, "old": old, "bytes": os.path.getsize(os.path.join(db, "data.mdb"))})


def import_datasketch(
    db: str,
    source: Annotated[str, "PICKLE"],
    *,
    threshold: float | None = None,
    params: tuple[int, int] | None = None,
    seed: int | None = None,
    hashfunc: list[str] | None = None,
) -> None:
    """Make a new database from a pickled datasketch MinHashLSH, or a dict or list of MinHash."""
    made = compat.importing.import_datasketch(
        source, db, threshold=threshold, params=params, seed=seed, hashfuncs=hashfunc or ()
    )
    print_one({"path": db, **asdict(made)})
