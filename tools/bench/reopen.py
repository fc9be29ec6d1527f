"""How long after a process has started does a stored database give its first answer?"""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

from exact_search import build
from record import Record, Timing, number, options, short
from workload import Planted, ids, planted, scratch

# Run by a fresh Python; the import is timed apart, since a program pays for it once.
CHILD = """
import json, sys, time
started = time.perf_counter()
import simdb
path, bits, id = sys.argv[1], int(sys.argv[2]), sys.argv[3]
imported = time.perf_counter()
database = simdb.open(path, "r")
opened = time.perf_counter()
found = database.query(bits, distance=3)
first = time.perf_counter()
database.query(bits, distance=3)
second = time.perf_counter()
stored = id in database
known = time.perf_counter()
marks = [started, imported, opened, first, second, known]
print(json.dumps([marks, [match.id for match in found], stored]))
"""
STAGES = ("import simdb", "open", "first query", "second query", "first look-up of an id")


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("-n", type=number, nargs="+", default=[1_000_000], help="stored documents")
    parser.add_argument("--tables", type=int, default=4, choices=(4, 10))
    parser.set_defaults(repeats=9)
    arguments = parser.parse_args()
    record = Record(__doc__, arguments)
    for count in arguments.n:
        truth = planted(count, 1000, arguments.seed)
        with scratch(arguments.directory) as directory:
            path = directory / "stored"
            build(path, truth, arguments.tables, "str").close()
            reopen(record, path, truth, arguments.repeats)
    record.finish()


def reopen(record: Record, path: Path, truth: Planted, repeats: int) -> None:
    """Run fresh processes in a row; each has a query of its own."""
    label = short(len(truth.stored))
    timings = {name: Timing() for name in (*STAGES, "open and first query")}
    for turn in range(repeats + 1):
        wanted = ids("str", int(truth.neighbour[turn]), int(truth.neighbour[turn]) + 1)[0]
        bits = int(truth.queries[truth.asked[turn]])
        command = [sys.executable, "-c", CHILD, str(path), str(bits), str(wanted)]
        answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        marks, found, is_stored = json.loads(answer)
        if wanted not in found or not is_stored:
            raise ValueError(f"the planted neighbour {wanted} was not found after re-opening")
        # The first process brings the file into the page cache and is not counted.
        if turn:
            for name, seconds in zip(STAGES, np.diff(marks), strict=True):
                timings[name].wall.append(float(seconds))
            timings["open and first query"].wall.append(marks[3] - marks[1])
    for name, timing in timings.items():
        note = f"best {timing.best * 1e3:.2f}, {repeats} processes"
        record.add(f"{label}: {name}", timing.median * 1e3, "ms", note=note)


if __name__ == "__main__":
    main()
