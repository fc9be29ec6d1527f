"""The command spark without PySpark; tests/spark/test_cli.py runs its job."""

import sys

import pytest


@pytest.fixture
def without_pyspark(monkeypatch):
    for name in [each for each in sys.modules if each.partition(".")[0] == "pyspark"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyspark", None)


def test_help_needs_no_pyspark(simdb_run, without_pyspark, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")

    assert "Write the rows of a table without near-duplicates" in simdb_run("spark").notes
    ran = simdb_run("spark", "dedup", "--help")

    assert ran.code == 0
    assert all(each in ran.output for each in ("OUT2", "--master", "--keep", "--permutations"))


def test_running_names_what_to_install(simdb_run, without_pyspark):
    ran = simdb_run("spark", "dedup", "in.parquet", "out.parquet")

    assert ran.code == 2
    assert ran.notes == (
        "simdb: simdb.spark needs PySpark 4.1 or newer: pip install 'pyspark>=4.1' pyarrow pandas\n"
    )


def test_wrong_use_is_found_before_spark_starts(simdb_run, without_pyspark):
    assert "--conf takes NAME=VALUE" in simdb_run("spark", "dedup", "a", "b", "--conf", "x").notes
    assert "--keep must be" in simdb_run("spark", "dedup", "a", "b", "--keep", "date").notes
    assert simdb_run("spark", "dedup", "a").code == 2
    assert "No such command 'dedupe'" in simdb_run("spark", "dedupe").notes
