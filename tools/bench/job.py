"""How long does a whole job take, and what does it find, compared with other libraries?

Every task is a whole process, from its start to its end with reading and printing; all tasks take
turns.  Each row has the time by the clock and of the processors, and the peak of memory, with and
without mapped pages.  `--ask`:

groups  Near-duplicates of JSON lines, printed as groups.  `simdb dedup --json`, with and without a
        database, is compared with `pipelines.py` and a bare loop of json.loads.

kept    `simdb dedup -o`, in several formats and with a database.

frame   `simdb.deduplicate` of a DataFrame, compared with `drop_duplicates`, which finds equal texts
        only.  Subtract the rows "read", which only read the file.

start   `import simdb`, opening and querying a database of `-n` documents, and commands, compared
        with `import numpy`.

The texts come from `texts.py`, with `--made drawn` from `drawn.py`, or from `--file` with the same
fields.  A tenth are copies of other texts.  `copies found` counts the sampled copies that have a
Jaccard similarity of 0.8 to their origin.  It is the share of them that are grouped with it, or not
kept together with it.  `strangers` are grouped with, or removed for, a text of another origin.
"""

import argparse
import json
import os
import shutil
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from random import Random

import numpy as np
import numpy.typing as npt

import simdb
from documents import Weights, parts
from drawn import Drawn
from pipelines import PEERS, SIMILARITY, shingles
from process import Cost, run
from record import Record, Timing, number, options, scratch, short
from texts import Texts, lines_of, read_pools

I64 = npt.NDArray[np.int64]

SAMPLE = 2_000  # copies whose similarity is computed
PIPELINES = [sys.executable, str(Path(__file__).parent / "pipelines.py")]
SIMDB = [sys.executable, "-m", "simdb"]
TEXT = "the quick brown fox jumps over the lazy dog and runs home to sleep"
PROGRAMS = ("pass", "import numpy", "import simdb", "import simdb; simdb.open")


@dataclass(frozen=True)
class Task:
    """One command, the file that it reads, and the way to judge its output, if any."""

    command: list[str]
    path: Path | None = None
    cores: str = ""  # a name of `Job.cores`; default: the fewest
    before: Callable[[], object] = lambda: None
    judged: str = ""  # "groups" in the standard output, or "kept" in `output`
    output: Path | None = None


class Job:
    """The files and cores of all tasks, and the truth about the texts."""

    def __init__(self, arguments: argparse.Namespace, folder: Path) -> None:
        self.arguments, self.folder = arguments, folder
        first = max(arguments.core, 0)  # the cores that tasks use begin with this one
        every = sorted(os.sched_getaffinity(0))
        every = every[first:] + every[:first]
        numbers = arguments.cores or sorted({1, len(every)})
        self.cores = {f"{count} cores": set(every[:count]) for count in numbers}
        self.fewest, self.most = next(iter(self.cores)), [*self.cores][-1]

    @cached_property
    def file(self) -> Path:
        """A file of the texts, written when it is first asked for."""
        path = self.folder / f"{self.arguments.n}.jsonl"
        with path.open("wb") as file:
            file.writelines(islice(self._lines(), self.arguments.n))
        return path

    def _lines(self) -> Iterator[bytes]:
        asked = self.arguments
        if asked.file is not None:
            with asked.file.open("rb") as file:
                yield from file
        else:
            is_drawn = asked.made == "drawn"
            made = Drawn(asked.seed) if is_drawn else Texts(read_pools(asked.corpora), asked.seed)
            yield from lines_of(made.with_origins(asked.n))

    @cached_property
    def origins(self) -> I64:
        """The number of the text that each text is a copy of."""
        found = (int(json.loads(line)["origin"]) for line in self.file.open("rb"))
        return np.fromiter(found, np.int64)

    @cached_property
    def copies(self) -> list[int]:
        """Drawn copies that are similar enough to the text that they were made from."""
        origins = self.origins
        every = np.flatnonzero(origins != np.arange(len(origins))).tolist()
        drawn = Random(1).sample(every, min(SAMPLE, len(every)))
        wanted = {*drawn, *origins[drawn].tolist()}
        cut = {
            at: set(shingles(json.loads(line)["text"]))
            for at, line in enumerate(self.file.open("rb"))
            if at in wanted
        }
        return [
            at for at in drawn
            if len(cut[at] & cut[origins[at]]) >= SIMILARITY * len(cut[at] | cut[origins[at]])
        ]  # fmt: skip


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("-n", type=number, default=1_000_000, help="number of texts")
    parser.add_argument("--ask", nargs="+", choices=ASKED, default=["groups"])
    parser.add_argument("--file", type=Path, help="texts that texts.py has written")
    parser.add_argument("--made", choices=("texts", "drawn"), default="texts")
    parser.add_argument("--peers", nargs="*", default=[*PEERS], choices=[*PEERS])
    parser.add_argument("--cores", type=int, nargs="*", help="numbers of them; default: 1 and all")
    parser.add_argument("--corpora", type=Path, help="folder of NAME.jsonl.gz to make texts of")
    parser.set_defaults(repeats=3)
    arguments = parser.parse_args()
    with scratch(arguments.directory) as folder:
        job = Job(arguments, folder)
        arguments.core = -1  # only the tasks are pinned
        record = Record(__doc__, arguments)
        for name in arguments.ask:
            tell(record, job, ASKED[name](job))
    record.finish()


