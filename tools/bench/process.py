"""Processes: measures the cost of a whole command and the memory of a process.

As a script, it runs a command on the given cores (such as 0,1) and writes its cost:

    process.py COST.json CORES OUTPUT COMMAND...

`run` starts this in its own process, because the peak that Linux reports for a process is at least
the memory of the process that started it.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

LOOK_SECONDS = 0.005
SCRIPT = [sys.executable, "-I", "-S", __file__]


@dataclass(frozen=True)
class Cost:
    """The cost of one process; `code` is its exit code.

    `peak_bytes` counts pages of mapped files, `anonymous_bytes` does not.
    """

    seconds: float
    processor_seconds: float
    peak_bytes: int
    anonymous_bytes: int
    code: int


def run(command: list[str], cores: set[int], output: Path) -> Cost:
    """Run a command to its end, with its standard output in a file; RuntimeError if it fails."""
    numbers = ",".join(map(str, sorted(cores)))
    with tempfile.TemporaryDirectory(prefix="simdb-bench-") as folder:
        told, errors = Path(folder, "cost"), Path(folder, "errors")
        with errors.open("wb") as file:
            launched = [*SCRIPT, str(told), numbers, str(output), *command]
            subprocess.run(launched, check=True, stderr=file)
        cost = Cost(**json.loads(told.read_text()))
        if cost.code:
            raise RuntimeError(f"{command} ended with {cost.code}: {errors.read_text()[-2000:]}")
    return cost


def written_bytes(pid: int) -> int:
    """Return the bytes that a process has written to files."""
    lines = Path(f"/proc/{pid}/io").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("wchar")))


def anonymous_bytes(pid: int) -> int:
    """Return the memory of a process that no file backs; 0 after its end."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return int(status.partition("RssAnon:")[2].split()[0]) * 1024 if "RssAnon:" in status else 0


def launch(told: str, numbers: str, output: str, *command: str) -> None:
    every = os.sched_getaffinity(0)
    os.sched_setaffinity(0, set(map(int, numbers.split(","))))
    started, anonymous, ended = time.perf_counter(), 0, 0
    with open(output, "wb") as file:
        actions = [(os.POSIX_SPAWN_DUP2, file.fileno(), 1)]
        child = os.posix_spawnp(command[0], command, os.environ, file_actions=actions)
    os.sched_setaffinity(0, every)
    while not ended:
        anonymous = max(anonymous, anonymous_bytes(child))
        time.sleep(LOOK_SECONDS)
        ended, status, usage = os.wait4(child, os.WNOHANG)
    cost = Cost(
        time.perf_counter() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024,
        anonymous, os.waitstatus_to_exitcode(status),
    )  # fmt: skip
    Path(told).write_text(json.dumps(vars(cost)))


if __name__ == "__main__":
    launch(*sys.argv[1:])
