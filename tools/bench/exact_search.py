"""How fast are exact queries on a database on disk, in batches and one by one?"""

import argparse
from functools import partial
from pathlib import Path

import numpy as np

import simdb
from peers import KINDS, Peer, available
from record import Record, in_turns, latencies, number, options, short
from workload import DISTANCE, Planted, check_found, ids, planted, scratch

INSERTED = 1_000_000
SINGLE_QUERIES = 10_000
LAYOUTS = {4: (4, 1), 10: (5, 2), 20: (6, 3)}


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("-n", type=number, nargs="+", default=[1_000_000], help="stored documents")
    parser.add_argument("--queries", type=number, default=100_000)
    parser.add_argument(
        "--distances", type=int, nargs="+", default=[DISTANCE], help="peers answer only 3"
    )
    parser.add_argument("--tables", type=int, nargs="+", choices=LAYOUTS, default=[4, 10])
    parser.add_argument(
        "--as-inserted",
        type=number,
        metavar="N",
        help="insert N documents a call, and do not compact",
    )
    parser.add_argument("--ids", choices=("str", "int"), default="str")
    parser.add_argument("--peers", nargs="*", choices=KINDS, default=list(KINDS))
    parser.add_argument(
        "--peers-up-to",
        type=number,
        default=1_000_000,
        help="run peers on at most this many documents",
    )
    arguments = parser.parse_args()
    record = Record(__doc__, arguments)
    for count in arguments.n:
        with scratch(arguments.directory) as directory:
            truth = planted(count, arguments.queries, arguments.seed)
            databases = {
                f"simdb, {tables} tables": build(directory / str(tables), truth, tables, arguments)
                for tables in arguments.tables
            }
            for distance in arguments.distances:
                truth = planted(count, arguments.queries, arguments.seed, distance)
                compare(record, arguments, truth, databases)
            for database in databases.values():
                database.close()
    record.finish()


def compare(
    record: Record,
    arguments: argparse.Namespace,
    truth: Planted,
    databases: dict[str, simdb.Database],
) -> None:
    """Run all databases and peers with one set of documents and queries, in turns."""
    count, distance = len(truth.stored), truth.distance_max
    tasks, sizes = {}, {}
    for name, database in databases.items():
        check_answers(database, truth, arguments.ids)
        ask = partial(database.query_many, truth.queries, distance=distance)
        tasks[f"{name}, batch"] = ask
        tasks[f"{name}, batch with ids"] = lambda ask=ask: ask().ids
        sizes |= dict.fromkeys([f"{name}, batch", f"{name}, batch with ids"], len(truth.queries))
    has_peers = count <= arguments.peers_up_to and distance == DISTANCE
    peers = available(arguments.peers if has_peers else [])
    for peer in peers:
        peer.build(truth.stored)
        asked = truth.queries[: peer.query_limit]
        part = truth if len(asked) == len(truth.queries) else _first(truth, len(asked))
        check_found(part, *peer.batch(asked))
        tasks[f"{peer.name}, batch"] = partial(peer.batch, asked)
        sizes[f"{peer.name}, batch"] = len(asked)
    label = f"{short(count)}, distance {distance}"
    for name, timing in in_turns(tasks, arguments.repeats).items():
        record.add_rate(f"{label}: {name}", sizes[name], "queries/s", timing)
    compare_singles(record, arguments, truth, databases, peers, label)


def compare_singles(
    record: Record,
    arguments: argparse.Namespace,
    truth: Planted,
    databases: dict[str, simdb.Database],
    peers: list[Peer],
    label: str,
) -> None:
    """Time calls with one query each, from Python."""
    asked = truth.queries[:SINGLE_QUERIES].tolist()
    for name, database in databases.items():
        with database.read() as snapshot:
            for call, ask in (
                ("query(int)", database.query),
                ("first(int)", database.first),
                ("query(int) of a snapshot", snapshot.query),
            ):
                task = partial(ask, distance=truth.distance_max)
                latencies(record, f"{label}: {name}, {call}", task, asked, arguments.repeats)
    for peer in peers:
        what = f"{label}: {peer.name}, one query"
        latencies(record, what, peer.one, asked[: peer.query_limit], arguments.repeats)


def build(
    directory: Path, truth: Planted, tables: int, arguments: argparse.Namespace
) -> simdb.Database:
    """Make a database of the stored fingerprints, compacted or not, and open it for reading."""
    kind, step = arguments.ids, arguments.as_inserted
    blocks, leading = LAYOUTS[tables]
    chosen = simdb.Options(
        sketch=simdb.Simhash(store_volatility=False), blocks=blocks, leading=leading
    )
    with simdb.open(directory, "x", options=chosen, durability="none") as database:
        if step is not None:
            insert(database, truth, kind, step)
        else:
            with database.write() as transaction:
                insert(transaction, truth, kind, INSERTED)
            database.compact()
    return simdb.open(directory, "r")


def insert(
    target: simdb.Database | simdb.WriteTransaction, truth: Planted, kind: str, step: int
) -> None:
    """Insert the stored fingerprints, `step` documents a call."""
    for start in range(0, len(truth.stored), step):
        part = truth.stored[start : start + step]
        target.insert_many(ids(kind, start, start + len(part)), part)


def check_answers(database: simdb.Database, truth: Planted, kind: str) -> None:
    """Check that queries find every planted pair and no wrong pair, by ordinals and by ids.

    A query alone must give the same answer as in the batch.
    """
    found = database.query_many(truth.queries, distance=truth.distance_max)
    queries = np.repeat(np.arange(len(found)), np.diff(found.offsets))
    check_found(truth, queries, found.ordinals)
    differing = truth.queries[queries] ^ truth.stored[found.ordinals]
    if not np.array_equal(np.bitwise_count(differing), found.distances):
        raise ValueError("a reported distance is wrong")
    if found.ids.tolist() != [ids(kind, at, at + 1)[0] for at in found.ordinals.tolist()]:
        raise ValueError("a reported id is wrong")
    for at in range(200):
        alone = database.query(int(truth.queries[at]), distance=truth.distance_max)
        if alone != found[at]:
            raise ValueError(f"query {at} alone and in the batch has different answers")


def _first(truth: Planted, count: int) -> Planted:
    kept = truth.asked < count
    return Planted(
        truth.stored,
        truth.queries[:count],
        truth.asked[kept],
        truth.neighbour[kept],
        truth.distance[kept],
    )


if __name__ == "__main__":
    main()