def groups(job: Job) -> dict[str, Task]:
    path, database = job.file, job.folder / "db"
    tasks = {"json.loads alone": Task([*PIPELINES, "read", str(path)], path)}
    program = [*SIMDB, "dedup", str(path), "--json"]
    stored = [*program, "--db", str(database)]
    renew = partial(shutil.rmtree, database, ignore_errors=True)
    for cores in job.cores:
        tasks[f"simdb, {cores}"] = Task(program, path, cores, judged="groups")
        tasks[f"simdb --db, {cores}"] = Task(stored, path, cores, renew, "groups")
    tasks["simdb --db, again"] = Task(stored, path)
    for name in job.arguments.peers:
        if find_spec(name) is None:
            print(f"{name} is not installed: left out")
            continue
        for cores in job.cores:
            command = [*PIPELINES, name, str(path)]
            tasks[f"{name}, {cores}"] = Task(command, path, cores, judged="groups")
    return tasks


def kept(job: Job) -> dict[str, Task]:
    path, database, tasks = job.file, job.folder / "db", {}
    renew = partial(shutil.rmtree, database, ignore_errors=True)
    ways: dict[str, tuple[list[str], Callable[[], object]]] = {
        "the default": ([], lambda: None),
        "--verify estimate": (["--verify", "estimate"], lambda: None),
        "--db, everything new": (["--db", str(database)], renew),
    }
    for cores in job.cores:
        for name, (flags, before) in ways.items():
            output = job.folder / f"{name} {cores}.jsonl"
            command = [*SIMDB, "dedup", str(path), "-o", str(output), "--quiet", *flags]
            tasks[f"simdb -o, {name}, {cores}"] = Task(command, path, cores, before, "kept", output)
        for form in ("csv", "parquet"):
            target = job.folder / f"{cores}.{form}"
            command = [*SIMDB, "dedup", str(path), "-o", str(target), "--quiet"]
            tasks[f"simdb -o, to {form}, {cores}"] = Task(command, path, cores)
    return tasks


def frame(job: Job) -> dict[str, Task]:
    return {
        f"DataFrame, {kind}, {what}": Task([*PIPELINES, "frame", str(job.file), what, kind],
                                           job.file, job.most)
        for kind in ("object", "str") for what in ("read", "drop_duplicates", "deduplicate")
    }  # fmt: skip


