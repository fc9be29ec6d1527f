"""Sessions: a session of Spark for a program, its progress, and errors of its tasks in a line."""

import os
import re
import shutil
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from simdb.errors import InputError, OptionError
from simdb.spark import frames

LOCAL = "local[*]"
LOOK_SECONDS = 0.5
# The last line of the trace of a task that an error of simdb has ended.
OWN_ERROR = re.compile(r"^simdb\.errors\.\w+: (.*)$", re.MULTILINE)

# stage, tasks done, tasks of the stage.
Report = Callable[[int, int, int], None]


@contextmanager
def session(
    master: str | None, settings: Mapping[str, str], report: Report | None = None
) -> Iterator[Any]:
    """Yield a session of Spark, which is stopped afterwards if it was made here.

    `master`: None takes that of the configuration of Spark, or this machine.  `report` is called in
    a thread of its own, twice a second, with the first stage that runs.  An error of a task
    becomes an InputError with its message.  Raises OptionError without PySpark or Java.
    """
    frames.functions()
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        raise OptionError(
            "Spark needs Java 17 or 21: install it (Debian: default-jre-headless), or set JAVA_HOME"
        )
    builder = import_module("pyspark.sql").SparkSession.builder
    known = import_module("pyspark.sql").SparkSession.getActiveSession()
    if known is None:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = builder.appName("simdb").config("spark.ui.showConsoleProgress", "false")
        if master is not None or "SPARK_CONF_DIR" not in os.environ:
            builder = builder.master(LOCAL if master is None else master)
        for name, value in settings.items():
            builder = builder.config(name, value)
    made = builder.getOrCreate()
    errors = import_module("pyspark.errors").PySparkException
    try:
        with _watched(made, report):
            yield made
    except errors as error:
        own = OWN_ERROR.findall(str(error))
        raise InputError(own[-1] if own else str(error).partition("\n")[0]) from error
    finally:
        if known is None:
            made.stop()


def exists(spark: Any, path: str) -> bool:
    """Return whether something is at a path, of any file system that Spark knows."""
    place = spark._jvm.org.apache.hadoop.fs.Path(path)
    found = place.getFileSystem(spark._jsc.hadoopConfiguration()).exists(place)
    return bool(found)


@contextmanager
def _watched(spark: Any, report: Report | None) -> Iterator[None]:
    """Call `report` while the block runs."""
    if report is None:
        yield
        return
    over = threading.Event()
    thread = threading.Thread(target=_watch, args=(spark, report, over), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _watch(spark: Any, report: Report, over: threading.Event) -> None:
    tracker = spark.sparkContext.statusTracker()
    while not over.wait(LOOK_SECONDS):
        for stage in sorted(tracker.getActiveStageIds())[:1]:
            info = tracker.getStageInfo(stage)
            if info is not None:
                report(stage, info.numCompletedTasks, info.numTasks)
