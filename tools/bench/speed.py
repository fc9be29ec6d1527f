"""How fast is each verb of a database, by kind of document, method, number of documents, threads?

A database of each kind (`documents.py`) grows from size to size in transactions of `--batch`, or
`--one`, as it is inserted and by the default options, unless others are given.  Pauses, memory and
bytes written are reported.  At each size, these tasks run:

single   One query after the other, of the database and of a snapshot.

batch    `query_many`, for all matches and for the first.  The recall is the share of the matches
         that exhaustive search finds for a sample.  Texts also as ready sketches.

nearest  The 1 and 10 nearest of near and of far queries, in a batch and alone, with the share
         found.  They are compared with comparing all documents.

pairs    `find_all` and `find_clusters`, with the recall of a sample.

stream   One document at a time: insert, add_if_new, delete, in one transaction and a commit each.

array    `find_all` and `find_clusters` of fingerprints without a database.

claim    `insert_many` and `add_many_if_new` of the queries, in a new database.

The methods search by the criterion of the database, but `bphs` for distance 3, and `psm` for
distance 3 with a recall of .95; `--distance`, `--similarity` and `--recall` change this.  A probing
method is asked after a calibration.  A task that takes more than `--patience` seconds runs once.
Several `--threads` take turns; for each the ratio to the first is reported, and the share of
processor time that threads cannot share.  SIMDB_KERNEL chooses the instruction set.

    python tools/bench/speed.py -n 1M 10M --of fingerprints --compacted --peers
    python tools/bench/speed.py -n 1M --of texts --ask batch pairs --threads 1 2 --core -1
"""

import gc
import shutil
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import peers
import simdb
from documents import DISTANCE, KINDS, head, taken, values_of
from filled import BITS, Filled
from record import Timing, latencies, number, options, recorded, scratch
from simdb.core.options import BANDING, METHODS as BY_WEIGHTS

METHODS = (*BY_WEIGHTS, BANDING)
FEW = 100  # queries of a slow method
COMPARED = 2_000_000_000  # pairs of documents that exhaustive search of a sample compares at most
NEAREST = (1, 10)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("-n", type=number, nargs="+", default=[100_000], help="sizes")
    parser.add_argument("--of", nargs="+", choices=KINDS, default=["weights"])
    parser.add_argument("--ask", nargs="*", choices=ASKED, default=["single", "batch", "pairs"])
    parser.add_argument("--method", nargs="+", default=["auto"], choices=METHODS)
    parser.add_argument("--threads", type=int, nargs="+", default=[1])
    parser.add_argument("--distance", type=int)
    parser.add_argument("--similarity", type=float)
    parser.add_argument("--recall", type=float)
    parser.add_argument("--sketch", choices=("simhash", "minhash"), default="simhash",
                        help="of texts")  # fmt: skip
    parser.add_argument(
        "--option", nargs="*", default=[], metavar="NAME=VALUE", help="of databases"
    )
    parser.add_argument("--batch", type=number, default=100_000, help="documents of a transaction")
    parser.add_argument("--one", action="store_true", help="all batches in one transaction")
    parser.add_argument("--queries", type=number, default=10_000, help="of a batch")
    parser.add_argument("--single", type=number, default=1_000, help="calls of one query each")
    parser.add_argument("--sample", type=number, default=500, help="queries asked exhaustively")
    parser.add_argument("--compacted", action="store_true", help="compact before asking")
    parser.add_argument("--patience", type=float, default=5, help="seconds of what is repeated")
    parser.add_argument("--peers", action="store_true", help="other libraries, if installed")
    parser.add_argument("--corpora", type=Path, help="folder of NAME.jsonl.gz to make texts of")
    with recorded(__doc__, parser) as record:
        for kind in record.arguments.of:
            with scratch(record.arguments.directory) as folder:
                grow(Filled(record, record.arguments, kind, folder))


def grow(bench: Filled) -> None:
    """Let the database grow from size to size, and ask at each."""
    with bench.database:
        for count in sorted(bench.arguments.n):
            bench.insert(count)
            if bench.arguments.compacted:
                bench.compact()
            bench.queries = bench.source.queries(bench.arguments.queries)
            for name in bench.arguments.ask:
                gc.collect()
                ASKED[name](bench)


def ask_single(bench: Filled) -> None:
    queries = values_of(bench.queries, bench.arguments.single)
    for method, asked in bench.methods():
        with bench.database.read() as snapshot:
            for name, verb in (
                ("query", bench.database.query), ("first", bench.database.first),
                ("query of a snapshot", snapshot.query),
            ):  # fmt: skip
                latencies(
                    bench.record, f"{bench.label}: {method}: {name}", partial(verb, **asked),
                    queries, bench.arguments.repeats,
                )  # fmt: skip
    if bench.arguments.peers:
        peers.ask(bench, queries)


