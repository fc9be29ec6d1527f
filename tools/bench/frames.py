"""What does `simdb.deduplicate` of a DataFrame cost, beside `drop_duplicates` of pandas?

Every task is a process of its own, which reads JSON lines into a DataFrame and then removes
duplicates: pandas those that are equal, simdb those that are nearly equal, too.  The tasks take
turns.  Reading is not counted.  The memory is what comes to that of the DataFrame: of the process,
and files of the temporary database, which are in memory, too.
"""

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

from passages import read_pools
from record import Record, Timing, number, options
from texts import Texts, lines_of
from workload import scratch

SCRIPT = Path(__file__).parent / "pipelines" / "of_frame.py"
JOBS = ("drop_duplicates", "deduplicate")
KINDS = ("object", "str")


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("-n", type=number, nargs="+", default=[100_000, 300_000, 1_000_000])
    parser.add_argument("--file", type=Path, help="texts that texts.py has written")
    parser.add_argument("--corpora", type=Path, help="folder of corpora, NAME.jsonl.gz")
    parser.set_defaults(repeats=3, core=-1)
    arguments = parser.parse_args()
    record = Record(__doc__, arguments)
    with scratch(arguments.directory) as folder:
        for count in arguments.n:
            path = folder / f"{count}.jsonl"
            write(path, count, arguments)
            measure(record, path, count, arguments.repeats)
    record.finish()


def write(path: Path, count: int, arguments: argparse.Namespace) -> None:
    """Write so many lines: the first of the given file, or of texts that are made now."""
    with path.open("wb") as target:
        if arguments.file is None:
            texts = Texts(read_pools(arguments.corpora), arguments.seed)
            target.writelines(map(str.encode, lines_of(texts, 0, count)))
            return
        with arguments.file.open("rb") as source:
            target.writelines(line for line, _ in zip(source, range(count), strict=False))


def measure(record: Record, path: Path, count: int, repeats: int) -> None:
    """Run all tasks in turns, and record what each has cost."""
    tasks = [(job, kind) for kind in KINDS for job in JOBS]
    costs: dict[tuple[str, str], list[dict[str, float]]] = {task: [] for task in tasks}
    for _ in range(repeats):
        for task in tasks:
            command = [sys.executable, str(SCRIPT), str(path), *task]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            costs[task].append(json.loads(done.stdout))
    for (job, kind), each in costs.items():
        timing = Timing(
            [cost["seconds"] for cost in each], [cost["processor_seconds"] for cost in each]
        )
        peak = statistics.median(cost["peak_bytes"] for cost in each)
        spent = statistics.median(timing.processor)
        note = f"{spent:.1f} s of processors; {peak / 1e6:.0f} MB beside the frame"
        note += f" ({each[0]['frame_bytes'] / 1e6:.0f} MB); {each[0]['kept']:,} rows kept"
        record.add(f"{job}, {kind}, {count:,}", timing.median, "s", timing, note, {"peak": peak})


if __name__ == "__main__":
    main()
