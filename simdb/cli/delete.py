"""Command delete: removes documents by id."""

import sys

import simdb
from simdb.cli.options.arguments import Database, Ids, IntIds, Json, given_ids
from simdb.cli.output.exit_codes import DATABASE_ERROR, Exit
from simdb.cli.output.render import plain, print_one


def delete(db: Database, ids: Ids, int_ids: IntIds = False, json: Json = False) -> None:
    """Delete stored documents by id.

    Exit code 3 if an id is unknown; the documents of all other ids are deleted.
    """
    wanted = list(dict.fromkeys(given_ids(ids, int_ids)))
    with simdb.open(db, "w") as database, database.write() as transaction:
        unknown = [id for id in wanted if id not in transaction]
        deleted = transaction.delete_many(wanted)
    print_one({"deleted": deleted}, as_json=json)
    for id in unknown:
        print(f"simdb: no document has the id {plain(repr(id))}", file=sys.stderr)
    if unknown:
        raise Exit(DATABASE_ERROR)
