"""A writer that is killed within its commit, after the data file and before LMDB's reader table.

The next writer and the next process to open the database go on with what the file has.  Both once
raised ReplacedError, as if the file had been overwritten.
"""

import signal
import subprocess
import sys

import pytest

import simdb

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="elsewhere LMDB does not notice that a holder of its lock died"
)
# It commits, begins to write again, sets the number in the reader table back as it was before the
# commit, and is killed with LMDB's lock.
KILLED = """
import os, signal, struct, sys
import simdb
database = simdb.open(sys.argv[1])
database.insert("killed", 7)
environment = database._store.environment._lmdb
number = struct.pack("<Q", environment.info()["last_txnid"])
transaction = environment.begin(write=True)
with open(os.path.join(sys.argv[1], "lock.mdb"), "r+b") as table:
    place = table.read(256).index(number)
    table.seek(place)
    table.write(struct.pack("<Q", environment.info()["last_txnid"] - 1))
os.kill(os.getpid(), signal.SIGKILL)
"""
OPTIONS = simdb.Options(sketch=simdb.Simhash(store_volatility=False))


@pytest.fixture
def held(tmp_path):
    """A database that this process has open while a writer is killed within its commit."""
    with simdb.open(tmp_path / "held", options=OPTIONS) as database:
        for number in range(3):
            database.insert(number, number)
        done = subprocess.run([sys.executable, "-c", KILLED, database.path], timeout=60)
        assert done.returncode == -signal.SIGKILL
        with database._store.environment.reading() as transaction:
            stale = transaction.id()
        assert stale + 1 == database._store.environment._lmdb.info()["last_txnid"]
        yield database
        assert list(database.check(deep=True)) == []


def test_who_has_the_database_open_goes_on_writing(held):
    held.insert("after", 8)

    assert set(held) == {0, 1, 2, "killed", "after"}


# A process that may only read leaves the number as it is, and does not see the last commit yet.
@pytest.mark.parametrize(("mode", "count"), [("r", 3), ("w", 4)])
def test_another_process_opens_it(held, mode, count):
    command = "import simdb, sys; print(len(simdb.open(*sys.argv[1:])))"

    opened = subprocess.run(
        [sys.executable, "-c", command, held.path, mode],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip

    assert (opened.stdout, opened.stderr) == (f"{count}\n", "")
    assert len(held) == count
    held.insert("after", 8)
    assert set(held) == {0, 1, 2, "killed", "after"}
