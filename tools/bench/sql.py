"""SQL: how many rows a second do statements compare and look up, and the verbs of Python?

A row has a short text, the same text with one word changed, and the fingerprints of both.  DuckDB
uses one thread; SQLite has the first of the rows only.  Needs `pip install apsw duckdb`.
"""

import sqlite3
from collections.abc import Callable
from itertools import starmap
from random import Random
from typing import Any

import numpy as np

import simdb
from record import Record, in_turns, installed, number, options, recorded, scratch, short
from simdb.integrations.sql import register

LEAST = 0.7
STATEMENTS = {
    "distance of texts": "select sum(simdb_distance(a, b)) from mine",
    "distance of fingerprints": "select sum(simdb_distance(c, d)) from mine",
    "similarity of texts": "select sum(simdb_similarity(a, b)) from mine",
    "near": f"select count(*) from mine, near(b, {LEAST})",
    "simdb_near": f"select count(simdb_near(b, {LEAST}, null)) from mine",
}


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("-n", type=number, default=100_000, help="rows, and documents stored")
    parser.add_argument("--sqlite", type=number, default=20_000, help="rows in SQLite")
    parser.add_argument("--words", type=int, default=12, help="words of a text")
    with recorded(__doc__, parser) as record, scratch(record.arguments.directory) as folder:
        left, right = drawn(record)
        with simdb.open(folder / "db", durability=record.arguments.durability) as database:
            database.insert_many(range(len(left)), left)
            ask(record, database, left, right)


def drawn(record: Record) -> tuple[list[str], list[str]]:
    """Return texts, and the same texts with one word changed."""
    given = record.arguments
    draw = Random(given.seed)
    rows = [[f"w{draw.randrange(5000)}" for _ in range(given.words)] for _ in range(given.n)]
    left = [" ".join(words) for words in rows]
    for words in rows:
        words[draw.randrange(len(words))] = f"w{draw.randrange(5000)}"
    return left, [" ".join(words) for words in rows]


def ask(record: Record, database: simdb.Database, left: list[str], right: list[str]) -> None:
    """Add a row for each statement on each connection, and for each verb of Python."""
    few = min(record.arguments.sqlite, len(left))
    bits = [simdb.fingerprints(side, threads=1).bits for side in (left, right)]
    signed = [each.view(np.int64).tolist() for each in bits]
    made: dict[str, tuple[Callable[[], object], int]] = {}
    for name, count in (("duckdb", len(left)), ("apsw", few), ("sqlite3", few)):
        connection = connected(name)
        if connection is not None:
            connection.execute("create table mine(a text, b text, c bigint, d bigint)")
            rows = list(zip(left, right, *signed, strict=True))[:count]
            fill(connection, rows)
            names = register(connection, database)
            for what, statement in STATEMENTS.items():
                if what != "near" or what in names:
                    made[f"{name}: {what}"] = run(connection, statement), count
    pairs = list(zip(left, right, strict=True))[:few]
    made |= {
        "python: fingerprints, and a difference": (lambda: difference(left, right), len(left)),
        "python: a difference": (lambda: np.bitwise_count(bits[0] ^ bits[1]).sum(), len(left)),
        "python: query_many": (
            lambda: database.query_many(right, similarity=LEAST, threads=1).ids, len(left)
        ),
        "python: distance, one by one": (lambda: list(starmap(simdb.distance, pairs)), few),
        "python: similarity, one by one": (lambda: list(starmap(simdb.similarity, pairs)), few),
        "python: query, one by one": (
            lambda: [database.query(each, similarity=LEAST) for each in right[:few]], few
        ),
    }  # fmt: skip
    timings = in_turns({name: task for name, (task, _) in made.items()}, record.arguments.repeats)
    for name, (_, count) in made.items():
        record.add_rate(f"{name}, {short(count)}", count, "rows/s", timings[name])


def difference(left: list[str], right: list[str]) -> int:
    """Return the sum of the distances of pairs of texts."""
    first, second = (simdb.fingerprints(side, threads=1).bits for side in (left, right))
    return int(np.bitwise_count(first ^ second).sum())


def connected(name: str) -> Any:
    """Return a connection, None for a package that is not installed."""
    if name == "sqlite3":
        return sqlite3.connect(":memory:")
    package = installed(name)
    if package is None or name == "apsw":
        return package and package.Connection(":memory:")
    return package.connect(config={"threads": 1})


def fill(connection: Any, rows: list[Any]) -> None:
    """Insert rows; DuckDB takes a table of Arrow, since rows one by one would take minutes."""
    if hasattr(connection, "register"):
        pyarrow = installed("pyarrow")
        columns = dict(zip("abcd", map(list, zip(*rows, strict=True)), strict=True))
        connection.register("given", pyarrow.table(columns))
        connection.execute("insert into mine select * from given")
    else:
        connection.executemany("insert into mine values (?, ?, ?, ?)", rows)


def run(connection: Any, statement: str) -> Callable[[], object]:
    """Return a function that runs a statement and reads all rows."""
    return lambda: connection.execute(statement).fetchall()


if __name__ == "__main__":
    main()
