"""Processes: what a whole command costs, and how much memory a process has meanwhile.

As a script it runs a command on the given cores (such as 0,1) and writes what it cost, or watches a
process:

    process.py run COST.json CORES OUTPUT COMMAND...
    process.py watch PID

`run` starts the first form in a process of its own, because the peak that Linux reports for a
process is at least the memory of the process that started it.  A `Watcher` starts the second one,
because a thread would wait for the interpreter lock.
"""

import json
import os
import select
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
    """What one process has cost; `code` is its exit code.

    `peak_bytes` counts pages of mapped files, `anonymous_bytes` does not.
    """

    seconds: float
    processor_seconds: float
    peak_bytes: int
    anonymous_bytes: int
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
        with errors.open("wb") as file:
            launched = [*SCRIPT, "run", str(told), numbers, str(output), *command]
            subprocess.run(launched, check=True, stderr=file)
        cost = Cost(**json.loads(told.read_text()))
        if cost.code not in expected:
            raise RuntimeError(f"{command} ended with {cost.code}: {errors.read_text()[-2000:]}")
    return cost


class Watcher:
    """A process that samples the anonymous memory of another."""

    def __init__(self, pid: int) -> None:
        self._child = subprocess.Popen(
            [*SCRIPT, "watch", str(pid)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def peak_bytes(self) -> int:
        """Return the largest memory since the last call."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.write("\n")
        self._child.stdin.flush()
        return int(self._child.stdout.readline())

    def close(self) -> None:
        self._child.communicate()


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


def watch(pid: int) -> None:
    """Print the largest memory of a process since the last line of standard input."""
    peak = 0
    while True:
        now = anonymous_bytes(pid)
        peak = max(peak, now)
        if select.select([sys.stdin], [], [], LOOK_SECONDS)[0]:
            if not sys.stdin.readline():
                return
            print(peak, flush=True)
            peak = now


def launch(told: str, numbers: str, output: str, *command: str) -> None:
    every = os.sched_getaffinity(0)
    os.sched_setaffinity(0, set(map(int, numbers.split(","))))
    started = time.perf_counter()
    with open(output, "wb") as file:
        actions = [(os.POSIX_SPAWN_DUP2, file.fileno(), 1)]
        child = os.posix_spawnp(command[0], command, os.environ, file_actions=actions)
    os.sched_setaffinity(0, every)
    with subprocess.Popen(
        [*SCRIPT, "watch", str(child)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as watcher:
        _, status, usage = os.wait4(child, 0)
        seconds = time.perf_counter() - started
        peak = int(watcher.communicate("\n")[0])
    cost = Cost(
        seconds=seconds,
        processor_seconds=usage.ru_utime + usage.ru_stime,
        peak_bytes=usage.ru_maxrss * 1024,
        anonymous_bytes=peak,
        code=os.waitstatus_to_exitcode(status),
    )
    Path(told).write_text(json.dumps(vars(cost)))


if __name__ == "__main__":
    if sys.argv[1] == "watch":
        watch(int(sys.argv[2]))
    else:
        launch(*sys.argv[2:])
