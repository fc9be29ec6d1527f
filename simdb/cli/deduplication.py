"""Deduplication: the work of `dedup`, once over sources or against all earlier runs.

Rows wait in a spool and survivors in a file without its name, until everything is stored.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import IO, Any

import simdb
from simdb.cli.options.sketch_options import Given, allowed, check_given, make_sketch
from simdb.cli.output.progress import Progress
from simdb.cli.output.render import Row, match_row, quantity
from simdb.cli.output.spool import Spool
from simdb.cli.reading.intake import Intake
from simdb.cli.reading.records import Record
from simdb.cli.reading.unique_ids import Names
from simdb.values import Id

# Measuring takes a look-up for each document; past so many, groups come without similarities.
MEASURED_DOCUMENTS = 20_000


@dataclass(slots=True)
class Outcome:
    """What was found, in numbers."""

    stored: int = 0
    groups: int = 0
    duplicates: int = 0
    empty: int = 0
    seen: int = 0
    renamed: int = 0


@contextmanager
def temporary_database(options: simdb.Options) -> Iterator[simdb.Database]:
    """A database that is gone afterwards."""
    with (
        TemporaryDirectory(prefix="simdb-", ignore_cleanup_errors=True) as folder,
        simdb.open(folder, "x", options=options, durability="none") as database,
    ):
        yield database


def open_against(path: str, given: Given, allow: Sequence[str] | None) -> simdb.Database:
    """The database of earlier runs, made by the first; OptionError if it is not as `given`."""
    try:
        database = simdb.open(path, "w", allow=allowed(given, allow))
    except simdb.NotFoundError:
        return simdb.open(path, "c", options=simdb.Options(sketch=make_sketch(given)))
    try:
        check_given(given, database.options.sketch, path)
    except simdb.OptionError:
        database.close()
        raise
    return database


def find_groups(
    intake: Intake,
    given: Given,
    asked: dict[str, Any],
    progress: Progress,
    rows: Spool,
    kept: IO[bytes] | None,
) -> Outcome:
    """Put the groups among the documents into `rows`, and the lines of survivors into `kept`.

    `given`: options of the sketch.  `asked`: the criterion and the policy.
    """
    options = simdb.Options(sketch=make_sketch(given))
    with (
        temporary_database(options) as database,
        Spool(beside=kept) as lines,
    ):
        names = Names(progress, database.sketcher)
        for batch in intake.batches(options.sketch):
            records, _ = names.store(batch, database, lambda some: insert_records(database, some))
            for record in records if kept else ():
                lines.add([record.id, record.line])
        progress.show("finding groups")
        outcome = Outcome(stored=len(database), renamed=names.renamed)
        dropped: set[Id] = set()
        for row in group_rows(database, database.find_clusters(**asked)):
            rows.add(row)
            outcome.groups += 1
            outcome.duplicates += len(row["duplicates"])
            if kept:
                dropped.update(each["id"] for each in row["duplicates"])
        for id, line in lines:
            if kept and id not in dropped:
                kept.write(os.fsencode(line) + b"\n")
        outcome.empty = database.stats().empty_count
    return outcome


def find_new(
    intake: Intake,
    database: simdb.Database,
    asked: dict[str, Any],
    progress: Progress,
    rows: Spool,
    kept: IO[bytes] | None,
) -> Outcome:
    """Store what is new; put the match of everything else into `rows`, all or nothing."""
    outcome = Outcome()
    empty = database.stats().empty_count
    with database.write() as transaction, database.read() as before:
        names = Names(progress, database.sketcher, before)
        for batch in intake.batches(database.options.sketch):
            records, matches = names.store(
                batch, transaction, lambda some: _claim(transaction, some, asked)
            )
            for record, found in zip(records, matches, strict=True):
                if found:
                    outcome.duplicates += 1
                    rows.add({"id": record.id, **match_row(found[0], "match")})
                elif kept:
                    kept.write(os.fsencode(record.line) + b"\n")
        outcome.stored = len(transaction) - len(before)
        outcome.seen, outcome.renamed = names.seen, names.renamed
        if kept:
            kept.flush()
    outcome.empty = database.stats().empty_count - empty
    return outcome


def insert_records(database: simdb.Database, records: list[Record]) -> int:
    """Insert a batch in a transaction of its own."""
    return database.insert_many(
        [record.id for record in records], [record.text for record in records]
    )


def summary(outcome: Outcome, intake: Intake, seconds: float, *, is_against: bool) -> str:
    """The numbers in one line."""
    parts = [quantity(intake.documents, "document")]
    if is_against:
        parts += [f"{outcome.stored:,} new", quantity(outcome.duplicates, "duplicate")]
    else:
        parts += [quantity(outcome.groups, "group"), quantity(outcome.duplicates, "duplicate")]
    counts = {"seen before": outcome.seen, "empty": outcome.empty, "renamed": outcome.renamed}
    parts += [f"{count:,} {name}" for name, count in counts.items() if count]
    speed = intake.size_bytes / 1e6 / max(seconds, 1e-9)
    return f"{', '.join(parts)}; {seconds:.2f} s, {speed:,.1f} MB/s{intake.skipped_note()}"


def group_rows(database: simdb.Database, clusters: simdb.Clusters) -> Iterator[Row]:
    """Each cluster as a row: its representative, its size, and the others."""
    measured = 0
    with database.read() as snapshot:
        for cluster in clusters:
            measured += len(cluster)
            is_measured = measured <= MEASURED_DOCUMENTS
            first = snapshot.get(cluster.representative) if is_measured else None
            yield {
                "representative": cluster.representative,
                "size": len(cluster),
                "duplicates": [_duplicate(snapshot, id, first) for id in cluster.ids[1:]],
            }


def _duplicate(snapshot: simdb.Snapshot, id: Id, first: simdb.Document | None) -> Row:
    """A member of a cluster, measured against the first."""
    if first is None:
        return {"id": id, "distance": None, "similarity": None}
    if first.signature is not None:
        found = snapshot.explain(first.id, id)
        return match_row(simdb.Match(id, found.distance, found.similarity))
    left, right = first.fingerprint, snapshot.get(id).fingerprint
    is_weighted = left.weights is not None and right.weights is not None
    return match_row(
        simdb.Match(
            id, simdb.distance(left, right), simdb.similarity(left, right) if is_weighted else None
        )
    )


def _claim(
    transaction: simdb.WriteTransaction, records: list[Record], asked: dict[str, Any]
) -> simdb.Matches:
    return transaction.add_many_if_new(
        [record.id for record in records], [record.text for record in records], **asked
    )
