"""Costs of Spark: what one job takes of the processors, and what its tasks send to each other.

Processor time is read from /proc: that of Java, and that of the Python workers below it.  Bytes are
those of the event log, as written to shuffle files, after compression.
"""

import json
import os
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TICKS = os.sysconf("SC_CLK_TCK")
# The event log is written after a stage has ended.
SETTLED_SECONDS = 1.0
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

    @property
    def python_share(self) -> float:
        return self.python_seconds / max(self.core_seconds, 1e-9)


class Meter:
    """Measures the jobs of one session, which was made with `SETTINGS` and writes to `log`."""

    def __init__(self, session: Any, log: Path) -> None:
        """Find the Java process of the session and its event log."""
        self._session = session
        self._java = session.sparkContext._gateway.proc.pid
        self._log = log
        self._read = 0
        self._turn = 0

    def cost(self, job: Callable[[], object]) -> tuple[Any, Cost]:
        """Run a job; return its result and what it took."""
        self._turn += 1
        name = f"job {self._turn}"
        self._session.sparkContext.setJobDescription(name)
        java, python, started = *processor_seconds(self._java), time.perf_counter()
        result = job()
        seconds = time.perf_counter() - started
        java_after, python_after = processor_seconds(self._java)
        time.sleep(SETTLED_SECONDS)
        stages = self._stages(name)
        tasks = [task for each in stages for task in each]
        skew = max(
            ((max(each)[0], max(each)[0] / statistics.median(times for times, _, _ in each))
             for each in stages if len(each) > 1),
            default=(0.0, 1.0),
        )[1]  # fmt: skip
        return result, Cost(
            java_after - java, python_after - python, seconds,
            sum(sent for _, sent, _ in tasks), len(stages), len(tasks),
            sum(is_failed for _, _, is_failed in tasks), skew,
        )  # fmt: skip

    def _stages(self, name: str) -> list[list[tuple[float, int, bool]]]:
        """Return the tasks of each stage of a job: seconds, bytes sent, and whether it failed."""
        stages: dict[int, list[tuple[float, int, bool]]] = {}
        for event in self._events():
            kind = event["Event"]
            if kind == "SparkListenerStageSubmitted":
                if event["Properties"].get("spark.job.description") == name:
                    stages.setdefault(event["Stage Info"]["Stage ID"], [])
            elif kind == "SparkListenerTaskEnd" and event["Stage ID"] in stages:
                metrics = event.get("Task Metrics") or {}
                sent = metrics.get("Shuffle Write Metrics", {}).get("Shuffle Bytes Written", 0)
                is_failed = event["Task End Reason"]["Reason"] != "Success"
                run = max(metrics.get("Executor Run Time", 0) / 1e3, 1e-3)
                stages[event["Stage ID"]].append((run, 0 if is_failed else sent, is_failed))
        return list(stages.values())

    def _events(self) -> Iterator[dict[str, Any]]:
        files = [path for path in self._log.iterdir() if not path.name.startswith(".")]
        with max(files, key=lambda path: path.stat().st_mtime).open("rb") as file:
            file.seek(self._read)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                self._read += len(line)
                yield json.loads(line)


def processor_seconds(root: int) -> tuple[float, float]:
    """Return the processor time of Java and of Python among a process and those below it."""
    children: dict[int, list[int]] = {}
    times: dict[int, tuple[str, float]] = {}
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
        # Of Python, workers that have ended count with the daemon that started them.
        ended = 0.0 if name == "java" else sum(map(float, fields[13:15]))
        times[int(entry.name)] = name, (sum(map(float, fields[11:13])) + ended) / TICKS
    java = python = 0.0
    found = [root]
    while found:
        process = found.pop()
        found += children.get(process, [])
        name, seconds = times.get(process, ("", 0.0))
        if name == "java":
            java += seconds
        else:
            python += seconds
    return java, python
