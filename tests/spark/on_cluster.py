"""Jobs on a cluster of Spark, of which tasks kill processes: a script of `test_clusters.py`.

`on_cluster.py MASTER FOLDER JOB...` reads FOLDER/texts.parquet and writes FOLDER/found.json.  A JOB
is TASK-PROCESS.  TASK is one of TASKS; the first such task to get there kills its "worker" of
Python, its "executor", or the "machine": the executor and the process that would start another
one.  The rows come from a shuffle, so that a task that is repeated gets them in another order.
"""

import json
import os
import signal
import sys
import time
from importlib import import_module
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from simdb import spark as ss

# The function of each task in simdb.spark.pairing, and the job in which it is.
TASKS = {
    "map": ("_pack_parts", "pairs"),
    "reduce": ("_find_pairs", "pairs"),
    "components": ("_star", "clusters"),
}
STEPS_UP = {"worker": 0, "executor": 2, "machine": 3}
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    # Where musl is installed beside glibc, the Snappy that Spark comes with cannot be loaded.
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.network.timeout": "600s",
    "spark.rpc.askTimeout": "600s",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.executor.memory": "768m",
    "spark.driver.memory": "768m",
    "spark.cores.max": "2",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.rolling.enabled": "false",
    "spark.eventLog.compress": "false",
}


def killing(task, process, marker):
    """Return a function for the place of a task, which once kills a process and then works."""
    name, _ = TASKS[task]
    steps = STEPS_UP[process]

    def parent_of(pid):
        return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])

    def kill():
        try:
            os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return
        pids = [os.getpid()]
        while len(pids) <= steps:
            pids.append(parent_of(pids[-1]))
        # Not the daemon of Python, which is between; the highest first, as it starts the others.
        for pid in [pids[-1]] if steps < 3 else [pids[3], pids[2]]:
            os.kill(pid, signal.SIGKILL)
        time.sleep(60)

    def work(*arguments):
        found = list(getattr(import_module("simdb.spark.pairing"), name)(*arguments))
        # An empty task has nothing to lose.
        if any(len(batch) for batch in found):
            kill()
        yield from found

    return work


class Jobs:
    """The jobs of one session."""

    def __init__(self, session, folder):
        self.session = session
        self.folder = folder
        self.texts = session.read.parquet(str(folder / "texts.parquet")).repartition(4)

    def pairs(self):
        sketches = ss.fingerprints(self.texts)
        return rows_of(ss.pairs(sketches, distance=3, partitions=3, block_limit=200))

    def clusters(self):
        in_rounds = {"driver_links": 1, "checkpoint": str(self.folder / "rounds")}
        sketches = ss.fingerprints(self.texts)
        return rows_of(ss.clusters(sketches, distance=6, partitions=3, **in_rounds))

    def killed(self, task, process):
        name, job = TASKS[task]
        module = import_module("simdb.spark.pairing")
        original = getattr(module, name)
        marker = self.folder / f"{task}-{process}"
        setattr(module, name, killing(task, process, str(marker)))
        try:
            found = getattr(self, job)()
        finally:
            setattr(module, name, original)
        assert marker.exists()
        return found


def rows_of(frame):
    return sorted(list(row) for row in frame.collect())


def events_of(folder):
    """Return what Spark has noted of the session."""
    (log,) = [path for path in (folder / "events").iterdir() if not path.name.startswith(".")]
    return [json.loads(line) for line in log.read_text().splitlines()]


def executors_of(events):
    """Return how many executors came, and how many went."""
    names = [event["Event"].removeprefix("SparkListenerExecutor") for event in events]
    return {"added": names.count("Added"), "removed": names.count("Removed")}


def repeated_tasks(events):
    """Return how many tasks ended otherwise than well, by job."""
    found, jobs = {}, {}
    for event in events:
        if event["Event"] == "SparkListenerStageSubmitted":
            name = event["Properties"].get("spark.job.description")
            jobs[event["Stage Info"]["Stage ID"]] = name
        elif event["Event"] == "SparkListenerTaskEnd":
            reason = event["Task End Reason"]["Reason"]
            if reason != "Success":
                of_job = found.setdefault(jobs[event["Stage ID"]], {})
                of_job[reason] = of_job.get(reason, 0) + 1
    return found


def main():
    master, folder, names = sys.argv[1], Path(sys.argv[2]), sys.argv[3:]
    (folder / "events").mkdir()
    places = {
        "spark.eventLog.dir": f"file://{folder}/events",
        "spark.local.dir": f"{folder}/local",
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
    }
    builder = SparkSession.builder.master(master).appName("simdb tests")
    for name, value in {**SETTINGS, **places}.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    jobs = Jobs(session, folder)
    found = {}
    for name in names:
        session.sparkContext.setJobDescription(name)
        started = time.monotonic()
        try:
            found[name] = jobs.killed(*name.split("-"))
        except PySparkException as error:
            found[name] = str(error)
        print(name, f"{time.monotonic() - started:.1f} s", flush=True)
    session.stop()
    events = events_of(folder)
    found["repeated"], found["executors"] = repeated_tasks(events), executors_of(events)
    (folder / "found.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main()