def ask_batch(bench: Filled) -> None:
    queries, threads = bench.queries, bench.arguments.threads[0]
    ready = sketched(bench, queries)
    for method, asked in bench.methods():
        started = time.perf_counter()
        bench.database.query_many(head(queries, FEW), **asked, threads=threads)
        slow = (time.perf_counter() - started) * len(queries) / FEW > bench.arguments.patience
        some = head(queries, FEW) if slow else queries

        def search(threads: int, some: Any = some, asked: Any = asked, **more: Any) -> Any:
            return bench.database.query_many(some, **asked, **more, threads=threads)

        bench.rate(
            "batch", len(some), search, method=method, note=partial(tell_recall, bench, method)
        )
        bench.rate("batch with ids", len(some), lambda threads: search(threads).ids, method=method)
        bench.rate("batch, first", len(some), partial(search, match="first"), method=method)
        if ready is not None:
            bench.rate("batch, ready", len(some), partial(search, some=head(ready, len(some))),
                       method=method)  # fmt: skip


def sketched(bench: Filled, queries: Any) -> Any:
    """Return the sketches of texts, and add how long a list and Arrow take to become sketches."""
    if not bench.is_text:
        return None
    sketcher = bench.database.sketcher
    make = sketcher.signatures if bench.is_minhash else sketcher.fingerprints
    for name, texts in (("Arrow", pa.array(queries)), ("alone", queries)):
        made = bench.rate(
            f"sketching {name}", len(queries), partial(sketch_with, make, texts),
            unit="documents/s",
        )  # fmt: skip
    return made


def sketch_with(make: Callable[..., Any], texts: Any, threads: int) -> Any:
    return make(texts, threads=threads)


