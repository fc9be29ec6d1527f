"""The record of one benchmark: options, timing, a table for people, JSON with the machine.

Every program here asks one question.  The tasks that it compares run in one process on one core, in
turns, so that a disturbance affects all of them alike.  The record has the median of the turns and
the best turn.  As a script it prints records as tables of Markdown:

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
from importlib import metadata
from pathlib import Path
from typing import Any

import simdb
from simdb.core import kernel

INSTRUCTION_SETS = ("avx2", "bmi2", "avx512f", "avx512_vbmi2", "avx512_vpopcntdq", "avx512_vnni")
PACKAGES = (
    "lmdb", "numpy", "faiss-cpu", "gaoya", "simhash-pybind", "duckdb", "rensa", "datasketch",
)  # fmt: skip
TURN_SECONDS = 0.05  # shorter tasks cannot be told from disturbances
FIRST_SECONDS = 3.0  # of the round of single calls that is not counted
DISTURBED = 0.9  # share of a processor below which time by the clock says little
MULTIPLES = {"k": 1_000, "M": 1_000_000}


@dataclass
class Timing:
    """Seconds of each turn, by the clock and of processor time."""

    wall: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        return statistics.median(self.wall)

    @property
    def best(self) -> float:
        return min(self.wall)

    def over(self, count: float) -> "Timing":
        """Return the time of one of `count` things that each turn did."""
        return Timing(*([each / count for each in times] for times in (self.wall, self.processor)))

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
        self._question = question
        self._arguments = arguments
        self._rows: list[dict[str, Any]] = []
        self._load_before = os.getloadavg()
        if arguments.core >= 0:
            os.sched_setaffinity(0, {arguments.core})

    def add(
        self,
        what: str,
        figure: float,
        unit: str,
        timing: Timing | None = None,
        note: str = "",
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        """Add one row and print it at once, so that a long run can be followed.

        `facts` are stored in the JSON file only.
        """
        row: dict[str, Any] = {"what": what, "figure": figure, "unit": unit, "note": note}
        row |= facts or {}
        if timing is not None:
            row["median_seconds"] = timing.median
            row["best_seconds"] = timing.best
            row["wall_seconds"] = timing.wall
            row["processor_seconds"] = timing.processor
            row["processor_share"] = timing.share
        self._rows.append(row)
        print(_line(row), flush=True)

    @property
    def arguments(self) -> argparse.Namespace:
        return self._arguments

    @property
    def rows(self) -> list[dict[str, Any]]:
        """All rows that were added."""
        return self._rows

    def add_rate(
        self,
        what: str,
        count: float,
        unit: str,
        timing: Timing,
        note: str = "",
        facts: Mapping[str, Any] | None = None,
    ) -> float:
        """Add a row for `count` things done in each turn; return the median rate."""
        if timing.share < DISTURBED and statistics.median(timing.processor):
            rate = count / statistics.median(timing.processor)
            note = f"{note} {amount(rate)} {unit} by processor time".strip()
        self.add(what, count / timing.median, unit, timing, note, facts)
        return count / timing.median

    def finish(self) -> None:
        """Write everything to NAME.json in the directory that `--out` names."""
        name = Path(sys.argv[0]).stem
        target = Path(self._arguments.out) / f"{name}.json"
        target.parent.mkdir(parents=True, exist_ok=True)
        settings = {key: value for key, value in vars(self._arguments).items() if key != "out"}
        whole = {
            "question": self._question,
            "settings": settings,
            "machine": _machine(self._load_before, os.getloadavg()),
            "commit": commit(),
            "versions": _versions(),
            "rows": self._rows,
        }
        target.write_text(json.dumps(whole, indent=1, default=str) + "\n")
        print(f"written to {target}")


def options(question: str) -> argparse.ArgumentParser:
    """Make a parser with the options that every benchmark has."""
    parser = argparse.ArgumentParser(
        description=question, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of all random numbers")
    parser.add_argument("--repeats", type=int, default=5, help="turns; the median is reported")
    parser.add_argument("--core", type=int, default=0, help="processor core to use; -1: any")
    parser.add_argument("--out", default="build/bench", help="directory of the JSON file")
    parser.add_argument("--directory", help="directory for databases; default: temporary")
    parser.add_argument("--durability", choices=("full", "process", "none"), default="process")
    return parser


@contextmanager
def scratch(directory: str | None) -> Iterator[Path]:
    """Make a directory for databases, and remove it at the end."""
    with tempfile.TemporaryDirectory(prefix="simdb-bench-", dir=directory) as made:
        yield Path(made)


def number(text: str) -> int:
    """Parse a whole number such as 200000, 200k or 10M."""
    if text[-1:] in MULTIPLES:
        return int(float(text[:-1]) * MULTIPLES[text[-1]])
    return int(text)


def in_turns(tasks: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, Timing]:
    """Run every task once unmeasured, then `repeats` rounds of all tasks in turn.

    A short task runs several times in its turn, and the mean time is noted.
    """
    timings = {name: Timing() for name in tasks}
    times = {}
    for name, task in tasks.items():
        started = time.perf_counter()
        task()
        times[name] = 1 + int(TURN_SECONDS / (time.perf_counter() - started + 1e-9))
    for _ in range(repeats):
        for name, task in tasks.items():
            gc.collect()
            measure(task, timings[name], times[name])
    return timings


def measure(task: Callable[[], object], timing: Timing, times: int = 1) -> Any:
    """Run `task` and note how long it took; return its result."""
    processor, wall = _processor_seconds(), time.perf_counter()
    for _ in range(times):
        result = task()
    timing.wall.append((time.perf_counter() - wall) / times)
    timing.processor.append((_processor_seconds() - processor) / times)
    return result


def latencies(
    record: Record,
    what: str,
    task: Callable[[Any], object],
    values: Sequence[Any],
    repeats: int,
    *,
    facts: Mapping[str, Any] | None = None,
) -> list[Any]:
    """Add rows for the median and the 99th percentile of one call for each value.

    The first round is not counted; it takes as many values as fit into some seconds, and its
    answers are returned.  Each figure is the median of the other rounds.
    """
    answers, stop = [], time.perf_counter() + FIRST_SECONDS
    for value in values:
        answers.append(task(value))
        if time.perf_counter() > stop:
            break
    values = values[: len(answers)]
    ranks = {"p50": len(values) // 2, "p99": len(values) * 99 // 100}
    shown: dict[str, list[float]] = {name: [] for name in ranks}
    processor = time.process_time()
    for _ in range(repeats):
        marks = [time.perf_counter_ns()]
        for value in values:
            task(value)
            marks.append(time.perf_counter_ns())
        taken = sorted(later - sooner for sooner, later in itertools.pairwise(marks))
        for name, rank in ranks.items():
            shown[name].append(taken[rank] / 1e3)
    spent = (time.process_time() - processor) / repeats / len(values)
    for name, each in shown.items():
        figure, note = statistics.median(each), f"{len(values)} calls, best {min(each):.2f}"
        known = {"each_seconds": figure / 1e6, "each_processor": spent} | dict(facts or {})
        record.add(
            f"{what}, {name}", figure, "us", note=note, facts=known if name == "p50" else None
        )
    return answers


def amount(figure: float) -> str:
    """Format a figure with as many digits as are worth reading."""
    digits = 0 if abs(figure) >= 1000 else 2 if abs(figure) >= 1 else 4
    return f"{figure:,.{digits}f}"


def short(count: int) -> str:
    """Format 10000000 as 10M."""
    for suffix, size in (("M", 1_000_000), ("k", 1_000)):
        if count >= size:
            return f"{count / size:g}{suffix}"
    return str(count)


def missing(peer: str) -> None:
    """Say that a peer is not installed and left out."""
    print(f"{peer} is not installed: left out")


def _processor_seconds() -> float:
    """Return the processor time of this process and of its children that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def _line(row: dict[str, Any]) -> str:
    text = f"{row['what']:<58} {amount(row['figure']):>14} {row['unit']:<12}"
    if "best_seconds" in row:
        text += f" median {row['median_seconds']:.4f} s, best {row['best_seconds']:.4f} s"
        text += f", processor {row['processor_share']:.0%}"
    return f"{text}  {row['note']}".rstrip()


