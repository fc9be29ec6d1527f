"""Spark finds what one database finds while processes of it are killed."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from copied_texts import copied_texts

import simdb

pyspark = pytest.importorskip("pyspark", reason="PySpark is not installed")
arrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

pytestmark = pytest.mark.slow
HERE = Path(__file__).parent
TIMEOUT_SECONDS = 1800
KILLS = [
    "map-worker", "map-executor", "reduce-worker", "reduce-executor",
    "components-worker", "components-executor",
]  # fmt: skip
# Only on a standalone master, as the machine of a local cluster is the driver; a master for each.
LOST = ["map-machine", "reduce-machine", "components-machine"]


def run_jobs(master, folder, jobs):
    """Run on_cluster.py with a master; return what its jobs found."""
    texts = copied_texts(1, 800)
    table = arrow.table({"id": list(range(len(texts))), "text": texts})
    parquet.write_table(table, folder / "texts.parquet", compression="zstd")
    command = [sys.executable, str(HERE / "on_cluster.py"), master, str(folder), *jobs]
    with (folder / "output").open("w") as output:
        code = subprocess.run(
            command, env=environment(), stdout=output, stderr=subprocess.STDOUT,
            timeout=TIMEOUT_SECONDS, check=False,
        ).returncode  # fmt: skip
    assert code == 0, (folder / "output").read_text()[-4000:]
    return json.loads((folder / "found.json").read_text())


def environment():
    """Return that of a process of Spark: the same Python, and the simdb of the tests."""
    paths = [str(Path(simdb.__file__).parent.parent), os.environ.get("PYTHONPATH", "")]
    return {
        **os.environ,
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
    }


class Standalone:
    """A standalone master with two workers of one core each, on this machine."""

    def __init__(self, folder):
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"spark://127.0.0.1:{port}"
        self.processes = []

    def __enter__(self):
        master = ["master.Master", "--host", "127.0.0.1", "--port", self.url.rsplit(":", 1)[1]]
        self.start("master", [*master, "--webui-port", "0"], "I have been elected leader")
        for number in range(2):
            worker = ["worker.Worker", "--host", "127.0.0.1", "--cores", "1", "--memory", "1g"]
            worker += ["--webui-port", "0", "-d", str(self.folder / f"work{number}"), self.url]
            self.start(f"worker{number}", worker, "Successfully registered with master")
        return self

    def start(self, name, arguments, said):
        command = [f"{environment()['SPARK_HOME']}/bin/spark-class"]
        command += [f"org.apache.spark.deploy.{arguments[0]}", *arguments[1:]]
        log = self.folder / f"{name}.log"
        with log.open("w") as output:
            made = subprocess.Popen(
                command, env=environment(), stdout=output, stderr=subprocess.STDOUT
            )
        self.processes.append(made)
        until = time.monotonic() + 300
        while said not in log.read_text():
            is_starting = made.poll() is None and time.monotonic() < until
            assert is_starting, log.read_text()[-2000:]
            time.sleep(0.2)

    def __exit__(self, *error):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            process.wait(60)


def run_standalone(folder, jobs):
    """Run jobs on a standalone master of their own."""
    with Standalone(folder) as cluster:
        return run_jobs(cluster.url, folder, jobs)


@pytest.fixture(scope="module")
def java():
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("there is no Java: install default-jre-headless")


@pytest.fixture(scope="module")
def found(java, tmp_path_factory):
    return run_standalone(tmp_path_factory.mktemp("standalone"), KILLS)


@pytest.fixture(scope="module")
def single(tmp_path_factory):
    """What one database with all documents finds."""
    texts = copied_texts(1, 800)
    folder = tmp_path_factory.mktemp("single")
    with simdb.open(folder / "x", "x") as database:
        database.insert_many(list(range(len(texts))), texts)
        pairs = sorted(
            [*sorted((pair.left, pair.right)), pair.distance]
            for pair in database.find_all(distance=3)
        )
        clusters = sorted(
            [id, cluster.representative]
            for cluster in database.find_clusters(distance=6)
            for id in cluster.ids
        )
    assert min(len(pairs), len(clusters)) > 100
    return {"pairs": pairs, "clusters": clusters}


def check_killed(found, single, kill):
    assert found["repeated"][kill]
    if kill.startswith("components"):
        assert found[kill] == single["clusters"]
    else:
        assert [row[:3] for row in found[kill]] == single["pairs"]


@pytest.mark.parametrize("kill", KILLS)
def test_what_is_killed_changes_nothing(found, single, kill):
    check_killed(found, single, kill)


@pytest.mark.parametrize("kill", LOST)
def test_an_executor_that_is_not_replaced_changes_nothing(java, single, tmp_path, kill):
    found = run_standalone(tmp_path, [kill])

    check_killed(found, single, kill)
    assert found["executors"] == {"added": 2, "removed": 1}
