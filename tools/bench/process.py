"""Processes: what a whole command costs, by the clock, of the processors and in memory.

As a script: `process.py COST.json CORES OUTPUT COMMAND...` runs a command on the given cores (such
as 0 or 0,1) and writes what it cost.  `run` calls it in a process of its own, because the peak that
Linux reports for a process is at least the memory of the process that started it.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Cost:
    """What one process has cost; `code` is its exit code.

    `peak_bytes` counts pages of mapped files, too.
    """

    seconds: float
    processor_seconds: float
    peak_bytes: int
    code: int


def run(
    command: list[str], cores: set[int], output: Path, expected: tuple[int, ...] = (0,)
) -> Cost:
    """Run a command to its end, with its standard output in a file.

    Raises RuntimeError if its exit code is not `expected`.
    """
    numbers = ",".join(map(str, sorted(cores)))
    with tempfile.TemporaryDirectory(prefix="simdb-bench-") as folder:
        told, errors = Path(folder, "cost"), Path(folder, "errors")
        launcher = [sys.executable, "-I", "-S", __file__, str(told), numbers, str(output)]
        with errors.open("wb") as file:
            subprocess.run([*launcher, *command], check=True, stderr=file)
        cost = Cost(**json.loads(told.read_text()))
        if cost.code not in expected:
            raise RuntimeError(f"{command} ended with {cost.code}: {errors.read_text()[-2000:]}")
    return cost


def main() -> None:
    told, numbers, output, *command = sys.argv[1:]
    os.sched_setaffinity(0, set(map(int, numbers.split(","))))
    started = time.perf_counter()
    with open(output, "wb") as file:
        actions = [(os.POSIX_SPAWN_DUP2, file.fileno(), 1)]
        child = os.posix_spawnp(command[0], command, os.environ, file_actions=actions)
        _, status, usage = os.wait4(child, 0)
    cost = Cost(
        seconds=time.perf_counter() - started,
        processor_seconds=usage.ru_utime + usage.ru_stime,
        peak_bytes=usage.ru_maxrss * 1024,
        code=os.waitstatus_to_exitcode(status),
    )
    Path(told).write_text(json.dumps(vars(cost)))


if __name__ == "__main__":
    main()