def tell_recall(bench: Filled, method: str, found: simdb.Matches) -> str:
    """Say what share of the matches of exhaustive search the first queries have found."""
    count = min(bench.arguments.sample, len(found), COMPARED // bench.count)
    every = bench.database.query_many(head(bench.queries, count), **bench.exhaustively(method))
    keys = [
        np.repeat(np.arange(len(each)), np.diff(each.offsets)) << 40 | each.ordinals
        for each in (every, found)
    ]
    share = float(np.isin(*keys).mean()) if len(keys[0]) else 1.0
    return f"recall {share:.4f} of {len(keys[0])} matches of {count} queries"


def ask_nearest(bench: Filled) -> None:
    count = min(2 * bench.arguments.sample, len(bench.queries))
    groups = {"near queries": slice(0, count, 2), "far queries": slice(1, count, 2)}
    for group, chosen in {"queries": slice(count)}.items() if bench.is_text else groups.items():
        for k in NEAREST:
            ask_group(bench, f"{k} nearest, {group}", chosen, k)


def ask_group(bench: Filled, what: str, chosen: slice, k: int) -> None:
    """Ask for the nearest documents of some queries, and compare with comparing all."""
    database, some = bench.database, taken(bench.queries, chosen)
    exact = bench.rate(
        f"{what}, comparing all, batch", len(some),
        lambda threads: database.nearest_many(some, k, recall=1.0, threads=threads),
    )  # fmt: skip
    rows = np.split(exact.ordinals, exact.offsets[1:-1])
    bench.rate(
        f"{what}, batch", len(some),
        lambda threads: database.nearest_many(some, k, threads=threads),
        note=lambda found: "recall "
        f"{shared(np.split(found.ordinals, found.offsets[1:-1]), rows):.4f}",
    )  # fmt: skip
    for name, recall in (("", None), (", comparing all", 1.0)):
        ask = partial(database.nearest, k=k, recall=recall)
        one = values_of(some, bench.arguments.single)
        latencies(bench.record, f"{bench.label}: {what}{name}, one by one", ask, one, 1)


def shared(found: list[Any], exact: list[Any]) -> float:
    """Return the share of the exact answers that were found."""
    both = sum(len(np.intersect1d(one, other)) for one, other in zip(found, exact, strict=True))
    return both / max(sum(map(len, exact)), 1)


def ask_pairs(bench: Filled) -> None:
    database = bench.database
    for method, asked in bench.methods():
        left, right = sampled_pairs(bench, method)

        def tell(chunks: Any, left: Any = left, right: Any = right) -> str:
            keys = [pair_keys(np.asarray(each.left), np.asarray(each.right)) for each in chunks]
            is_found = np.isin(pair_keys(left, right), np.concatenate([np.zeros(0, int), *keys]))
            share = float(is_found.mean()) if len(is_found) else 1.0
            return f"{sum(map(len, chunks)):,} pairs, recall {share:.4f} of {len(is_found)}"

        bench.rate(
            "find_all", bench.count,
            lambda threads, asked=asked: list(database.find_all(**asked, threads=threads).chunks()),
            method=method, unit="documents/s", note=tell,
        )  # fmt: skip
        bench.rate(
            "find_clusters", bench.count,
            lambda threads, asked=asked: database.find_clusters(**asked, threads=threads),
            method=method, unit="documents/s", note=lambda found: f"{len(found):,} clusters",
        )  # fmt: skip


def sampled_pairs(bench: Filled, method: str) -> tuple[Any, Any]:
    """Return the pairs of a sample of documents with any other, by exhaustive search."""
    count = min(bench.arguments.sample, bench.count, COMPARED // bench.count)
    chosen = np.linspace(0, bench.count - 1, count).astype(np.int64)
    found = bench.database.query_many(ids=chosen.tolist(), **bench.exhaustively(method))
    return np.repeat(chosen, np.diff(found.offsets)), np.asarray(found.ids, np.int64)


def pair_keys(left: Any, right: Any) -> Any:
    return np.minimum(left, right).astype(np.int64) << 32 | np.maximum(left, right).astype(np.int64)


def ask_stream(bench: Filled) -> None:
    """Insert, claim and delete one document at a time, and undo it."""
    new = values_of(bench.queries, bench.arguments.single)
    names = range(bench.count, bench.count + len(new))
    verbs: dict[str, Callable[[Any, int], object]] = {
        "insert": lambda target, at: target.insert(names[at], new[at]),
        "delete": lambda target, at: target.delete(names[at]),
        "add_if_new": lambda target, at: target.add_if_new(
            names[at], new[at], **bench.criterion("auto")
        ),
    }
    transaction = bench.database.write()
    for verb, call in verbs.items():
        stream(bench, f"{verb}, one transaction", partial(call, transaction), len(new))
    transaction.abort()
    for verb, call in verbs.items():
        stream(bench, f"{verb}, a commit each", partial(call, bench.database), len(new))
    bench.database.delete_many(name for name in names if name in bench.database)


def stream(bench: Filled, what: str, call: Callable[[int], object], calls: int) -> None:
    processor, marks = time.process_time(), [time.perf_counter_ns()]
    for at in range(calls):
        call(at)
        marks.append(time.perf_counter_ns())
    taken = np.sort(np.diff(marks)) / 1e3
    timing = Timing([taken.sum() / 1e6], [time.process_time() - processor])
    note = f"p50 {taken[calls // 2]:,.0f} us, p99.9 {taken[calls * 999 // 1000]:,.0f} us,"
    note += f" longest {taken[-1]:,.0f} us"
    bench.record.add_rate(f"{bench.label}: {what}", calls, "documents/s", timing, note)


def ask_array(bench: Filled) -> None:
    """Find the pairs of stored fingerprints and queries within distance 3, in memory."""
    if bench.kind not in (BITS, "weights"):
        print(f"{bench.label}: array is left out: it takes fingerprints")
        return
    every = [*bench.documents, bench.queries]
    bits = np.concatenate([each if isinstance(each, np.ndarray) else each.bits for each in every])
    tasks: dict[str, Callable[[int], Any]] = {
        "simdb.find_all": lambda threads: simdb.find_all(bits, 6, DISTANCE, threads=threads).left,
        "simdb.find_clusters": lambda threads: simdb.find_clusters(
            bits, 6, DISTANCE, threads=threads
        ),
    }
    for name, task in tasks.items():
        bench.rate(name, len(bits), task, unit="documents/s")


def ask_claim(bench: Filled) -> None:
    """Store the queries in a new database, all of them and what is new, in two halves."""
    half = len(bench.queries) // 2
    parts = {0: head(bench.queries, half), half: taken(bench.queries, slice(half, 2 * half))}

    def fill(verb: str, threads: int) -> None:
        shutil.rmtree(bench.folder / "new", ignore_errors=True)
        with bench.opened("x", "new", options=bench.settings) as new:
            for start, part in parts.items():
                getattr(new, verb)(range(start, start + half), part, threads=threads)

    for verb in ("insert_many", "add_many_if_new"):
        what = f"{verb}, a new database"
        bench.rate(what, 2 * half, partial(fill, verb), unit="documents/s")


ASKED: dict[str, Callable[[Filled], None]] = {
    "single": ask_single, "batch": ask_batch, "nearest": ask_nearest, "pairs": ask_pairs,
    "stream": ask_stream, "array": ask_array, "claim": ask_claim,
}  # fmt: skip


if __name__ == "__main__":
    main()
