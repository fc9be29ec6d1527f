"""Command get: shows stored documents by id."""

import sys

import numpy as np

import simdb
from simdb.cli.options.arguments import Database, Ids, IntIds, Json, given_ids
from simdb.cli.options.opening import one_state, open_either
from simdb.cli.output.exit_codes import DATABASE_ERROR, Exit
from simdb.cli.output.render import plain, print_one
from simdb.outputs.rows import Row
from simdb.values.arrays import Id


def get(db: Database, ids: Ids, int_ids: IntIds = False, json: Json = False) -> None:
    """Show the fingerprint and metadata of stored documents; texts are not stored.

    If the database keeps times, the time of each is shown, too, in UTC.

    Exit code 3 if an id is unknown; the documents of all other ids are shown.
    """
    is_missing = False
    with open_either(db) as database, one_state(database) as snapshot:
        for id in given_ids(ids, int_ids):
            try:
                document = snapshot[id]
                time = _time(snapshot, id) if database.options.keeps_times else {}
                print_one(_row(document) | time, as_json=json)
            except simdb.NotFoundError as error:
                print(f"simdb: {plain(str(error))}", file=sys.stderr)
                is_missing = True
    if is_missing:
        raise Exit(DATABASE_ERROR)


def _time(snapshot: "simdb.Snapshot | simdb.ShardedDatabase", id: Id) -> Row:
    """Return when a document was inserted or last seen, in UTC; shards do not tell."""
    if not isinstance(snapshot, simdb.Snapshot):
        return {}
    (time,) = snapshot.times_many([id])
    return {"time": None if np.isnat(time) else f"{time}Z"}


def _row(document: simdb.Document) -> Row:
    fingerprint = document.fingerprint
    minhash = {} if document.signature is None else {"has_signature": True}
    return {
        "id": document.id,
        "fingerprint": f"0x{fingerprint.bits:016x}",
        "is_empty": fingerprint.is_empty,
        "has_weights": fingerprint.weights is not None,
        **minhash,
        "metadata": document.metadata,
    }
