"""How much processor time does `import simdb` take beside `import numpy`?"""

import os
import resource
import subprocess
import sys

from record import Record, Timing, options

START, NUMPY, SIMDB = "pass", "import numpy", "import simdb"
# The packages that simdb imports, without simdb itself.
FOREIGN = "import numpy, lmdb, msgpack, mmh3, xxhash"
PROGRAMS = (START, NUMPY, FOREIGN, SIMDB)


def main() -> None:
    parser = options(__doc__)
    parser.set_defaults(repeats=21)
    arguments = parser.parse_args()
    record = Record(__doc__, arguments)
    timings = {program: Timing() for program in PROGRAMS}
    for turn in range(arguments.repeats + 1):
        for program in PROGRAMS:
            seconds = processor_seconds(program)
            # The first round compiles modules and brings files into the page cache.
            if turn:
                timings[program].wall.append(seconds)
    for program, timing in timings.items():
        note = f"best {timing.best * 1e3:.1f}, {arguments.repeats} processes in turns"
        record.add(f"processor time of {program!r}", timing.median * 1e3, "ms", note=note)
    start, numpy, whole = (timings[program].best for program in (START, NUMPY, SIMDB))
    note = "the best turn of each program is compared"
    record.add("own part of import simdb", (whole - numpy) * 1e3, "ms", note=note)
    ratio = (whole - numpy) / (numpy - start)
    record.add("own part of import simdb, beside import numpy", ratio, "times", note=note)
    record.finish()


def processor_seconds(program: str) -> float:
    """Run a program in a new process; return its processor time, user and system."""
    # This variable forbids compiled files, so that the compiler would be measured, too.
    environment = {
        key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"
    }
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
