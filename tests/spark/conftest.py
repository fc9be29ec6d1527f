"""One session of Spark for all tests, on this machine; without Java or PySpark they are skipped."""

import os
import shutil
import sys

import pytest

pyspark = pytest.importorskip("pyspark", reason="PySpark is not installed")
sql = pytest.importorskip("pyspark.sql")


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("there is no Java: install default-jre-headless")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    folder = tmp_path_factory.mktemp("spark")
    session = (
        sql.SparkSession.builder.master(os.environ.get("SIMDB_SPARK_MASTER", "local[2]"))
        .appName("simdb tests")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "4")
        # Where musl is installed beside glibc, the Snappy that Spark comes with cannot be loaded.
        .config("spark.sql.parquet.compression.codec", "zstd")
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .config("spark.local.dir", str(folder / "local"))
        .config("spark.network.timeout", "600s")
        .config("spark.rpc.askTimeout", "600s")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
