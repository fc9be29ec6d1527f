"""Command delete: removes documents by id, by their metadata or by their age."""

import sys
from typing import Annotated

import simdb
from simdb.cli.options.arguments import Database, IntIds, Json, Where, given_ids
from simdb.cli.options.declare import Argument, Option
from simdb.cli.options.opening import open_idle
from simdb.cli.options.option_groups import given_age, given_condition
from simdb.cli.output.exit_codes import DATABASE_ERROR, Exit
from simdb.cli.output.render import plain, print_one
from simdb.ground.errors import InputError
from simdb.sources.content import (
    CONTENT_ERRORS,
    explained,
    known_encoding,
    opened,
    settled_encoding,
)

SHOWN_IDS = 20


def delete(
    db: Database,
    ids: Annotated[
        list[str] | None, Argument(metavar="ID...", help="The ids of stored documents.")
    ] = None,
    ids_file: Annotated[
        str | None,
        Option("--ids", metavar="FILE", help="A file with one id on each line; - standard input."),
    ] = None,
    where: Where = None,
    older_than: Annotated[
        str | None,
        Option(
            metavar="AGE",
            help="Documents inserted, or last seen, longer ago, such as 30d (also s, m, h, w).",
        ),
    ] = None,
    int_ids: IntIds = False,
    json: Json = False,
) -> None:
    """Delete stored documents, by id, by their metadata or by their age.

    With --where and --older-than, both must hold.

    Exit code 3 if an id is unknown; the documents of all other ids are deleted.
    """
    conditions = where if older_than is None else older_than
    if [ids, ids_file, conditions].count(None) != 2:
        raise simdb.OptionError(
            "delete needs one of ID..., --ids, and --where or --older-than or both"
        )
    is_meant = None if where is None else given_condition(where)
    before = None if older_than is None else given_age(older_than)
    if conditions is None:
        _delete_ids(db, ids, ids_file, int_ids, json)
        return
    with open_idle(db) as database:
        if before is not None:
            deleted = database.expire(before, where=is_meant)
        elif is_meant is not None:
            deleted = database.delete_where(is_meant)
    print_one({"deleted": deleted}, as_json=json)


def _delete_ids(
    db: str, ids: list[str] | None, ids_file: str | None, int_ids: bool, json: bool
) -> None:
    """Delete the documents with the given ids; exit code 3 if some are unknown."""
    given = read_ids(ids_file) if ids_file is not None else ids or []
    wanted = list(dict.fromkeys(given_ids(given, int_ids)))
    with open_idle(db) as database, database.write() as transaction:
        is_known = transaction.contains_many(wanted).tolist()
        deleted = transaction.delete_many(wanted)
    print_one({"deleted": deleted}, as_json=json)
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
    encoding = known_encoding("utf-8")
    try:
        with opened(path) as stream:
            encoding = settled_encoding(stream, encoding)
            text = stream.read().decode(encoding)
    except CONTENT_ERRORS as error:
        raise InputError(f"{path}: {explained(error)}") from error
    # Other separators of lines, which splitlines knows, can be part of an id.
    lines = (line.removesuffix("\r") for line in text.split("\n"))
    return [line for line in lines if line]
