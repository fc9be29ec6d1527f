"""Command insert: stores documents in a database."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import simdb
from simdb import core, files
from simdb.cli.options.intake import Intake, is_default
from simdb.cli.options.opening import begin_write, open_or_create
from simdb.cli.options.option_groups import DocumentOptions, SearchOptions, given_text, with_nulls
from simdb.cli.options.sketch_options import SketchOptions, check_given, make_sketch
from simdb.cli.output.progress import Progress
from simdb.cli.output.render import match_row, print_one, print_rows, quantity
from simdb.core.choices import ERROR, ConflictName, MatchName, NullName, OnError, OnErrorName

MATCHED_COLUMNS = ("id", "match", "distance", "similarity")


def insert(
    db: str,
    sources: list[str] | None = None,
    *,
    id: str | None = None,
    text: str | None = None,
    on_conflict: ConflictName = "error",
    metadata: bool = False,
    match: MatchName | None = None,
    wanted: SearchOptions,
    existing: bool = False,
    inputs: DocumentOptions,
    on_null: NullName | None = None,
    allow: list[str] | None = None,
) -> None:
    """Insert documents in one transaction; create the database if it does not exist."""
    if (id is None) != (text is None) or (id is None) == (not sources):
        raise simdb.OptionError("insert needs either SOURCE... or --id with --text")
    criterion = wanted.criterion
    _check_matching(match, criterion, on_conflict)
    reading = with_nulls(inputs.reading(db), on_null)
    reading, sketch = replace(reading, has_fields=metadata), SketchOptions().given(inputs.bits)
    files.check_sources(sources or [], reading)
    found: files.Found = files.read_sources(sources or [], reading, excluded=[db])
    if id is not None and text is not None:
        found = given_text(id, reading.read_as(text), inputs.int_ids)

    def try_out(database: simdb.Database) -> None:
        """Check the options by a query without documents, before anything is read."""
        check_given(sketch, database.options.sketch, db)
        if match is not None:
            database.query_many([], **criterion)

    with Progress("inserting") as progress:
        intake = Intake(found, progress, reading.on_null, reading.on_error)
        with open_or_create(
            db, make_options=lambda: simdb.Options(sketch=make_sketch(sketch)),
            try_out=try_out, intake=intake, allow=allow or [], must_exist=existing,
        ) as database:  # fmt: skip
            if match is None:
                row = _insert_all(database, intake, on_conflict, inputs.on_error)
                print_one(row)
            else:
                refuse = intake.refusing(None, inputs.on_error)
                rows = _insert_matched(
                    database, intake, match, criterion, refuse, metadata=metadata
                )
                print_rows(rows, MATCHED_COLUMNS)
                progress.note(
                    f"{quantity(intake.documents, 'document')} inserted{intake.skipped_note()}"
                )
        if intake.dropped:
            progress.note(f"{quantity(intake.dropped, 'record')} without a text left out")
    intake.end()


def _insert_all(
    database: simdb.Database, intake: Intake, on_conflict: ConflictName, on_error: OnErrorName
) -> files.Row:
    """Insert all records in one transaction; return the counts as a result row."""
    count = 0
    with begin_write(database, intake.progress) as transaction:
        before = len(transaction)
        notes_short = is_default(database.options, None, None)
        for batch in intake.batches(database.options.sketch, notes_short=notes_short):
            refuse = intake.refusing(batch, on_error)
            count += _insert_batch(transaction, batch, on_conflict, refuse)
        if on_conflict == ERROR:
            intake.check(stored=len(transaction) - before)
    return {"inserted": count, "skipped": intake.skipped, "stored": len(database)}


def _insert_batch(
    transaction: simdb.WriteTransaction, batch: files.Batch, on_conflict: ConflictName,
    refuse: OnError,
) -> int:  # fmt: skip
    """Insert one batch; return how many documents were stored.

    `refuse` is called with each document that cannot be stored.
    """
    if on_conflict == ERROR:
        seen: set[core.arrays.Id] = set()
        for at, id in enumerate(batch.ids):
            if id in seen:
                raise _taken(batch, at)
            seen.add(id)
    try:
        return transaction.insert_many(
            batch.ids, batch.texts, _metadata(batch), on_conflict=on_conflict, on_error=refuse
        )
    except simdb.ExistsError:
        if on_conflict != ERROR:
            raise
        raise _taken(
            batch, next(at for at, id in enumerate(batch.ids) if id in transaction)
        ) from None


def _metadata(batch: files.Batch) -> list[Any] | None:
    """Return the other fields of each document; None if they were not read.

    A document without other fields gets None.
    """
    return None if batch.fields is None else [fields or None for fields in batch.fields]


def _insert_matched(
    database: simdb.Database,
    intake: Intake,
    match: MatchName,
    criterion: dict[str, Any],
    refuse: OnError,
    *,
    metadata: bool,
) -> Iterator[files.Row]:
    """Look up and insert all records; then return a row for each match.

    `refuse` is called with each document that cannot be stored.  The texts are in a spool, since
    the look-up and the insertion each read all of them.
    """
    ids: dict[core.arrays.Id, None] = {}
    fields: list[Any] = []
    with files.Spool() as texts, begin_write(database, intake.progress) as transaction:
        notes_short = is_default(database.options, criterion["similarity"], criterion["distance"])
        for batch in intake.batches(database.options.sketch, notes_short=notes_short):
            for at, id in enumerate(batch.ids):
                if id in ids or id in transaction:
                    raise _taken(batch, at)
                ids[id] = None
                texts.add(batch.texts[at])
            fields += _metadata(batch) or [None] * len(batch)
        intake.progress.begin("looking up")
        found = transaction.insert_batch(
            list(ids), iter(texts), fields if metadata else None, match=match, on_error=refuse,
            progress=intake.progress.documents, **criterion,
        )  # fmt: skip
    intake.progress.finish()
    return (
        {"id": id, **match_row(each, "match")}
        for id, row in zip(ids, found, strict=True)
        for each in row
    )


def _check_matching(match: MatchName | None, criterion: dict[str, Any], on_conflict: str) -> None:
    """Raise OptionError for options that need --match, or exclude it."""
    if match is None:
        for name, value in criterion.items():
            if value is not None:
                raise simdb.OptionError(f"--{name} needs --match first or all")
    elif on_conflict != ERROR:
        raise simdb.OptionError("insert takes either --match or --on-conflict, not both")


def _taken(batch: files.Batch, at: int) -> simdb.ExistsError:
    return simdb.ExistsError(
        f"{batch.where(at)}: the id {batch.ids[at]!r} is taken, so nothing was inserted; use"
        " --on-conflict skip to keep the document that has it, or replace to replace that"
    )
