"""Frames: the interface to PySpark, its sessions, and arrays in the columns of its batches.

A Python task of Spark takes and returns batches of Arrow.  Numbers and rows of bytes of one length
travel as columns, without a Python object for each.  `HeldFrames` releases the cached frames of a
job once its result is computed.
"""

import os
import re
import shutil
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import Any

import numpy as np

from simdb.core.arrow import fixed_rows, load_arrow
from simdb.core.checks import installed
from simdb.core.dtypes import I64, U8
from simdb.core.errors import InputError, OptionError

REMEDY = "needs PySpark 4.1 or newer: pip install 'pyspark>=4.1' pyarrow pandas"
LEAST_VERSION = (4, 1)
LONG_TYPES = ("bigint", "int", "smallint", "tinyint")
LOCAL = "local[*]"
LOOK_SECONDS = 0.5
# The last line of the traceback of a task that failed with an error of simdb.
OWN_ERROR = re.compile(r"^simdb\.(?:\w+\.)*\w+: (.*)$", re.MULTILINE)
# Its arguments: the stage, its finished tasks, and all its tasks.
Report = Callable[[int, int, int], None]


def pyarrow() -> Any:
    """Return pyarrow; raise OptionError if it is not installed."""
    return load_arrow("simdb.spark")


def window() -> Any:
    """Return pyspark.sql.Window."""
    return import_module("pyspark.sql").Window


def functions() -> Any:
    """Return pyspark.sql.functions; raise OptionError if PySpark is missing or too old."""
    need = f"simdb.spark {REMEDY}"
    pyspark, found = (installed(each, need) for each in ("pyspark", "pyspark.sql.functions"))
    version = tuple(int(each) for each in pyspark.__version__.split(".")[:2])
    if version < LEAST_VERSION:
        raise OptionError(f"{need}; this is {pyspark.__version__}")
    return found


def column_type(df: Any, name: str) -> str:
    """Return the type of a column as Spark writes it.

    Raises InputError if there is no such column.
    """
    for field in df.schema.fields:
        if field.name == name:
            return str(field.dataType.simpleString())
    raise InputError(f"the data has no column {name!r}; it has {', '.join(map(repr, df.columns))}")


def id_type(df: Any, name: str) -> str:
    """Return the type of a column of ids, "string" or "bigint".

    Raises InputError for another type.
    """
    found = column_type(df, name)
    if found == "string":
        return found
    if found in LONG_TYPES:
        return "bigint"
    raise InputError(f"ids must be string or bigint, and the column {name!r} is {found}; cast it")


def in_order(df: Any, *columns: str) -> Any:
    """Return the rows with each partition sorted by the columns.

    The output of a packing task depends on the order of its rows, and a repeated shuffle changes
    that order.  Spark would then recompute everything derived from the output, or fail.
    """
    return df.sortWithinPartitions(*columns)


def broadcast_if_few(df: Any, most: int) -> Any:
    """Return a DataFrame; one of at most `most` rows is marked for sending to every executor."""
    return functions().broadcast(df) if df.count() <= most else df


def batch_of(columns: dict[str, Any]) -> Any:
    """Return a batch of Arrow from columns: arrays of Arrow, numbers, or rows uint8[n, w]."""
    arrow = pyarrow()
    arrays = [
        binary_column(values) if getattr(values, "ndim", 1) == 2 else arrow.array(values)
        for values in columns.values()
    ]
    return arrow.RecordBatch.from_arrays(arrays, names=list(columns))


def binary_column(rows: U8) -> Any:
    """Return rows of bytes uint8[n, w] as a binary column of Arrow, without a copy."""
    count, width = rows.shape
    return pieces_of(rows, np.arange(count + 1) * width)


def pieces_of(content: U8, offsets: I64) -> Any:
    """Return a binary column of the pieces of `content` between offsets int64[n + 1]."""
    arrow = pyarrow()
    buffers = [arrow.py_buffer(np.ascontiguousarray(each)) for each in (np.int32(offsets), content)]
    return arrow.Array.from_buffers(arrow.binary(), len(offsets) - 1, [None, *buffers])


def rows_of(column: Any, width: int) -> U8:
    """Return a binary column of Arrow as rows uint8[n, width]; raise InputError for another length.

    A whole number becomes a row of 8 bytes, little-endian.
    """
    if column.null_count:
        raise InputError("a sketch is null; leave out such rows, or make the sketches again")
    if column.type == pyarrow().int64():
        return numbers_of(column).astype("<i8", copy=False).view(np.uint8).reshape(-1, width)
    rows = fixed_rows(column) if len(column) else np.empty((0, width), np.uint8)
    if rows.shape[1] != width:
        raise InputError(f"sketches must have {width} bytes; make them all with the same options")
    return rows


def numbers_of(column: Any) -> I64:
    """Return a column of whole numbers as int64[n]."""
    return np.asarray(column.to_numpy(zero_copy_only=False), np.int64)


class HeldFrames(ExitStack):
    """The cached frames of a job; leaving `with` releases them, also after an error."""

    is_used = False

    def keep(self, frame: Any) -> Any:
        """Cache a frame in memory and on local disks, and return it."""
        return self.take(frame.persist())

    def take(self, frame: Any) -> Any:
        """Return the frame, and release it with the others if it is cached."""
        self.is_used = True
        self.callback(frame.unpersist)
        return frame


def stored(frame: Any, checkpoint: str | None, name: str) -> Any:
    """Compute a frame now; return it read from the checkpoint, or persisted."""
    if checkpoint is not None:
        path = f"{checkpoint}/{name}"
        frame.write.mode("overwrite").parquet(path)
        return frame.sparkSession.read.parquet(path)
    frame.persist()
    try:
        frame.count()
    except BaseException:
        frame.unpersist()
        raise
    return frame


@contextmanager
def session(
    master: str | None, settings: Mapping[str, str], report: Report | None = None
) -> Iterator[Any]:
    """Yield a session of Spark; a session that was started here is stopped afterwards.

    Parameters
    ----------
    master : str or None
        The master of a new session.  None takes the master of the Spark configuration
        (SPARK_CONF_DIR), or else this machine.
    settings : mapping of str to str
        Settings of a new session, such as "spark.executor.memory".
    report : callable, optional
        A thread calls it twice a second with the first running stage, the number of its finished
        tasks and the number of all its tasks.

    Yields
    ------
    SparkSession
        The active session, or a new one.

    Raises
    ------
    OptionError
        If PySpark or Java is missing, or PySpark is too old.
    InputError
        If a task fails; its message is that of the task.
    """
    functions()
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
        with warnings.catch_warnings(), _watched(made, report):
            # simdb uses no frames of pandas.
            warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
            yield made
    except errors as error:
        own = OWN_ERROR.findall(str(error))
        raise InputError(own[-1] if own else str(error).partition("\n")[0]) from error
    finally:
        if known is None:
            made.stop()


def exists(spark: Any, path: str) -> bool:
    """Return whether a file or folder exists at a path that Spark can read.

    Parameters
    ----------
    spark : SparkSession
        The session.
    path : str
        A path in any file system that Spark knows.

    Returns
    -------
    bool
        Whether the file or folder exists.
    """
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
