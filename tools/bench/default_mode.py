"""How fast is the default mode: texts, inserted, and searched by the default criterion?

Nothing is calibrated or compacted by hand.  The texts are those of `texts.py`; the queries are the
texts after the stored ones, so a tenth of them have a stored near-duplicate.  MinHash mode does the
same in the same run.  Recall is the share of the matches of exhaustive search for a sample: matches
of queries, pairs of stored documents, or documents of a batch that were found to have a match.

A task that takes longer than `--patience` seconds runs once.  The environment variable SIMDB_KERNEL
chooses the instruction set, such as avx2.
"""

import argparse
import gc
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import simdb
from passages import read_pools
from record import TURN_SECONDS, Record, Timing, latencies, measure, number, options, short
from simdb.running import kernel
from texts import Texts
from workload import scratch

PART = 100_000  # texts of one insert_many
SINGLE = 2_000  # queries asked one by one
BATCH = 10_000  # texts of one add_many_if_new
BATCHES = 3
STREAMED = 5_000  # documents inserted one by one in one transaction
COMMITTED = 2_000  # documents inserted with a commit each
STREAM_SECONDS = 5
METHOD = {"search": "exhaustive", "recall": 1.0}

I64 = npt.NDArray[np.int64]
Each = tuple[Record, str, argparse.Namespace]


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("-n", type=number, nargs="+", default=[10_000], help="stored texts")
    parser.add_argument("--corpora", type=Path, help="folder of corpora, NAME.jsonl.gz")
    parser.add_argument("--queries", type=number, default=20_000)
    parser.add_argument(
        "--sample", type=number, default=2_000, help="documents that exhaustive search compares"
    )
    parser.add_argument(
        "--similarities", type=float, nargs="*", default=[0.889, 0.85, 0.8], help="of all pairs"
    )
    parser.add_argument("--patience", type=float, default=5.0, help="seconds")
    parser.add_argument("--durability", choices=("full", "process", "none"), default="process")
    parser.add_argument("--skip", nargs="*", default=[], choices=[*PARTS], help="parts left out")
    arguments = parser.parse_args()
    record = Record(__doc__, arguments)
    print(f"kernel {kernel.CHOSEN or kernel.variants()[-1]}, simdb of {simdb.__file__}")
    texts = Texts(read_pools(arguments.corpora), arguments.seed)
    for count in arguments.n:
        for name, part in PARTS.items():
            if name not in arguments.skip:
                gc.collect()
                with scratch(arguments.directory) as directory:
                    part((record, short(count), arguments), directory / "db", texts, count)
    record.finish()


def by_similarity(each: Each, path: Path, texts: Texts, count: int) -> None:
    """Measure a database of fingerprints with weights, as `simdb.open` makes it."""
    record, label, arguments = each
    with simdb.open(path, "x", durability=arguments.durability) as database:
        insert(each, "insert_many(texts)", database, texts, count)
        tell_size(each, "default", database, path)
        queries = texts_from(texts, count, arguments.queries)
        ready = database.sketcher.fingerprints(queries)
        one, bits = queries[:SINGLE], [int(value) for value in ready.bits[:SINGLE]]
        tell_plan(each, database)
        rate(each, "query_many(texts)", arguments.queries, lambda: database.query_many(queries))
        rate(each, "query_many(ready)", arguments.queries, lambda: database.query_many(ready))
        rate(
            each,
            "sketching alone",
            arguments.queries,
            lambda: database.sketcher.fingerprints(queries),
        )
        single = {"query(text)": database.query, "first(text)": database.first}
        for name, verb in single.items():
            latencies(record, f"{label}: {name}", verb, one, turns(arguments, verb, one))
        latencies(record, f"{label}: query(int)", database.query, bits, arguments.repeats)
        tell_recall(each, "query_many", database, queries[: arguments.sample])
        all_pairs(each, "default", database)
        online(each, database, texts, count + len(queries))


def by_signature(each: Each, path: Path, texts: Texts, count: int) -> None:
    """Measure MinHash mode."""
    record, label, arguments = each
    settings = simdb.Options(sketch=simdb.Minhash())
    with simdb.open(path, "x", options=settings, durability=arguments.durability) as database:
        insert(each, "MinHash: insert_many(texts)", database, texts, count)
        tell_size(each, "MinHash", database, path)
        queries = texts_from(texts, count, arguments.queries)
        rate(each, "MinHash: query_many(texts)", len(queries), lambda: database.query_many(queries))
        one = queries[:SINGLE]
        ready = [database.sketcher.signatures([text])[0] for text in one]
        latencies(record, f"{label}: MinHash: query(text)", database.query, one, arguments.repeats)
        what = f"{label}: MinHash: query(Signature)"
        latencies(record, what, database.query, ready, arguments.repeats)
        tell_recall(each, "MinHash: query_many", database, queries[: arguments.sample])
        all_pairs(each, "MinHash", database)