def start(job: Job) -> dict[str, Task]:
    # This variable forbids compiled files, so that the compiler would be measured, too.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    path = str(job.folder / "stored")
    with simdb.open(path, durability="none") as database:
        for names, documents in parts(Weights(1), 0, job.arguments.n, 100_000):
            database.insert_many(names, documents)
    tasks = {repr(each): Task([sys.executable, "-c", each]) for each in PROGRAMS}
    opened = f"import simdb; simdb.open({path!r}, 'r').query({TEXT!r})"
    tasks["open and query"] = Task([sys.executable, "-c", opened])
    tasks["simdb --help"] = Task([*SIMDB, "--help"])
    tasks["simdb query DB TEXT"] = Task([*SIMDB, "query", path, TEXT])
    return tasks


ASKED: dict[str, Callable[[Job], dict[str, Task]]] = {
    "groups": groups, "kept": kept, "frame": frame, "start": start,
}  # fmt: skip


def tell(record: Record, job: Job, tasks: Mapping[str, Task]) -> None:
    """Run all tasks in turns, then add their costs and what they have found."""
    costs: dict[str, list[Cost]] = {name: [] for name in tasks}
    for turn in range(job.arguments.repeats):
        for name, task in tasks.items():
            task.before()
            printed = job.folder / f"{name.replace('/', ' ')}.out"
            cores = job.cores[task.cores or job.fewest]
            costs[name].append(run(task.command, cores, printed))
            print(f"turn {turn + 1}: {name}: {costs[name][-1]}", flush=True)
    for name, task in tasks.items():
        each = costs[name]
        timing = Timing([cost.seconds for cost in each], [cost.processor_seconds for cost in each])
        peaks = [(cost.peak_bytes, cost.anonymous_bytes) for cost in each]
        peak, anonymous = (statistics.median(some) for some in zip(*peaks, strict=True))
        note = f"{statistics.median(timing.processor):.3f} s of processors, peak"
        note += f" {peak / 1e6:.0f} MB, {anonymous / 1e6:.0f} MB anonymous"
        if task.path:
            note += f", {task.path.stat().st_size / 1e6 / timing.median:.1f} MB/s"
        facts = {"peak_bytes": peak, "anonymous_bytes": anonymous}
        count = f"{short(job.arguments.n)} texts: " if task.path else ""
        record.add(f"{count}{name}", timing.median, "s", timing, note, facts)
        if task.judged and task.path:
            told = task.output or job.folder / f"{name}.out"
            record.add(f"{count}{name}: copies found", *JUDGED[task.judged](job, told))


def judge_groups(job: Job, printed: Path) -> tuple[float, str, None, str]:
    """Judge the printed groups of a task."""
    origins, copies = job.origins, job.copies
    owner = np.arange(len(origins))
    for line in printed.open("rb"):
        # With a database a row is a document and its match, and otherwise a group.
        row = json.loads(line)
        others = [int(each["id"]) for each in row.get("duplicates", [row])]
        owner[others] = owner[int(row["match"])] if "match" in row else int(row["representative"])
    moved = np.flatnonzero(owner != np.arange(len(owner)))
    strangers = int(np.sum(origins[moved] != origins[owner[moved]]))
    note = f"of {len(copies)}; {len(moved)} duplicates, {strangers} of them strangers"
    return float(np.mean(owner[copies] == owner[origins[copies]])), "", None, note


def judge_kept(job: Job, output: Path) -> tuple[float, str, None, str]:
    """Judge the texts that a task has kept."""
    origins = job.origins
    stay = [int(json.loads(line)["id"]) for line in output.open("rb")]
    is_kept, copies = np.isin(np.arange(len(origins)), stay), job.copies
    is_original = origins == np.arange(len(origins))
    has_copy = np.isin(np.arange(len(origins)), origins[~is_original])
    strangers = int(np.sum(~is_kept & is_original & ~has_copy))
    note = f"of {len(copies)}; {int(np.sum(~is_kept))} removed, {strangers} of them strangers"
    return float(np.mean(~(is_kept[copies] & is_kept[origins[copies]]))), "", None, note


JUDGED = {"groups": judge_groups, "kept": judge_kept}


if __name__ == "__main__":
    main()
