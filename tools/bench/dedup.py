"""How long does `simdb dedup` take for a gigabyte, beside other libraries that group texts?

Every task is a whole process that reads the same JSON lines and prints groups: `simdb dedup`, on
one core and on all, with and without a database, and the scripts of `pipelines/`, each of which
does the job with another library.  A script that would take too long reads the first texts only.
The tasks take turns, and each is given as a ratio to a bare loop of json.loads over the same lines,
on one core, in the same run.

The texts are those of `texts.py`, or of `--file`, which has the same fields.  A tenth are edited
copies of others.  `copies found` is the share of the sampled copies whose word 3-shingles have a
Jaccard similarity of 0.8 to the text that they were made from and that are in one group with it.
`strangers` is the share of grouped documents that are no copy of their representative's text.
"""

import argparse
import importlib.util
import json
import os
import shutil
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random

from passages import read_pools
from pipelines.groups import SIMILARITY, shingles
from process import Cost, run
from record import Record, Timing, missing, number, options, short
from texts import Texts, lines_of
from workload import scratch

PIPELINES = Path(__file__).parent / "pipelines"
READ = "json.loads alone"
SAMPLE = 2_000  # copies whose similarity is computed
DONE = (0, 1)  # exit codes of `simdb dedup`; 1 says that there are duplicates
PEERS = {
    "rensa": ("with_rensa", "rensa"),
    "gaoya": ("with_gaoya", "gaoya"),
    "datasketch": ("with_datasketch", "datasketch"),
    "duckdb, equal texts only": ("with_duckdb", "duckdb"),
    "duckdb, join of shingles": ("with_duckdb_shingles", "duckdb"),
}


@dataclass(frozen=True)
class Task:
    """One command, the cores that it may use, and the file that it reads."""

    command: list[str]
    cores: set[int]
    path: Path
    before: Callable[[], object] = lambda: None
    expected: tuple[int, ...] = (0,)  # exit codes


@dataclass
class Truth:
    """The origin of every document, and the sampled copies that are similar enough to it."""

    origins: dict[str, str]
    copies: list[str]


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("-n", type=number, default=1_000_000, help="number of texts")
    parser.add_argument("--file", type=Path, help="texts that texts.py has written")
    parser.add_argument("--corpora", type=Path, help="folder of corpora, NAME.jsonl.gz")
    parser.add_argument("--peers", nargs="*", default=[*PEERS], choices=[*PEERS])
    parser.add_argument("--part", type=number, default=100_000, help="texts that datasketch reads")
    parser.add_argument(
        "--few", type=number, default=20_000, help="texts whose shingles are joined"
    )
    parser.set_defaults(repeats=3)
    arguments = parser.parse_args()
    every = os.sched_getaffinity(0)
    one = {arguments.core if arguments.core >= 0 else min(every)}
    arguments.core = -1  # only the tasks are pinned
    record = Record(__doc__, arguments)
    with scratch(arguments.directory) as folder:
        files = {count: folder / f"{count}.jsonl" for count in sizes(arguments)}
        write_files(files, arguments)
        tasks = simdb_tasks(files, one, every, folder) | peer_tasks(files, one, every, arguments)
        tell(record, tasks, arguments.repeats, folder)
    record.finish()


def sizes(arguments: argparse.Namespace) -> list[int]:
    """Return the numbers of texts that are read: by most tasks, by datasketch, and by the join."""
    return [min(count, arguments.n) for count in (arguments.n, arguments.part, arguments.few)]


def write_files(files: Mapping[int, Path], arguments: argparse.Namespace) -> None:
    for count, path in files.items():
        with path.open("wb") as file:
            file.writelines(islice(lines(arguments), count))


def lines(arguments: argparse.Namespace) -> Iterator[bytes]:
    """Yield the lines of the given file, or of texts that are made now."""
    if arguments.file is not None:
        with arguments.file.open("rb") as file:
            yield from file
        return
    texts = Texts(read_pools(arguments.corpora), arguments.seed)
    yield from map(str.encode, lines_of(texts, 0, arguments.n))


def simdb_tasks(
    files: Mapping[int, Path], one: set[int], every: set[int], folder: Path
) -> dict[str, Task]:
    """Make the loop of json.loads and the tasks of simdb, which read the largest file."""
    path, database = files[max(files)], folder / "db"
    tasks = {READ: Task([sys.executable, str(PIPELINES / "read_json.py"), str(path)], one, path)}
    program = [sys.executable, "-m", "simdb", "dedup", str(path), "--json"]
    stored = [*program, "--db", str(database)]
    for name, cores in (("one core", one), ("all cores", every)):
        tasks[f"simdb, {name}"] = Task(program, cores, path, expected=DONE)
        tasks[f"simdb --db, {name}"] = Task(
            stored, cores, path, lambda: remove(database), expected=DONE
        )
    tasks["simdb --db, again, one core"] = Task(stored, one, path, expected=DONE)
    return tasks