def by_bits(each: Each, path: Path, texts: Texts, count: int) -> None:
    """Measure a database of ready fingerprints, which are random numbers."""
    record, label, arguments = each
    chance = np.random.default_rng([arguments.seed, count])
    stored = chance.integers(0, 2**64, count, np.uint64)
    new = [int(value) for value in chance.integers(0, 2**64, STREAMED + COMMITTED, np.uint64)]
    with simdb.open(path, "x", durability=arguments.durability) as database:
        for start in range(0, count, PART):
            part = stored[start : start + PART]
            database.insert_many(range(start, start + len(part)), part)
        asked = [int(value) for value in stored[:SINGLE]]
        what = f"{label}: query(int), database of int"
        latencies(record, what, database.query, asked, arguments.repeats)
        one_by_one(each, "insert(int)", database, new, count, is_search=False)


def by_threshold(each: Each, path: Path, texts: Texts, count: int) -> None:
    """Measure all pairs and clusters of the same documents at several similarities."""
    with simdb.open(path, "x", durability=each[2].durability) as database:
        insert(each, "insert_many(texts), for pairs", database, texts, count)
        runs = f"{len(database.stats().runs)} runs"
        for asked in each[2].similarities:
            found = partial(database.find_all, similarity=asked)
            rate(each, f"find_all at {asked:g}", count, lambda found=found: pairs_in(found()), runs)
            clusters = partial(database.find_clusters, similarity=asked)
            rate(each, f"find_clusters at {asked:g}", count, clusters, runs)


def pairs_in(pairs: simdb.Pairs) -> int:
    """Count pairs, chunk by chunk."""
    return sum(len(chunk) for chunk in pairs.chunks())


PARTS: dict[str, Callable[[Each, Path, Texts, int], None]] = {
    "default": by_similarity, "minhash": by_signature, "bits": by_bits, "pairs": by_threshold,
}  # fmt: skip


def texts_from(texts: Texts, start: int, count: int) -> list[str]:
    return [text for batch in texts.batches(start, start + count) for text in batch]


def insert(each: Each, what: str, database: simdb.Database, texts: Texts, count: int) -> None:
    """Insert texts in transactions of PART; their making is not timed."""
    timing = Timing()
    for start in range(0, count, PART):
        part = texts_from(texts, start, min(PART, count - start))
        names = range(start, start + len(part))
        measure(lambda names=names, part=part: database.insert_many(names, part), timing)
    whole = Timing([sum(timing.wall)], [sum(timing.processor)])
    each[0].add_rate(f"{each[1]}: {what}", count, "documents/s", whole)


def tell_size(each: Each, what: str, database: simdb.Database, path: Path) -> None:
    record, label, _ = each
    stats, count = database.stats(), len(database)
    note = " ".join(
        f"{name} {size / count:.1f}" for name, size in stats.section_bytes.items() if size > count
    )
    record.add(f"{label}: {what}: live", stats.live_bytes / count, "bytes/document", note=note)
    size = sum(file.stat().st_blocks * 512 for file in path.iterdir())
    record.add(f"{label}: {what}: on disk", size / count, "bytes/document")


def tell_plan(each: Each, database: simdb.Database) -> None:
    plan = database.plan()
    each[0].add(f"{each[1]}: recall planned", plan.recall, "", note=plan.reason)


def turns(arguments: argparse.Namespace, verb: Callable[[str], object], asked: list[str]) -> int:
    """Return how many rounds of single calls fit into the patience, 1 at least."""
    started = time.perf_counter()
    for text in asked[:20]:
        verb(text)
    seconds = (time.perf_counter() - started) * len(asked) / 20
    return int(max(1, min(arguments.repeats, 4 * arguments.patience / seconds)))


def rate(each: Each, what: str, count: int, task: Callable[[], Any], note: str = "") -> Any:
    """Add the rate of a task; a slow task runs once, any other once unmeasured before.

    Return the result of the task.
    """
    record, label, arguments = each
    timing, first = Timing(), Timing()
    result = measure(task, first)
    if first.median > arguments.patience:
        timing = first
    else:
        for _ in range(arguments.repeats):
            gc.collect()
            measure(task, timing, 1 + int(TURN_SECONDS / first.median))
    record.add_rate(f"{label}: {what}", count, "documents/s", timing, note)
    return result


def all_pairs(each: Each, what: str, database: simdb.Database) -> None:
    """Measure find_all and find_clusters, and their recall for a sample of documents."""
    count = len(database)
    pairs = rate(each, f"{what}: find_all", count, lambda: list(database.find_all().chunks()))
    clusters = rate(each, f"{what}: find_clusters", count, lambda: list(database.find_clusters()))
    left, right = sampled_pairs(database, each[2])
    found = [np.zeros(0, np.int64)]
    found += [keys_of(np.array(chunk.left), np.array(chunk.right)) for chunk in pairs]
    is_found = np.isin(keys_of(left, right), np.concatenate(found))
    tell_share(each, f"{what}: recall of find_all", is_found, "pairs of a sample")
    owner = np.arange(int(count), dtype=np.int64)
    for cluster in clusters:
        members = np.array(list(cluster), np.int64)
        owner[members] = members[0]
    same = owner[left] == owner[right]
    tell_share(each, f"{what}: recall of find_clusters", same, "pairs of a sample")


