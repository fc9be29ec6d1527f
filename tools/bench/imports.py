"""How much processor time do `import simdb` and the command line take beside `import numpy`?"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import simdb
from record import Record, Timing, options

START, NUMPY, SIMDB = "pass", "import numpy", "import simdb"
# The packages that simdb imports, without simdb itself.
FOREIGN = "import numpy, lmdb, msgpack, xxhash"
# `import simdb` loads little; this opens no database, but loads what opening one needs.
OPEN = "import simdb; simdb.open"
PROGRAMS = (START, NUMPY, FOREIGN, SIMDB, OPEN)
TEXT = "the quick brown fox jumps over the lazy dog and runs home to sleep"
DOCUMENTS = 1000


def main() -> None:
    parser = options(__doc__)
    parser.set_defaults(repeats=21)
    parser.add_argument("--db", help="query this database of texts; otherwise a new one is made")
    arguments = parser.parse_args()
    record = Record(__doc__, arguments)
    with tempfile.TemporaryDirectory() as folder:
        path = arguments.db or new_database(folder)
        commands = {program: ["-c", program] for program in PROGRAMS}
        commands["simdb --help"] = ["-m", "simdb", "--help"]
        commands["simdb query DB TEXT"] = ["-m", "simdb", "query", path, TEXT]
        measure(record, commands, arguments.repeats)
    record.finish()


def new_database(folder: str) -> str:
    path = str(Path(folder) / "db")
    with simdb.open(path, durability="none") as database:
        database.insert_many(range(DOCUMENTS), [f"{TEXT} {at}" for at in range(DOCUMENTS)])
    return path


def measure(record: Record, commands: dict[str, list[str]], repeats: int) -> None:
    """Run all commands in turns; record the times of whole processes."""
    busy = {name: Timing() for name in commands}
    clock = {name: Timing() for name in commands}
    for turn in range(repeats + 1):
        for name, command in commands.items():
            seconds, elapsed = process_seconds(command)
            # The first round compiles modules and brings files into the page cache.
            if turn:
                busy[name].wall.append(seconds)
                clock[name].wall.append(elapsed)
    for name, timing in busy.items():
        note = f"best {timing.best * 1e3:.1f}, {repeats} processes in turns"
        record.add(f"processor time of {name!r}", timing.median * 1e3, "ms", note=note)
    start, numpy, loaded = (busy[program].best for program in (START, NUMPY, OPEN))
    note = "the best turn of each program is compared"
    record.add("own part of opening", (loaded - numpy) * 1e3, "ms", note=note)
    ratio = (loaded - numpy) / (numpy - start)
    record.add("own part of opening, beside import numpy", ratio, "times", note=note)
    for name in ("simdb --help", "simdb query DB TEXT"):
        for kind, timings in (("processor", busy), ("clock", clock)):
            ratio = timings[name].median / timings[NUMPY].median
            record.add(f"{kind} time of {name!r}, beside import numpy", ratio, "times")


def process_seconds(command: list[str]) -> tuple[float, float]:
    """Run Python with arguments in a new process; return its processor time and clock time."""
    # This variable forbids compiled files, so that the compiler would be measured, too.
    environment = {
        key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"
    }
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        [sys.executable, *command], check=True, env=environment, stdout=subprocess.DEVNULL
    )
    after, elapsed = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - begun
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, elapsed


if __name__ == "__main__":
    main()
