"""What does it cost to drop repeated parts of texts, beside a loop with a set of Python?

Every task is a process of its own, which reads JSON lines and writes what is left of them; the
tasks take turns.  The memory is what comes to that of the program.  Then the keys alone: what each
distinct one takes, at the peak.
"""

import json
import statistics
import subprocess
import sys
from pathlib import Path

from passages import read_pools
from record import Record, Timing, number, options, short
from texts import Texts, lines_of
from workload import scratch

SCRIPT = Path(__file__).parent / "pipelines" / "of_parts.py"
JOBS = ("simdb", "set")


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("-n", type=number, default=100_000, help="texts of 1 KB")
    parser.add_argument("--keys", type=number, default=5_000_000)
    parser.add_argument("--units", nargs="+", default=["line", "sentence"])
    parser.add_argument("--corpora", type=Path, help="folder of corpora, NAME.jsonl.gz")
    parser.set_defaults(repeats=3, core=-1)
    arguments = parser.parse_args()
    record = Record(__doc__, arguments)
    with scratch(arguments.directory) as folder:
        path = folder / "texts.jsonl"
        with path.open("wb") as target:
            texts = Texts(read_pools(arguments.corpora), arguments.seed)
            target.writelines(map(str.encode, lines_of(texts, 0, arguments.n)))
        size = path.stat().st_size
        for unit in arguments.units:
            tasks = {job: [job, unit, str(path), str(folder / "kept.jsonl")] for job in JOBS}
            measure(record, tasks, f"{unit}, {size / 1e6:.0f} MB", arguments.repeats)
    tasks = {job: ["keys", job, str(arguments.keys)] for job in JOBS}
    measure(record, tasks, f"{short(arguments.keys)} keys", arguments.repeats)
    record.finish()


def measure(record: Record, tasks: dict[str, list[str]], what: str, repeats: int) -> None:
    """Run all tasks in turns, and record what each has cost."""
    costs: dict[str, list[dict[str, float]]] = {job: [] for job in tasks}
    for _ in range(repeats):
        for job, task in tasks.items():
            command = [sys.executable, str(SCRIPT), *task]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            costs[job].append(json.loads(done.stdout.splitlines()[-1]))
    for job, each in costs.items():
        timing = Timing(
            [cost["seconds"] for cost in each], [cost["processor_seconds"] for cost in each]
        )
        figures = {
            name: statistics.median(cost[name] for cost in each)
            for name in ("peak_bytes", "key_bytes")
            if name in each[0]
        }
        memory = ", ".join(
            f"{figure:.1f} bytes a key" if name == "key_bytes" else f"{figure / 1e6:.0f} MB"
            for name, figure in figures.items()
        )
        note = f"{statistics.median(timing.processor):.1f} s of processors; {memory}"
        record.add(f"{job}: {what}", timing.median, "s", timing, note, figures)


if __name__ == "__main__":
    main()
