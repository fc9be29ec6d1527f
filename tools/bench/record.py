"""Record: takes options, times tasks, prints a table, and writes JSON with the machine.

Every program here asks one question.  The tasks that it compares run in one process on one core, in
turns, so that a disturbance affects all of them equally.  The record has the median of the turns
and the best turn.  As a script, it prints records as tables of Markdown:

    python tools/bench/record.py build/bench/*.json
"""

import argparse
import gc
import itertools
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import simdb
from simdb.core import kernel

INSTRUCTION_SETS = ("avx2", "bmi2", "avx512f", "avx512_vbmi2", "avx512_vpopcntdq", "avx512_vnni")
PACKAGES = ("lmdb", "numpy", "pyarrow", "faiss-cpu", "gaoya", "duckdb", "rensa", "datasketch")
TURN_SECONDS = 0.05  # shorter tasks cannot be told from disturbances
FIRST_SECONDS = 3.0  # of the round of single calls that is not counted
DISTURBED = 0.9  # share of a processor below which time by the clock says little
MULTIPLES = {"k": 1_000, "M": 1_000_000, "G": 1_000_000_000}


@dataclass
class Timing:
    """Seconds of each turn, by the clock and of processor time."""

    wall: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        return statistics.median(self.wall)

    def summed(self) -> "Timing":
        """Return all turns as one."""
        return Timing([sum(self.wall)], [sum(self.processor)])

    @property
    def share(self) -> float:
        """Processor time by time of the clock; well below 1 if other processes used the core."""
        return sum(self.processor) / sum(self.wall) if self.processor else 1.0


