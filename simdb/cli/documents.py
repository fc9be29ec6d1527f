"""Commands get, cluster and delete: show or delete stored documents."""

from __future__ import annotations

import sys
from typing import Annotated

import simdb
from simdb import files
from simdb.cli.options.opening import one_state, open_either, open_idle
from simdb.cli.options.option_groups import given_ids, given_where
from simdb.cli.output.render import DATABASE_ERROR, Exit, plain, print_one

SHOWN_IDS = 20


def get(db: str, ids: list[str], *, int_ids: bool = False) -> None:
    """Show the fingerprint and metadata of stored documents, and their texts if they have any."""
    is_missing = False
    with open_either(db) as database, one_state(database) as snapshot:
        for id in given_ids(ids, int_ids):
            try:
                document = snapshot[id]
                time = _document_time(snapshot, id) if database.options.keeps_times else {}
                text = {"text": document.text} if database.options.texts else {}
                print_one(_document_row(document) | time | text)
            except simdb.NotFoundError as error:
                print(f"simdb: {plain(str(error))}", file=sys.stderr)
                is_missing = True
    if is_missing:
        raise Exit(DATABASE_ERROR)


def cluster(db: str, id: str, *, int_ids: bool = False) -> None:
    """Show the cluster of one stored document, the representative first."""
    with simdb.open(db, "r") as database:
        ids = database.cluster(given_ids([id], int_ids)[0])
        print_one({"representative": ids[0], "size": len(ids), "ids": ids})


def delete(
    db: str,
    ids: list[str] | None = None,
    *,
    ids_file: Annotated[str | None, "--ids"] = None,
    where: list[str] | None = None,
    older_than: str | None = None,
    int_ids: bool = False,
) -> None:
    """Delete stored documents, by id, by their metadata or by their age."""
    conditions = where if older_than is None else older_than
    if [ids, ids_file, conditions].count(None) != 2:
        raise simdb.OptionError(
            "delete needs one of ID..., --ids, and --where or --older-than or both"
        )
    if conditions is None:
        _delete_ids(db, ids, ids_file, int_ids)
        return
    with open_idle(db) as database:
        is_meant = given_where(where, database.options.fields)
        if older_than is not None:
            deleted = database.expire(older_than=older_than, where=is_meant)
        else:
            deleted = database.delete_where(is_meant)
    print_one({"deleted": deleted})


def _document_time(snapshot: simdb.Snapshot | simdb.ShardedDatabase, id: str | int) -> files.Row:
    """Return the UTC time when a document was inserted or last seen; none for shards."""
    if not isinstance(snapshot, simdb.Snapshot):
        return {}
    (time,) = snapshot.times_many([id])
    return {"time": None if str(time) == "NaT" else f"{time}Z"}


def _document_row(document: simdb.Document) -> files.Row:
    fingerprint = document.fingerprint
    minhash = {} if document.signature is None else {"has_signature": True}
    return {
        "id": document.id,
        "fingerprint": f"0x{fingerprint.hex()}",
        "is_empty": fingerprint.is_empty,
        "has_weights": fingerprint.weights is not None,
        **minhash,
        "metadata": document.metadata,
    }


def _delete_ids(db: str, ids: list[str] | None, ids_file: str | None, int_ids: bool) -> None:
    """Delete the documents with the given ids; exit code 3 if some are unknown."""
    given = read_ids(ids_file) if ids_file is not None else ids or []
    wanted = list(dict.fromkeys(given_ids(given, int_ids)))
    with open_idle(db) as database, database.write() as transaction:
        is_known = transaction.contains_many(wanted).tolist()
        deleted = transaction.delete_many(wanted)
    print_one({"deleted": deleted})
    unknown = [id for id, known in zip(wanted, is_known, strict=True) if not known]
    for id in unknown[:SHOWN_IDS]:
        print(f"simdb: no document has the id {plain(repr(id))}", file=sys.stderr)
    if len(unknown) > SHOWN_IDS:
        print(f"simdb: {len(unknown) - SHOWN_IDS} more ids are unknown", file=sys.stderr)
    if unknown:
        raise Exit(DATABASE_ERROR)


def read_ids(path: str) -> list[str]:
    """Return the lines of a file, or of standard input for `-`, without empty ones.

    Raises InputError if it cannot be read as text.
    """
    text = files.read_file(path, "utf-8-sig", "strict", is_document=False)
    # Other line separators, at which splitlines would split, can be part of an id.
    lines = (line.removesuffix("\r") for line in text.split("\n"))
    return [line for line in lines if line]