def processor() -> dict[str, str]:
    """Return what the system says of the first processor, by name."""
    facts = {}
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        key, _, value = line.partition(":")
        facts.setdefault(key.strip(), value.strip())
    return facts


def _machine(load_before: tuple[float, ...], load_after: tuple[float, ...]) -> dict[str, Any]:
    facts = processor()
    flags = facts.get("flags", "").split()
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "processor": facts.get("model name", platform.processor()),
        "cores": os.cpu_count(),
        "cache": facts.get("cache size", ""),
        "instruction_sets": [name for name in INSTRUCTION_SETS if name in flags],
        "memory_gib": round(pages / 2**30, 1),
        "system": f"{platform.system()} {platform.release()}",
        "load_before": load_before,
        "load_after": load_after,
    }


def commit() -> str:
    """Return the commit of simdb that is checked out, with "+" if files differ from it."""
    here = Path(simdb.__file__).parent
    asked = ["git", "-C", str(here), "describe", "--always", "--abbrev=12", "--dirty=+"]
    try:
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _versions() -> dict[str, str]:
    versions = {
        "python": platform.python_version(),
        "simdb": simdb.__version__,
        "kernel": kernel.CHOSEN or kernel.variants()[-1],
    }
    for package in PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return versions


def table(path: Path) -> Iterator[str]:
    """Yield the lines of one record: question, machine, rows."""
    whole = json.loads(path.read_text())
    machine, versions = whole["machine"], whole["versions"]
    yield f"### {path.stem}\n\n{whole['question'].splitlines()[0]}\n"
    yield (
        f"{machine['processor']}, {machine['cores']} cores, {machine['memory_gib']:g} GiB,"
        f" {', '.join(machine['instruction_sets'])}; {machine['system']};"
        f" load {machine['load_before'][0]:.1f} to {machine['load_after'][0]:.1f};"
        f" commit {whole['commit']}; {', '.join(f'{key} {versions[key]}' for key in versions)}; "
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
