"""Insertion: batches of records into a write transaction, every id once."""

import simdb
from simdb.cli.records import Record
from simdb.values import Id


def insert_batch(
    transaction: simdb.WriteTransaction, batch: list[Record], replace: bool, metadata: bool
) -> None:
    """Insert one batch; of documents with one id the last, if they `replace` each other."""
    records: dict[Id, Record] = {}
    for record in batch:
        if record.id in records and not replace:
            raise _taken(record)
        records[record.id] = record
    try:
        transaction.insert_many(
            list(records),
            [record.text for record in records.values()],
            [record.fields or None for record in records.values()] if metadata else None,
            replace=replace,
        )
    except simdb.ExistsError:
        raise _taken(next(each for each in batch if each.id in transaction)) from None


def _taken(record: Record) -> simdb.ExistsError:
    return simdb.ExistsError(
        f"{record.where}: the id {record.id!r} is taken, and nothing was inserted; --replace"
        " replaces what has it"
    )
