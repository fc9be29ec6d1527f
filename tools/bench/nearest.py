"""How fast are the ten nearest documents found, and how many of them, beside faiss and datasketch?

Four kinds of documents are stored in one transaction after another, with the default options.
`weights` are normal random numbers, every tenth document near the one before it, as in `curves.py`.
`families` are weights, too, of 20 documents each that are near the first, with a cosine of .8 to 1.
`texts` are the texts of a file that `texts.py` has made.  `signatures` have random minima, every
tenth near the one before it.  For weights and signatures, half of the queries (`near`) are made
from a stored document, and the others (`far`) are unrelated to all; the queries of `texts` are
stored texts with a few words replaced.

The recall is the share of the nearest documents of an exhaustive search that are found.  A peer is
measured by its own nearness: faiss compares the 64 bits of the fingerprints, so its recall is that
of the least distance (ties count as found); beside it stands the share of the nearest by weights
that its answer has.  The same search by 64 bits in simdb is exact.  datasketch answers from a
forest of 128 minima, and its recall is that of the nearest by minima.
"""

import argparse
import gc
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import simdb
from curves import KEPT, Minima, Source, Weights
from record import Record, Timing, measure, missing, number, options, short
from workload import scratch

try:
    import faiss
except ImportError:
    faiss = None
try:
    import datasketch
except ImportError:
    datasketch = None

PART = 100_000  # documents of one transaction
QUERIES = 1_000  # of a batch
SINGLE = 200  # queries asked one by one
CHANGED = 5  # words of a text that are replaced to make a query
SECONDS = 20  # for the queries that are asked one by one
# Settings of IndexBinaryHNSW, and of MinHashLSHForest.
LINKS, BUILT, ASKED = 32, 40, (16, 64, 256)
TREES = 8

FAMILY = 20  # documents
RELATED = 0.8  # the least cosine of a document of a family and the first one

Ordinals = npt.NDArray[np.uint32]


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("-n", type=number, default=100_000, help="number of documents")
    parser.add_argument("-k", type=int, nargs="+", default=[1, 10], help="nearest documents")
    parser.add_argument("--texts", type=Path, help="a file of texts.py, .jsonl, to measure, too")
    parser.add_argument(
        "--kinds", nargs="+", choices=[*RUN], default=[*RUN], help="kinds of documents"
    )  # fmt: skip
    parser.add_argument("--peer-n", type=number, help="number of documents for peers; default: -n")
    parser.set_defaults(repeats=3)
    arguments = parser.parse_args()
    arguments.peer_n = arguments.peer_n or arguments.n
    record = Record(__doc__, arguments)
    for kind in arguments.kinds:
        if kind == "texts" and arguments.texts is None:
            print("texts are left out: no --texts")
            continue
        with scratch(arguments.directory) as folder:
            RUN[kind](record, arguments, folder / "db")
    record.finish()


def run_weights(record: Record, arguments: argparse.Namespace, path: Path) -> None:
    source = Weights(arguments.seed)
    with simdb.open(path, "x", options=source.options, durability="none") as database:
        bits = [part.bits for part in insert(database, source, arguments.n)]
        queries = source.queries(QUERIES)
        groups = {"near": slice(0, None, 2), "far": slice(1, None, 2)}
        for name, chosen in groups.items():
            asked = simdb.Fingerprints(queries.bits[chosen], queries.weights[chosen])
            for k in arguments.k:
                ask(record, arguments, f"weights: {name}", database, asked, k)
        bare = queries.bits
        for k in arguments.k:
            ask(record, arguments, "64 bits", database, bare, k)
        if faiss is None:
            missing("faiss")
            return
        stored = np.concatenate(bits)[: arguments.peer_n]
        run_faiss(record, arguments, stored, queries, database)