def keys_of(left: I64, right: I64) -> I64:
    """Return one number for each pair of ids, whichever is first."""
    return np.minimum(left, right) << 32 | np.maximum(left, right)


def sampled_pairs(database: simdb.Database, arguments: argparse.Namespace) -> tuple[I64, I64]:
    """Return the ids of all pairs of which the left document is in a sample."""
    count, chance = len(database), np.random.default_rng([arguments.seed, len(database)])
    chosen = np.sort(chance.choice(count, min(arguments.sample, count), replace=False))
    left, right = [], []
    for name in chosen.tolist():
        for match in database.query(id=name, **METHOD):
            left.append(name)
            right.append(match.id)
    return np.array(left, np.int64), np.array(right, np.int64)


def tell_recall(each: Each, what: str, database: simdb.Database, queries: list[str]) -> None:
    """Add the share of the matches of exhaustive search that the default search finds."""
    every, found = database.query_many(queries, **METHOD), database.query_many(queries)
    keys = [
        np.repeat(np.arange(len(queries)), np.diff(matches.offsets)) << 32 | matches.ordinals
        for matches in (every, found)
    ]
    tell_share(each, f"recall of {what}", np.isin(*keys), f"matches of {len(queries)} queries")


def tell_share(each: Each, what: str, found: npt.NDArray[np.bool_], of: str) -> None:
    share = float(found.mean()) if len(found) else 1.0
    each[0].add(f"{each[1]}: {what}", share, "", note=f"{len(found)} {of}")


def online(each: Each, database: simdb.Database, texts: Texts, start: int) -> None:
    """Measure adding new documents: in batches, in one transaction, with a commit each."""
    record, label, sampled = *each[:2], each[2].sample
    timing, missed, duplicates = Timing(), 0, 0
    for _ in range(BATCHES):
        batch = texts_from(texts, start, BATCH)
        sample = database.query_many(batch[:sampled], **METHOD)
        names = range(start, start + BATCH)
        matches = measure(
            lambda names=names, batch=batch: database.add_many_if_new(names, batch), timing
        )
        has_match = np.diff(sample.offsets) > 0
        missed += int((has_match & (np.diff(matches.offsets)[:sampled] == 0)).sum())
        duplicates += int(has_match.sum())
        start += BATCH
    record.add_rate(f"{label}: add_many_if_new, batches of 10,000", BATCH, "documents/s", timing)
    share = 1 - missed / max(duplicates, 1)
    note = f"{duplicates} of a sample have a match among the documents stored before the batch"
    record.add(f"{label}: recall of add_many_if_new", share, "", note=note)
    new = texts_from(texts, start, STREAMED + COMMITTED)
    one_by_one(each, "add_if_new(text)", database, new, start, is_search=True)


def one_by_one(
    each: Each,
    what: str,
    database: simdb.Database,
    new: Sequence[str | int],
    start: int,
    *,
    is_search: bool,
) -> None:
    """Measure inserting documents one by one, in one transaction and with a commit each."""
    with database.write() as transaction:
        verb = transaction.add_if_new if is_search else transaction.insert
        tell_stream(each, f"{what}, one transaction", verb, new[:STREAMED], start)
    verb = database.add_if_new if is_search else database.insert
    tell_stream(each, f"{what}, a commit each", verb, new[STREAMED:], start + STREAMED)


def tell_stream(
    each: Each,
    what: str,
    verb: Callable[..., object],
    new: Sequence[str | int],
    start: int,
) -> None:
    """Insert documents one by one for STREAM_SECONDS at most, and add the rate and the pauses."""
    taken, processor = [], time.process_time()
    marks = [time.perf_counter()]
    for name, document in enumerate(new, start):
        verb(name, document)
        marks.append(time.perf_counter())
        taken.append((marks[-1] - marks[-2]) * 1e6)
        if marks[-1] - marks[0] > STREAM_SECONDS:
            break
    timing = Timing([marks[-1] - marks[0]], [time.process_time() - processor])
    ranks = {f"p{rank:g}": sorted(taken)[int(len(taken) * rank / 100)] for rank in (50, 99, 99.9)}
    note = ", ".join(f"{name} {figure:.0f} us" for name, figure in ranks.items())
    note += f", longest {max(taken):.0f} us of {len(taken)}"
    each[0].add_rate(f"{each[1]}: {what}", len(taken), "documents/s", timing, note)


if __name__ == "__main__":
    main()
