"""How fast is exact search of image hashes of 128 to 512 bits, compared with common indexes?

random    The bits are uniform.

factor    FACTORS normal factors explain SHARE of the variance of each value.  A bit tells whether
          its value is above the median of its hash, as in PDQ.

constant  A third of the bits are nearly constant: RARE of the hashes differ.

Every second query is a stored hash with 0 to 31 bits flipped, and the others are unrelated.
"recall" is the share of these neighbours within the distance that an index finds.  Flipped bits and
distances are given for 256 bits, and scaled.

Each index has its own process on one core (`indexes.py`).  They take turns, each turn with other
queries; queries a second are by processor time, p50 by the clock.  A batch for a slow index has the
queries that it answers in `--patience` seconds.  "simdb" has the default options, and "simdb-50" is
made for distance 50.

Then a hash is added, and found by the same process.  Another hash is added, and found by a process
that has simdb open, or reads the file that the peer has saved meanwhile.  Last, 1,000 hashes are
added and the process is killed: how many of them does a process find that opens the files?

`--exact N` compares answers of simdb for N drawn pairs (query, stored) with brute force instead,
within 0 to 40: after insertion in many transactions, deletions, merges, compaction and reopening.

    python tools/bench/hashes.py --documents 1M 10M --kind random factor --distance 10 31 50
    python tools/bench/hashes.py --documents 1M --bits 128 512 --exact 1M
    python tools/bench/hashes.py --table build/bench/hashes.json      # as tables of Markdown
"""

import itertools
import json
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import simdb
from indexes import PEERS, Keeper, usable
from record import Record, Timing, amount, markdown, number, options, recorded, scratch

BITS, USUAL = 256, 31  # distances are given for BITS; the default distance
FACTORS, SHARE, RARE = 24, 0.3, 0.02
BLOCK = 1 << 16  # hashes drawn at a time
FEW, LOST = 64, 1_000  # queries that show the speed of an index; hashes added before its end
FARTHEST, WHOLE = 40, 2  # `--exact`: distance; queries of a batch that are compared with all
STATES = "inserted", "deleted", "merged", "compacted", "reopened"
FACTS = "documents", "bits", "kind", "distance", "index", "batch"
COLUMNS = {
    "build_seconds": "build, s", "file_bytes": "file, bytes a hash", "memory_bytes": "memory",
    "own_seconds": "found after, s", "seen_seconds": "by another process",
    "kept": "left of 1,000 after kill -9", "open_seconds": "opened again, s",
}  # fmt: skip
Numbers = npt.NDArray[Any]