class Families(Weights):
    """Fingerprints of normal weights, in families."""

    def stored(self, first: int, count: int) -> simdb.Fingerprints:
        """Draw documents, each `FAMILY` of them near the first."""
        chance = np.random.default_rng([self._seed, first, count])
        heads = self.drawn(-(-count // FAMILY), chance)
        rows = self.related(np.repeat(heads, FAMILY, axis=0)[:count], chance)
        rows[::FAMILY] = heads
        kept = heads if self._kept is None else np.concatenate([self._kept, heads])
        self._kept = kept[:: max(len(kept) // KEPT, 1)]
        return self.made(rows)

    def queries(self, count: int) -> simdb.Fingerprints:
        """Draw queries, each of the family of a stored document."""
        assert self._kept is not None
        chance = np.random.default_rng([self._seed, len(self._kept), count])
        chosen = chance.integers(0, len(self._kept), count)
        return self.made(self.related(self._kept[chosen], chance))

    def related(self, rows: npt.NDArray[Any], chance: np.random.Generator) -> npt.NDArray[Any]:
        """Add noise, so that the cosine is `RELATED` to 1."""
        cosine = chance.uniform(RELATED, 1, (len(rows), 1)).astype(np.float32)
        return cosine * rows + np.sqrt(1 - cosine**2) * self.drawn(len(rows), chance)


def run_families(record: Record, arguments: argparse.Namespace, path: Path) -> None:
    source = Families(arguments.seed)
    with simdb.open(path, "x", options=source.options, durability="none") as database:
        insert(database, source, arguments.n)
        queries = source.queries(QUERIES)
        for k in arguments.k:
            ask(record, arguments, "families", database, queries, k)


def run_texts(record: Record, arguments: argparse.Namespace, path: Path) -> None:
    chance = np.random.default_rng(arguments.seed)
    with simdb.open(path, "x", durability="none") as database:
        kept: list[str] = []
        for first, texts in read_texts(arguments.texts, arguments.n):
            database.insert_many(range(first, first + len(texts)), texts)
            kept += texts[:: max(len(texts) * arguments.n // PART // QUERIES, 1)]
        asked = [changed(kept[at % len(kept)], chance) for at in range(QUERIES)]
        queries = database.sketcher.fingerprints(asked)
        for k in arguments.k:
            ask(record, arguments, "texts", database, queries, k)


def run_signatures(record: Record, arguments: argparse.Namespace, path: Path) -> None:
    source = Minima(arguments.seed)
    with simdb.open(path, "x", options=source.options, durability="none") as database:
        stored = [
            part.minima
            for part, first in zip(
                insert(database, source, arguments.n), range(0, arguments.n, PART), strict=True
            )
            if first < arguments.peer_n == arguments.n
        ]
        queries = source.queries(QUERIES)
        for name, start in (("near", 0), ("far", 1)):
            chosen = slice(start, None, 2)
            asked = simdb.Signatures(
                queries.minima[chosen], queries.sketch, queries.is_empty[chosen]
            )
            for k in arguments.k:
                ask(record, arguments, f"signatures: {name}", database, asked, k)
    if datasketch is None:
        missing("datasketch")
        return
    if arguments.peer_n < arguments.n:
        print("datasketch is left out: the queries are made from all documents")
        return
    run_datasketch(record, arguments, np.concatenate(stored), queries.minima)


RUN = {
    "weights": run_weights,
    "families": run_families,
    "texts": run_texts,
    "signatures": run_signatures,
}


def insert(database: simdb.Database, source: Source, count: int) -> list[Any]:
    """Store documents in transactions of `PART`; return them."""
    made = []
    for first in range(0, count, PART):
        documents = source.stored(first, min(PART, count - first))
        database.insert_many(range(first, first + len(documents)), documents)
        made.append(documents)
    return made


def ask(
    record: Record,
    arguments: argparse.Namespace,
    label: str,
    database: simdb.Database,
    queries: Any,
    k: int,
) -> None:
    """Measure a batch and single queries at the default recall, and comparing with all."""
    label = f"{short(arguments.n)} {label}: {k} nearest"
    timing = Timing()
    exact = measure(lambda: database.nearest_many(queries, k, recall=1.0, threads=1), timing)
    record.add_rate(f"{label}: comparing all, batch", len(queries), "queries/s", timing)
    found = database.nearest_many(queries, k, threads=1)
    timing = Timing()
    for _ in range(arguments.repeats):
        gc.collect()
        found = measure(lambda: database.nearest_many(queries, k, threads=1), timing)
    recall = shared(rows_of(found), rows_of(exact))
    record.add_rate(f"{label}: batch", len(queries), "queries/s", timing, f"recall {recall:.4f}")
    single = [as_query(queries, at) for at in range(SINGLE)]
    with database.read() as snapshot:
        found, timing = one_by_one(lambda query: snapshot.nearest(query, k), single)
    asked = len(found)
    ids = [np.array([match.id for match in row]) for row in found]
    recall = shared(ids, rows_of(exact)[:asked])
    record.add_rate(f"{label}: one by one", asked, "queries/s", timing, f"recall {recall:.4f}")
    timing = Timing()
    with database.read() as snapshot:
        few, timing = one_by_one(lambda query: snapshot.nearest(query, k, recall=1.0), single[:20])
    record.add_rate(f"{label}: comparing all, one by one", len(few), "queries/s", timing)


def as_query(queries: Any, at: int) -> Any:
    return int(queries[at]) if isinstance(queries, np.ndarray) else queries[at]


def one_by_one(task: Callable[[Any], Any], queries: list[Any]) -> tuple[list[Any], Timing]:
    """Ask one query after the other, as many as fit into some seconds; return the answers."""
    task(queries[0])
    timing, found = Timing(), []
    for query in queries:
        found.append(measure(lambda query=query: task(query), timing))
        if sum(timing.wall) > SECONDS:
            break
    return found, Timing([sum(timing.wall)], [sum(timing.processor)])


def rows_of(found: simdb.Matches) -> list[Ordinals]:
    """Return the ordinals of each query; here they are also the ids."""
    return np.split(found.ordinals, found.offsets[1:-1])


def shared(found: list[Any], exact: list[Any]) -> float:
    """Return the share of the exact answers that were found."""
    both = sum(len(np.intersect1d(one, other)) for one, other in zip(found, exact, strict=True))
    return both / sum(map(len, exact))


def run_faiss(
    record: Record,
    arguments: argparse.Namespace,
    stored: npt.NDArray[np.uint64],
    queries: simdb.Fingerprints,
    database: simdb.Database,
) -> None:
    faiss.omp_set_num_threads(1)
    count, k = len(stored), max(arguments.k)
    index = faiss.IndexBinaryHNSW(64, LINKS)
    index.hnsw.efConstruction = BUILT
    timing = Timing()
    measure(lambda: index.add(stored.view(np.uint8).reshape(-1, 8)), timing)
    label = f"{short(count)} faiss IndexBinaryHNSW(64, {LINKS})"
    record.add_rate(f"{label}: insert", count, "documents/s", timing)
    near = simdb.Fingerprints(queries.bits[::2], queries.weights[::2])
    by_weights = (
        rows_of(database.nearest_many(near, k, recall=1.0)) if count == len(database) else []
    )
    packed = queries.bits.view(np.uint8).reshape(-1, 8)
    farthest = kth_distance(stored, queries.bits, k)
    for effort in ASKED:
        index.hnsw.efSearch = effort
        timing = Timing()
        for _ in range(arguments.repeats):
            distances, found = measure(lambda: index.search(packed, k), timing)
        recall = float((distances <= farthest[:, None]).mean())
        note = f"recall by bits {recall:.4f}"
        if by_weights:
            note += f", of the near by weights {shared(list(found[::2]), by_weights):.4f}"
        what = f"{label}, efSearch={effort}: {k} nearest"
        record.add_rate(f"{what}, batch", len(packed), "queries/s", timing, note)
        _, timing = one_by_one(lambda row: index.search(row, k), list(packed[:SINGLE, None]))
        record.add_rate(f"{what}, one by one", SINGLE, "queries/s", timing)


def kth_distance(
    stored: npt.NDArray[np.uint64], queries: npt.NDArray[np.uint64], k: int
) -> npt.NDArray[np.int64]:
    """Return the distance of the k-th nearest fingerprint of each query."""
    found = np.empty(len(queries), np.int64)
    for at, query in enumerate(queries):
        found[at] = np.partition(np.bitwise_count(stored ^ query), k - 1)[k - 1]
    return found


def run_datasketch(
    record: Record,
    arguments: argparse.Namespace,
    stored: npt.NDArray[np.uint32],
    queries: npt.NDArray[np.uint32],
) -> None:
    count = len(stored)
    forest = datasketch.MinHashLSHForest(num_perm=stored.shape[1], l=TREES)
    timing = Timing()
    measure(lambda: fill(forest, stored), timing)
    label = f"{short(count)} datasketch MinHashLSHForest(l={TREES})"
    record.add_rate(f"{label}: insert", count, "documents/s", timing)
    asked = [as_minhash(row) for row in queries[: 2 * SINGLE]]
    for k in arguments.k:
        for name, start in (("near", 0), ("far", 1)):
            found, timing = one_by_one(lambda query, k=k: forest.query(query, k), asked[start::2])
            rows = [np.array(row, np.int64) for row in found]
            exact = [nearest_minima(stored, row, k) for row in queries[start::2][: len(found)]]
            note = f"recall {shared(rows, exact):.4f}"
            what = f"{label}: {name}: {k} nearest, one by one"
            record.add_rate(what, len(found), "queries/s", timing, note)


def fill(forest: Any, stored: npt.NDArray[np.uint32]) -> None:
    for at, row in enumerate(stored):
        forest.add(at, as_minhash(row))
    forest.index()


def as_minhash(row: npt.NDArray[np.uint32]) -> Any:
    return datasketch.LeanMinHash(seed=1, hashvalues=row.astype(np.uint64), scheme="legacy")


def nearest_minima(
    stored: npt.NDArray[np.uint32], query: npt.NDArray[np.uint32], k: int
) -> npt.NDArray[np.int64]:
    """Return which signatures agree with the query in most minima, the first of equal ones."""
    agreeing = (stored == query).sum(axis=1)
    return np.lexsort((np.arange(len(stored)), -agreeing))[:k]


def read_texts(path: Path, count: int) -> Any:
    """Yield the texts of a file in parts, each with the number of its first."""
    part: list[str] = []
    first = 0
    with path.open(encoding="utf-8") as lines:
        for at, line in enumerate(lines):
            if at == count:
                break
            part.append(json.loads(line)["text"])
            if len(part) == PART:
                yield first, part
                first, part = first + len(part), []
    if part:
        yield first, part


def changed(text: str, chance: np.random.Generator) -> str:
    """Replace some words of a text."""
    words = text.split()
    for place in chance.integers(0, max(len(words), 1), CHANGED if words else 0):
        words[place] = f"w{chance.integers(10**9)}"
    return " ".join(words)


if __name__ == "__main__":
    main()
