"""What do many millions of texts cost: the main job from a file, and a database filled in batches?

The texts are those of `drawn.py`, made on the fly for the database; the main job reads a file of
JSON lines of about 1 KB each.  Recall of the job is the share that it removes of the copies that
are near enough, which is asked of each copy and its origin alone; recall of the database is that of
exhaustive search for a sample of queries.  Memory is the most anonymous memory of the process, so
without mapped pages.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

import simdb
from drawn import BLOCK, Drawn
from growth import Watcher
from record import Record, latencies, number, options, short
from workload import scratch

SINGLE = 2_000  # queries asked one by one
SAMPLED_BLOCKS = 4  # whose copies are compared with their origins
PARTS = ("job", "database")
VERBS = ("find_all", "find_clusters")

I64 = npt.NDArray[np.int64]


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("-n", type=number, nargs="+", default=[1_000_000], help="texts")
    parser.add_argument("--batches", type=int, default=10, help="transactions of the database")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=PARTS)
    parser.add_argument(
        "--sample", type=number, default=500, help="queries that are asked exhaustively"
    )
    parser.add_argument("--verbs", nargs="*", choices=VERBS, default=VERBS, help="of the database")
    parser.set_defaults(repeats=1, core=-1)
    arguments = parser.parse_args()
    record = Record(__doc__, arguments)
    drawn = Drawn(arguments.seed)
    for count in arguments.n:
        with scratch(arguments.directory) as directory:
            if "job" in arguments.parts:
                main_job(record, arguments, directory, drawn, count)
            if "database" in arguments.parts:
                filled(record, arguments, directory / "db", drawn, count)
    record.finish()


def main_job(
    record: Record, arguments: argparse.Namespace, directory: Path, drawn: Drawn, count: int
) -> None:
    """Time `simdb dedup` of a file as a whole process, and judge what it removed."""
    source, output = directory / "all.jsonl", directory / "kept.jsonl"
    with source.open("wb") as file:
        origins = np.concatenate(list(written(file, drawn, count)))
    label, size = f"{short(count)}: main job", source.stat().st_size
    command = [sys.executable, "-m", "simdb", "dedup", str(source), "-o", str(output), "--quiet"]
    begun = time.perf_counter()
    child = subprocess.Popen(command, env=os.environ | {"SIMDB_THREADS": str(arguments.threads)})
    watcher = Watcher(child.pid)
    _, status, usage = os.wait4(child.pid, os.WNOHANG)
    peak = 0
    while not usage.ru_utime:
        time.sleep(0.1)
        peak = max(peak, peaked(watcher))
        _, status, usage = os.wait4(child.pid, os.WNOHANG)
    seconds = time.perf_counter() - begun
    if status:
        raise RuntimeError(f"simdb dedup ended with {status}")
    note = (
        f"{usage.ru_utime + usage.ru_stime:.1f} of processor time, {size / 1e6 / seconds:.0f} MB/s"
    )
    record.add(label, seconds, "s", note=note)
    record.add(f"{label}: anonymous memory", peak / 1e6, "MB", note=f"{peak / count:.0f} B a text")
    source.unlink()
    kept = np.fromiter((json.loads(line)["id"] for line in output.open("rb")), np.int64)
    is_kept = np.zeros(count, np.bool_)
    is_kept[kept] = True
    others = int(np.sum(~is_kept & (origins == np.arange(count))))
    record.add(f"{label}: removed", count - len(kept), "texts", note=f"{others} of them no copies")
    near = list(sampled(drawn, origins))
    found = float(np.mean(~is_kept[near]))
    record.add(f"{label}: recall", found, "", note=f"of {len(near)} copies that are near enough")
    output.unlink()


def sampled(drawn: Drawn, origins: I64) -> Iterator[int]:
    """Yield copies of some blocks that are removed when they are alone with their origin."""
    count = -(-len(origins) // BLOCK)
    for block in np.unique(np.linspace(0, count - 1, SAMPLED_BLOCKS).astype(int)).tolist():
        texts, _ = next(iter(drawn.blocks(BLOCK, block * BLOCK)))
        places = np.arange(block * BLOCK, min((block + 1) * BLOCK, len(origins)))
        for at in places[origins[places] != places].tolist():
            origin = int(origins[at])
            others, _ = next(iter(drawn.blocks(BLOCK, origin // BLOCK * BLOCK)))
            pair = [others[origin % BLOCK].as_py(), texts[at % BLOCK].as_py()]
            if len(simdb.deduplicate(pair).data) == 1:
                yield at


def peaked(watcher: Watcher) -> int:
    """Return the memory of a process, 0 after its end."""
    try:
        return watcher.peak_bytes()
    except (OSError, ValueError):
        return 0


def written(file: Any, drawn: Drawn, count: int) -> Iterator[I64]:
    """Write JSON lines with ids 0, 1, ..; yield the origins of all texts."""
    place = 0
    for texts, origins in drawn.blocks(count):
        ids = pc.cast(pa.array(np.arange(place, place + len(texts))), pa.string())
        lines = pc.binary_join_element_wise('{"id": ', ids, ', "text": "', texts, '"}\n', "")
        _, offsets, content = lines.buffers()
        file.write(memoryview(content)[: np.frombuffer(offsets, np.int32)[len(lines)]])
        place += len(texts)
        yield origins


def filled(
    record: Record, arguments: argparse.Namespace, path: Path, drawn: Drawn, count: int
) -> None:
    """Fill a database in batches, then ask it as it is."""
    label = f"{short(count)} in {arguments.batches} batches"
    step = -(-count // arguments.batches // BLOCK) * BLOCK
    watcher, rates = Watcher(os.getpid()), []
    with simdb.open(path, "x", durability="process") as database:
        for start in range(0, count, step):
            size = min(step, count - start)
            blocks = [texts for texts, _ in drawn.blocks(size, start)]
            texts = pa.chunked_array(blocks)
            marks = time.perf_counter(), time.process_time()
            database.insert_many(range(start, start + size), texts)
            seconds, processor = time.perf_counter() - marks[0], time.process_time() - marks[1]
            rates.append((size / seconds, size / processor))
            print(f"{short(start + size)}: {rates[-1][0]:,.0f} texts/s", flush=True)
        peak = watcher.peak_bytes()
        wall = float(np.mean([1 / each for each, _ in rates]))
        record.add(
            f"{label}: insert_many", 1 / wall, "texts/s",
            note=f"slowest batch by the first {min(each for each, _ in rates) / rates[0][0]:.2f}",
        )  # fmt: skip
        record.add(f"{label}: anonymous memory", peak / 1e6, "MB", note="with a batch of texts")
        stats = database.stats()
        note = f"{len(stats.runs)} runs"
        record.add(f"{label}: live bytes of a text", stats.live_bytes / count, "B", note=note)
        asked = next(iter(drawn.blocks(BLOCK, -(-count // BLOCK) * BLOCK)))[0].to_pylist()
        latencies(record, f"{label}: query(text)", database.query, asked[:SINGLE], 3)
        recall(record, label, database, asked[: arguments.sample])
        for name in arguments.verbs:
            marks = time.perf_counter(), time.process_time()
            found = getattr(database, name)()
            size = sum(map(len, found.chunks())) if name == "find_all" else len(found)
            note = f"{time.process_time() - marks[1]:.1f} of processor time, {size:,} found"
            record.add(f"{label}: {name}", time.perf_counter() - marks[0], "s", note=note)
            record.add(f"{label}: {name}: anonymous memory", watcher.peak_bytes() / 1e6, "MB")
    watcher.close()


def recall(record: Record, label: str, database: simdb.Database, texts: list[str]) -> None:
    """Compare the matches of some texts with those of exhaustive search."""
    found = database.query_many(texts)
    every = database.query_many(texts, recall=1.0, search="exhaustive")
    pairs = [
        {(query, match.id) for query, matches in enumerate(each) for match in matches}
        for each in (found, every)
    ]
    share = len(pairs[0] & pairs[1]) / max(len(pairs[1]), 1)
    record.add(f"{label}: recall", share, "", note=f"{len(pairs[1])} matches")


if __name__ == "__main__":
    main()