class Record:
    """Rows of one benchmark, printed and written at the end."""

    def __init__(self, question: str, arguments: argparse.Namespace) -> None:
        """Pin the process to the core that `arguments` name."""
        self._question, self.arguments = question, arguments
        self.rows: list[dict[str, Any]] = []
        self._load_before = os.getloadavg()
        if arguments.core >= 0:
            os.sched_setaffinity(0, {arguments.core})

    def add(
        self, what: str, figure: float, unit: str, timing: Timing | None = None, note: str = "",
        facts: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        """Add one row and print it at once, so that a long run can be followed.

        `facts` are stored in the JSON file only.
        """
        row: dict[str, Any] = {"what": what, "figure": figure, "unit": unit, "note": note}
        row |= facts or {}
        if timing is not None:
            row |= {
                "median_seconds": timing.median, "best_seconds": min(timing.wall),
                "wall_seconds": timing.wall, "processor_seconds": timing.processor,
                "processor_share": timing.share,
            }  # fmt: skip
        self.rows.append(row)
        text = f"{what:<58} {amount(figure):>14} {unit:<12}"
        if timing is not None:
            text += f" median {timing.median:.4f} s, best {min(timing.wall):.4f} s"
            text += f", processor {timing.share:.0%}"
        print(f"{text}  {note}".rstrip(), flush=True)

    def add_rate(self, what: str, count: float, unit: str, timing: Timing, note: str = "") -> None:
        """Add a row for `count` things done in each turn."""
        if timing.share < DISTURBED and statistics.median(timing.processor):
            rate = count / statistics.median(timing.processor)
            note = f"{note} {amount(rate)} {unit} by processor time".strip()
        self.add(what, count / timing.median, unit, timing, note)

    def finish(self) -> None:
        """Write everything to NAME.json in the directory that `--out` names."""
        target = Path(self.arguments.out) / f"{Path(sys.argv[0]).stem}.json"
        target.parent.mkdir(parents=True, exist_ok=True)
        settings = {key: value for key, value in vars(self.arguments).items() if key != "out"}
        whole = {
            "question": self._question, "settings": settings,
            "machine": machine(self._load_before), "commit": commit(), "versions": versions(),
            "rows": self.rows,
        }  # fmt: skip
        target.write_text(json.dumps(whole, indent=1, default=str) + "\n")
        print(f"written to {target}")


def options(question: str) -> argparse.ArgumentParser:
    """Make a parser with the options that every benchmark has."""
    parser = argparse.ArgumentParser(
        description=question, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of all random numbers")
    parser.add_argument("--repeats", type=int, default=5, help="turns; the median is reported")
    parser.add_argument("--core", type=int, default=0, help="processor core to use; -1: any")
    parser.add_argument("--out", default="build/bench", help="directory of the JSON file")
    parser.add_argument("--directory", help="directory for databases; default: temporary")
    parser.add_argument("--durability", choices=("full", "process", "none"), default="process")
    return parser


@contextmanager
def recorded(question: str, parser: argparse.ArgumentParser) -> Iterator[Record]:
    """Parse the arguments; give a record with them, which is written at the end."""
    record = Record(question, parser.parse_args())
    yield record
    record.finish()


@contextmanager
def scratch(directory: str | None) -> Iterator[Path]:
    """Make a directory for databases, and remove it at the end."""
    with tempfile.TemporaryDirectory(prefix="simdb-bench-", dir=directory) as made:
        yield Path(made)


def number(text: str) -> int:
    """Parse a whole number such as 200000, 200k, 10M or 1G."""
    if text[-1:] in MULTIPLES:
        return int(float(text[:-1]) * MULTIPLES[text[-1]])
    return int(text)


def in_turns(tasks: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, Timing]:
    """Run every task once unmeasured, then `repeats` rounds of all tasks in turn.

    A short task runs several times in its turn, and the mean time is noted.
    """
    timings, times = {name: Timing() for name in tasks}, dict[str, int]()
    for name, task in tasks.items():
        started = time.perf_counter()
        task()
        times[name] = 1 + int(TURN_SECONDS / (time.perf_counter() - started + 1e-9))
    for _ in range(repeats):
        for name, task in tasks.items():
            gc.collect()
            measure(task, timings[name], times[name])
    return timings


def measure(task: Callable[[], Any], timing: Timing, times: int = 1) -> Any:
    """Run `task` and note how long it took; return its result."""
    spent, wall = processor_seconds(), time.perf_counter()
    for _ in range(times):
        result = task()
    timing.wall.append((time.perf_counter() - wall) / times)
    timing.processor.append((processor_seconds() - spent) / times)
    return result


def latencies(
    record: Record, what: str, task: Callable[[Any], Any], values: Sequence[Any], repeats: int
) -> list[Any]:
    """Add rows for the median and the 99th percentile of one call for each value.

    The first round is not counted; it takes values until some seconds have passed, and its answers
    are returned.  Each figure is the median of the other rounds.
    """
    answers, stop = [], time.perf_counter() + FIRST_SECONDS
    for value in values:
        answers.append(task(value))
        if time.perf_counter() > stop:
            break
    values = values[: len(answers)]
    ranks = {"p50": len(values) // 2, "p99": len(values) * 99 // 100}
    shown: dict[str, list[float]] = {name: [] for name in ranks}
    for _ in range(repeats):
        marks = [time.perf_counter_ns()]
        for value in values:
            task(value)
            marks.append(time.perf_counter_ns())
        taken = sorted(later - sooner for sooner, later in itertools.pairwise(marks))
        for name, rank in ranks.items():
            shown[name].append(taken[rank] / 1e3)
    for name, each in shown.items():
        note = f"{len(values)} calls, best {min(each):.2f}"
        record.add(f"{what}, {name}", statistics.median(each), "us", note=note)
    return answers


def amount(figure: float) -> str:
    """Format a figure with its significant digits."""
    digits = 0 if abs(figure) >= 1000 else 2 if abs(figure) >= 1 else 4
    return f"{figure:,.{digits}f}"


def short(count: int) -> str:
    """Format 10000000 as 10M."""
    for suffix, size in (("M", 1_000_000), ("k", 1_000)):
        if count >= size:
            return f"{count / size:g}{suffix}"
    return str(count)


def installed(name: str) -> Any:
    """Return a package; name a peer that is not installed, and return None."""
    try:
        return import_module(name)
    except ImportError:
        print(f"{name} is not installed: left out")
        return None


def processor_seconds() -> float:
    """Return the processor time of this process and of its children that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def processor() -> dict[str, str]:
    """Return what the system says of the first processor, by name."""
    facts: dict[str, str] = {}
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        key, _, value = line.partition(":")
        facts.setdefault(key.strip(), value.strip())
    return facts


def machine(load_before: tuple[float, ...]) -> dict[str, Any]:
    facts = processor()
    flags = facts.get("flags", "").split()
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "processor": facts.get("model name", platform.processor()), "cores": os.cpu_count(),
        "instruction_sets": [name for name in INSTRUCTION_SETS if name in flags],
        "memory_gib": round(pages / 2**30, 1),
        "system": f"{platform.system()} {platform.release()}",
        "load_before": load_before, "load_after": os.getloadavg(),
    }  # fmt: skip


def commit() -> str:
    """Return the commit of simdb that is checked out, with "+" if files differ from it."""
    here = Path(simdb.__file__).parent
    asked = ["git", "-C", str(here), "describe", "--always", "--abbrev=12", "--dirty=+"]
    try:
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def versions() -> dict[str, str]:
    known = {
        "python": platform.python_version(), "simdb": simdb.__version__,
        "kernel": kernel.CHOSEN or kernel.variants()[-1],
    }  # fmt: skip
    for package in PACKAGES:
        try:
            known[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return known


def table(path: Path) -> Iterator[str]:
    """Yield the lines of one record: question, machine, rows."""
    whole = json.loads(path.read_text())
    facts, known = whole["machine"], whole["versions"]
    yield f"### {path.stem}\n\n{whole['question'].splitlines()[0]}\n"
    yield (
        f"{facts['processor']}, {facts['cores']} cores, {facts['memory_gib']:g} GiB,"
        f" {', '.join(facts['instruction_sets'])}; {facts['system']};"
        f" load {facts['load_before'][0]:.1f} to {facts['load_after'][0]:.1f};"
        f" commit {whole['commit']}; {', '.join(f'{key} {known[key]}' for key in known)}; "
        + " ".join(f"{key}={value}" for key, value in whole["settings"].items() if value)
    )
    lines = []
    for row in whole["rows"]:
        seconds = [f"{row[f'{name}_seconds']:.4f}" if f"{name}_seconds" in row else ""
                   for name in ("median", "best")]  # fmt: skip
        share = row.get("processor_share", 1.0)
        notes = [row["note"], f"processor {share:.0%}" if share < DISTURBED else ""]
        told = "; ".join(filter(None, notes))
        lines.append([row["what"], amount(row["figure"]), row["unit"], *seconds, told])
    yield "\n" + markdown(["", "figure", "unit", "median s", "best s", ""], lines)


def markdown(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Write a table of Markdown, with figures on the right."""
    ruled = ["---", *("--:" for _ in head[1:])]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, ruled, *lines])


if __name__ == "__main__":
    for each in sys.argv[1:]:
        print("\n".join(table(Path(each))) + "\n")