class Hashes:
    """Hashes of one kind, uint8[n, bits / 8], and queries near them."""

    def __init__(self, kind: str, bits: int, seed: int) -> None:
        """Draw the common part of all hashes."""
        self.kind, self.bits, self.chance = kind, bits, np.random.default_rng([seed, bits])
        loadings = self.chance.standard_normal((FACTORS, bits), np.float32)
        self._loadings = loadings * np.sqrt(SHARE / (loadings**2).sum(0))
        self._constant = np.packbits(self.chance.permutation(bits) < bits // 3)
        self._usual = self.chance.integers(0, 256, bits // 8, np.uint8)

    def drawn(self, count: int) -> Numbers:
        """Draw the next hashes."""
        if count > BLOCK:
            return np.concatenate([self.drawn(count // 2), self.drawn(count - count // 2)])
        if self.kind == "factor":
            values = self.chance.standard_normal((count, FACTORS), np.float32) @ self._loadings
            noise = self.chance.standard_normal((count, self.bits), np.float32)
            values += (1 - SHARE) ** 0.5 * noise
            return np.packbits(values > np.median(values, axis=1, keepdims=True), axis=1)
        made = self.chance.integers(0, 256, (count, self.bits // 8), np.uint8)
        if self.kind == "constant":
            is_rare = self.chance.random((count, self.bits), np.float32) < RARE
            made ^= (made ^ self._usual ^ np.packbits(is_rare, axis=1)) & self._constant
        return made

    def near(self, hashes: Numbers, flips: Numbers) -> Numbers:
        """Flip `flips` bits of each hash."""
        is_flipped = self.chance.permuted(np.arange(self.bits) < flips[:, None], axis=1)
        return hashes ^ np.packbits(is_flipped, axis=1)

    def write(self, folder: Path, count: int, queries: int) -> None:
        """Write `stored`, `queries` and `planted`: the neighbour (or -1) and its distance."""
        stored = self.drawn(count)
        planted = self.chance.integers(0, (count, USUAL * self.bits // BITS + 1), (queries, 2))
        asked = self.near(stored[planted[:, 0]], planted[:, 1])
        asked[1::2], planted[1::2] = self.drawn(len(asked[1::2])), (-1, self.bits + 1)
        for name, values in {"stored": stored, "queries": asked, "planted": planted}.items():
            np.save(folder / f"{name}.npy", values)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--table", nargs="*", help="print these records")
    parser.add_argument("--documents", type=number, nargs="+", default=[1_000_000])
    parser.add_argument("--bits", type=int, nargs="+", default=[BITS])
    parser.add_argument("--kind", nargs="+", default=["random"],
                        choices=("random", "factor", "constant"))  # fmt: skip
    parser.add_argument("--distance", type=int, nargs="+", default=[USUAL], help="of 256 bits")
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=list(PEERS))
    parser.add_argument("--batches", type=number, nargs="+", default=[1, 256, 4096])
    parser.add_argument("--queries", type=number, default=20_000)
    parser.add_argument("--patience", type=float, default=10, help="seconds of a batch")
    parser.add_argument("--exact", type=number, metavar="N", help="compare answers for N pairs")
    if names := parser.parse_args().table:
        print("\n\n".join(itertools.chain.from_iterable(map(tables, names))))
        return
    with recorded(__doc__, parser) as record:
        given = record.arguments
        for each in itertools.product(given.documents, given.bits, given.kind):
            with scratch(given.directory) as folder:
                (exact if given.exact else run)(record, folder, *each)


def run(record: Record, folder: Path, count: int, bits: int, kind: str) -> None:
    """Fill all indexes, ask them in turns, add to each, and kill its process."""
    given, hashes = record.arguments, Hashes(kind, bits, record.arguments.seed)
    hashes.write(folder, count, given.queries)
    own = {f"simdb-{each}": each * bits // BITS for each in given.distance if each != USUAL}
    made = {"simdb": None} | own | dict.fromkeys(usable(given.peers, bits))
    start = {name: partial(Keeper, folder, name, bits, made[name]) for name in made}
    facts = {"documents": count, "bits": bits, "kind": kind}
    keepers = {name: begin() for name, begin in start.items()}
    for name, keeper in keepers.items():
        wall, spent, memory, size = keeper("build")
        known = {"build_seconds": wall, "memory_bytes": memory / count, "file_bytes": size / count}
        note = f"bytes a hash: {memory / count:.1f} of memory, {size / count:.1f} of files"
        known |= facts | {"index": name}
        record.add(f"{label(known)}: build", wall, "s", Timing([wall], [spent]), note, known)
    for distance, batch in itertools.product(given.distance, given.batches):
        within = distance * bits // BITS
        asked = {name: keepers[name] for name in made if own.get(name, within) == within}
        ask(record, asked, within, facts | {"distance": distance, "batch": batch})
    for name in reversed(made):  # the largest process ends first
        change(record, keepers[name], start[name], hashes, facts | {"index": name})


def ask(record: Record, keepers: dict[str, Keeper], within: int, facts: dict[str, Any]) -> None:
    """Let all indexes take turns with batches of one size."""
    turns: dict[str, list[Any]] = {name: [] for name in keepers}
    few, sizes = min(FEW, facts["batch"]), dict[str, int]()
    for name, keeper in keepers.items():
        seconds = statistics.mean(keeper("turn", few, within)[0]) / few
        sizes[name] = min(facts["batch"], 1 + int(record.arguments.patience / seconds))
    for _ in range(record.arguments.repeats):
        for name, keeper in keepers.items():
            turns[name].append(keeper("turn", sizes[name], within))
    for name, size in sizes.items():
        seconds, spent, planted, near, matches = zip(*turns[name], strict=True)
        counts = [len(each) * size for each in seconds]
        p50 = statistics.median(itertools.chain(*seconds)) * 1e6
        recall = sum(near) / max(sum(planted), 1)
        known = facts | {"index": name, "recall": recall, "size": size, "p50_us": p50}
        note = f"p50 {amount(p50)} us, {sum(near):,} of {sum(planted):,} neighbours,"
        note += f" {sum(matches) / sum(counts):.3f} matches a query, {size} at once"
        rate = statistics.median(np.divide(counts, spent).tolist())
        timing = Timing(list(map(sum, seconds)), list(spent))
        record.add(label(known), rate, "queries/s", timing, note, known)


def change(
    record: Record, keeper: Keeper, start: Callable[[], Keeper], hashes: Hashes, facts: Any
) -> None:
    """Report when an added hash is found, and which hashes survive a kill."""
    rows, count, other = hashes.drawn(2 + LOST), facts["documents"], start()
    other("load")
    started = time.perf_counter()
    keeper("add", rows[:1], count)
    is_found, own = keeper("holds", rows[0], count), time.perf_counter() - started
    started = time.perf_counter()
    keeper("add", rows[1:2], count + 1)
    keeper("save")
    other("refresh")
    is_found, seen = is_found & other("holds", rows[1], count + 1), time.perf_counter() - started
    other.kill()
    keeper("add", rows[2:], count + 2)
    keeper.kill()
    after, started = start(), time.perf_counter()
    after("load")
    opened, kept = time.perf_counter() - started, after("size") - count - 2
    after.kill()
    known = {"own_seconds": own, "seen_seconds": seen, "kept": kept, "open_seconds": opened}
    note = f"by its own process after {own:.4f} s; {kept:,} of {LOST:,} left after kill -9"
    what = f"{label(facts)}: {'seen' if is_found else 'asked, but not found'}"
    record.add(what, seen, "s", None, note, facts | known)


class Checked:
    """A database with its expected content."""

    def __init__(self, path: Path, hashes: Hashes, count: int) -> None:
        """Create the database; `count` is the number of ids that it will have had."""
        self.path, self.hashes, self.chance = path, hashes, hashes.chance
        self.stored, self.is_held = hashes.drawn(count), np.zeros(count, bool)
        made = simdb.Options(sketch=simdb.Bits(hashes.bits), delta_documents=min(4096, count // 50))
        self.database = simdb.open(path, "x", options=made, durability="process")

    def change(self, state: str) -> None:
        """Bring the database into one of STATES."""
        edge = len(self.stored) * 4 // 5
        drawn = np.flatnonzero(self.chance.random(edge) < SHARE)
        if state == "inserted":
            self.insert(0, edge)
        elif state == "deleted":
            self.database.delete_many(drawn.tolist())
            self.is_held[drawn] = False
        elif state == "merged":
            self.stored[drawn], self.is_held[drawn] = self.hashes.drawn(len(drawn)), True
            self.database.insert_many(drawn.tolist(), self.stored[drawn], on_conflict="replace")
            self.insert(edge, len(self.stored))
        elif state == "compacted":
            self.database.compact()
        else:
            self.database.close()
            self.database = simdb.open(self.path, "w")

    def insert(self, first: int, stop: int) -> None:
        """Insert in transactions of few and of many documents."""
        edges = [first, *sorted(self.chance.integers(first, stop, 20).tolist()), stop]
        for start, end in itertools.pairwise(edges):
            self.database.insert_many(range(start, end), self.stored[start:end])
        self.is_held[first:stop] = True

    def agreeing(self, count: int, distance: int) -> tuple[int, int]:
        """Ask `count` queries; return the pairs of two a query that agree, and other errors."""
        pairs = self.chance.integers(0, len(self.stored), (2, count))
        flips = self.chance.integers(0, FARTHEST * self.hashes.bits // BITS + 1, count)
        queries = self.hashes.near(self.stored[pairs[0]], flips)
        found = self.database.query_many(queries, distance=distance)
        rows, ids = np.repeat(np.arange(count), np.diff(found.offsets)), found.ids.astype(np.int64)
        is_right = self.is_held[ids] & (apart(queries[rows], self.stored[ids]) == found.distances)
        wrong = int((~is_right | (found.distances > distance)).sum())
        for row, query in enumerate(queries[:WHOLE]):
            wanted = np.flatnonzero(self.is_held & (apart(query, self.stored) <= distance))
            wrong += len(np.setxor1d(wanted, ids[rows == row]))
        is_near = self.is_held[pairs] & (apart(queries, self.stored[pairs]) <= distance)
        is_answer = np.isin(np.arange(count) << 40 | pairs, rows << 40 | ids)
        return int((is_answer == is_near).sum()), wrong


def apart(left: Numbers, right: Numbers) -> Any:
    """Count the bits in which hashes differ."""
    return np.bitwise_count(left ^ right).sum(axis=-1, dtype=np.int64)


def exact(record: Record, folder: Path, count: int, bits: int, kind: str) -> None:
    """Compare answers for drawn pairs with brute force, in each state of a database."""
    checked = Checked(folder / "x", Hashes(kind, bits, record.arguments.seed), count)
    facts, distances = {"documents": count, "bits": bits, "kind": kind}, FARTHEST * bits // BITS + 1
    queries = -(-record.arguments.exact // (2 * len(STATES) * distances))
    for state in STATES:
        checked.change(state)
        sums = [checked.agreeing(queries, each) for each in range(distances)]
        agree, wrong = map(sum, zip(*sums, strict=True))
        note = f"of {2 * queries * distances:,}; {wrong} other errors;"
        note += f" {len(checked.database):,} documents, {len(checked.database.stats().runs)} runs"
        record.add(f"{label(facts)}, {state}: pairs that agree", agree, "pairs", None, note, facts)
    checked.database.close()


def label(facts: dict[str, Any]) -> str:
    return ", ".join(str(facts[name]) for name in FACTS if name in facts)


def tables(path: str) -> Iterator[str]:
    """Yield the searches of one record as a table of Markdown, then its indexes."""
    whole = json.loads(Path(path).read_text())
    yield f"{whole['machine']['processor']}, {whole['versions']['kernel']}, {whole['commit']}"
    searches, indexes, agreeing = dict[str, Any](), dict[str, Any](), list[list[str]]()
    for row in whole["rows"]:
        if "batch" in row:
            name = label({key: row[key] for key in row if key != "batch"})
            searches.setdefault(name, {})[row["batch"]] = row
        elif "index" in row:
            indexes.setdefault(label(row), {}).update(row)
        else:
            agreeing.append([row["what"], amount(row["figure"]), row["note"]])
    batches, found = whole["settings"]["batches"], []
    for name, rows in searches.items():
        rates = [amount(rows[batch]["figure"]) for batch in batches]
        recall = min(row["recall"] for row in rows.values())
        found.append([name, *rates, amount(rows[batches[0]]["p50_us"]), f"{recall:.4f}"])
    heads = [f"queries/s, {batch:,} at once" for batch in batches]
    lines = [
        [name, *(f"{round(row[each], 4):,}" for each in COLUMNS)] for name, row in indexes.items()
    ]
    ends = [*heads, f"p50 of {batches[0]}, us", "recall"], [*COLUMNS.values()], ["agree", ""]
    for head, rows in zip(ends, (found, lines, agreeing), strict=True):
        yield from [markdown(["", *head], rows)] * bool(rows)


if __name__ == "__main__":
    main()