def peer_tasks(
    files: Mapping[int, Path], one: set[int], every: set[int], arguments: argparse.Namespace
) -> dict[str, Task]:
    """Make the tasks of the peers that are installed."""
    tasks = {}
    whole, part, few = sizes(arguments)
    for name in arguments.peers:
        script, package = PEERS[name]
        if not is_installed(package):
            missing(package)
            continue
        count = part if name == "datasketch" else few if "shingles" in name else whole
        command = [sys.executable, str(PIPELINES / f"{script}.py"), str(files[count])]
        label = f"{name}, {short(count)}"
        tasks[f"{label}, one core"] = Task(command, one, files[count])
        if name != "datasketch":  # it has one thread
            tasks[f"{label}, all cores"] = Task(command, every, files[count])
    return tasks


def is_installed(package: str) -> bool:
    """Return whether a package is there, without importing it into this process."""
    return importlib.util.find_spec(package) is not None


def remove(database: Path) -> None:
    shutil.rmtree(database, ignore_errors=True)


def tell(record: Record, tasks: Mapping[str, Task], repeats: int, folder: Path) -> None:
    """Run all tasks in turns, then add their costs and what their groups are worth."""
    costs: dict[str, list[Cost]] = {name: [] for name in tasks}
    for turn in range(repeats):
        for name, task in tasks.items():
            task.before()
            costs[name].append(run(task.command, task.cores, output(folder, name), task.expected))
            print(f"turn {turn + 1}: {name}: {costs[name][-1]}", flush=True)
    read = timing_of(costs[READ])
    read_bytes = tasks[READ].path.stat().st_size
    truths: dict[Path, Truth] = {}
    for name, task in tasks.items():
        timing, size = timing_of(costs[name]), task.path.stat().st_size
        spent = statistics.median(timing.processor)
        ratio = timing.median / size * read_bytes / read.median
        spent_ratio = spent / size * read_bytes / statistics.median(read.processor)
        peak = statistics.median(cost.peak_bytes for cost in costs[name])
        note = f"{ratio:.2f} times json.loads, of the processors {spent_ratio:.2f} times"
        note += f" ({spent:.1f} s); peak {peak / 1e6:.0f} MB"
        facts = {"ratio": ratio, "processor_ratio": spent_ratio, "peak_bytes": peak, "bytes": size}
        record.add(name, size / 1e6 / timing.median, "MB/s", timing, note, facts)
        if name != READ and "again" not in name:
            truth = truths.setdefault(task.path, truth_of(task.path))
            tell_groups(record, name, output(folder, name), truth)


def output(folder: Path, name: str) -> Path:
    return folder / f"{name}.groups"


def timing_of(costs: list[Cost]) -> Timing:
    return Timing([cost.seconds for cost in costs], [cost.processor_seconds for cost in costs])


def truth_of(path: Path) -> Truth:
    """Read the origins, and draw copies that are similar to the text that they were made from."""
    origins = {record["id"]: record["origin"] for record in records(path)}
    copies = [name for name, origin in origins.items() if origin != name]
    drawn = Random(1).sample(copies, min(SAMPLE, len(copies)))
    wanted = {*drawn, *(origins[name] for name in drawn)}
    cut = {
        record["id"]: set(shingles(record["text"]))
        for record in records(path)
        if record["id"] in wanted
    }
    similar = [name for name in drawn if jaccard(cut[name], cut[origins[name]]) >= SIMILARITY]
    return Truth(origins, similar)


def records(path: Path) -> Iterator[dict[str, str]]:
    with path.open("rb") as file:
        yield from map(json.loads, file)


def jaccard(left: set[str], right: set[str]) -> float:
    return len(left & right) / len(left | right)


def tell_groups(record: Record, name: str, path: Path, truth: Truth) -> None:
    """Add what the printed groups of a task are worth."""
    owner: dict[str, str] = {}
    for row in records(path):
        # With a database a row is a document and its match, and otherwise a group.
        others = [each["id"] for each in row["duplicates"]] if "duplicates" in row else [row["id"]]
        first = owner.get(row["match"], row["match"]) if "match" in row else row["representative"]
        owner |= dict.fromkeys(others, first)
    origins = truth.origins
    found = sum(
        owner.get(copy, copy) == owner.get(origins[copy], origins[copy]) for copy in truth.copies
    )
    strangers = sum(origins[each] != origins[first] for each, first in owner.items())
    note = f"of {len(truth.copies)}; {len(owner)} duplicates, {strangers} of them strangers"
    record.add(f"{name}: copies found", found / max(len(truth.copies), 1), "", note=note)


if __name__ == "__main__":
    main()
