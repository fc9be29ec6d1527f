"""Costs of Spark: what one job takes of the processors, and what its tasks send to each other.

Processor time is read from /proc: that of Java, and that of the Python workers below it.  Bytes are
those of the event log, as written to shuffle files, after compression.
"""

import json
import os
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TICKS = os.sysconf("SC_CLK_TCK")
# The event log is written after a stage has ended.
SETTLED_SECONDS = 1.0
LOOK_SECONDS = 0.2
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.rolling.enabled": "false",
    "spark.eventLog.compress": "false",
    "spark.network.timeout": "600s",
    "spark.rpc.askTimeout": "600s",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "3g",
}


@dataclass(frozen=True)
class Cost:
    """What one job took: seconds of processors and of the clock, bytes, and stages.

    `skew`: the longest task by the median one, of the stage with the longest task.
    `failed`: tasks that ended otherwise than well, and were run again.
    """

    java_seconds: float
    python_seconds: float
    seconds: float
    shuffle_bytes: int
    stages: int
    tasks: int
    failed: int
    skew: float

    @property
    def core_seconds(self) -> float:
        return self.java_seconds + self.python_seconds


class Meter:
    """Measures the jobs of one session, which was made with `SETTINGS` and writes to `log`."""

    def __init__(self, session: Any, log: Path) -> None:
        """Find the Java process of the session and its event log."""
        self._clock = Clock(session.sparkContext._gateway.proc.pid)
        self._log = log
        self._read = 0

    def cost(self, job: Callable[[], object]) -> Cost:
        """Run a job, the only one meanwhile; return what it took."""
        java, python, started = *self._clock.seconds(), time.perf_counter()
        job()
        seconds = time.perf_counter() - started
        java_after, python_after = self._clock.seconds()
        time.sleep(SETTLED_SECONDS)
        stages: dict[int, list[tuple[float, int, bool]]] = {}  # tasks: seconds, bytes, failed
        for event in self._events():
            if event["Event"] == "SparkListenerTaskEnd":
                metrics = event.get("Task Metrics") or {}
                sent = metrics.get("Shuffle Write Metrics", {}).get("Shuffle Bytes Written", 0)
                is_failed = event["Task End Reason"]["Reason"] != "Success"
                run = max(metrics.get("Executor Run Time", 0) / 1e3, 1e-3)
                stages.setdefault(event["Stage ID"], []).append(
                    (run, 0 if is_failed else sent, is_failed)
                )
        tasks = [task for each in stages.values() for task in each]
        longest = max(stages.values(), key=max, default=[(1.0, 0, False)])
        return Cost(
            java_after - java, python_after - python, seconds,
            sum(sent for _, sent, _ in tasks), len(stages), len(tasks),
            sum(is_failed for _, _, is_failed in tasks),
            max(longest)[0] / statistics.median(run for run, _, _ in longest),
        )  # fmt: skip

    def _events(self) -> Iterator[dict[str, Any]]:
        files = [path for path in self._log.iterdir() if not path.name.startswith(".")]
        with max(files, key=lambda path: path.stat().st_mtime).open("rb") as file:
            file.seek(self._read)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                self._read += len(line)
                yield json.loads(line)


class Clock:
    """The processor time of a process and of all below it, also of those that have ended.

    The daemon of PySpark does not count workers that have ended, so a thread looks at all processes
    again and again; of a worker that ends, at most what it did since the last look is missing.
    """

    def __init__(self, root: int) -> None:
        """Start the thread."""
        self._root = root
        self._seen: dict[tuple[int, str], tuple[bool, float]] = {}
        self._lock = threading.Lock()
        threading.Thread(target=self._look_again, daemon=True).start()

    def seconds(self) -> tuple[float, float]:
        """Return the time of Java and of Python, until now."""
        with self._lock:
            self._seen.update(_processes(self._root))
            java = sum(seconds for is_java, seconds in self._seen.values() if is_java)
            return java, sum(seconds for is_java, seconds in self._seen.values() if not is_java)

    def _look_again(self) -> None:
        while True:
            self.seconds()
            time.sleep(LOOK_SECONDS)


def _processes(root: int) -> dict[tuple[int, str], tuple[bool, float]]:
    """Return whether a process and those below it are Java, and their processor time.

    They are named by their number and their start.
    """
    children: dict[int, list[int]] = {}
    times: dict[int, tuple[str, bool, float]] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            text = (entry / "stat").read_text()
        except OSError:
            continue
        name, rest = text[text.index("(") + 1 :].rsplit(")", 1)
        fields = rest.split()
        children.setdefault(int(fields[1]), []).append(int(entry.name))
        seconds = sum(map(float, fields[11:13])) / TICKS
        times[int(entry.name)] = fields[19], name == "java", seconds
    found = [root]
    for process in found:
        found += children.get(process, [])
    known = [process for process in found if process in times]
    return {(each, times[each][0]): times[each][1:] for each in known}
