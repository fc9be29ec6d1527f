"""Closing a handle while another thread opens its file again."""

import threading

import lmdb
import pytest

import simdb
from simdb.core.errors import BusyError
from simdb.storage import gate
from simdb.storage.environment import Environment


@pytest.fixture
def slow_open(monkeypatch):
    """Hold the next opening of a file until `go` is set; `begun` is set when it is held."""
    begun, go = threading.Event(), threading.Event()
    opened = Environment._open

    def held(environment):
        begun.set()
        assert go.wait(30)
        return opened(environment)

    def arm():
        monkeypatch.setattr(Environment, "_open", held)

    yield arm, begun, go
    go.set()


def test_a_file_that_is_opened_again_is_not_closed_meanwhile(tmp_path, monkeypatch, slow_open):
    arm, begun, go = slow_open
    monkeypatch.setattr(gate, "WAIT_SECONDS", 0.05)
    database = simdb.open(tmp_path / "db", timeout=0.05)
    database.insert_many(range(50), range(50))
    failed = []

    def compact():
        try:
            database.compact()
        except BaseException as error:
            failed.append(error)

    arm()
    compacting = threading.Thread(target=compact)
    compacting.start()
    assert begun.wait(30)
    with pytest.raises(BusyError):
        database.close()
    with pytest.raises(BusyError):
        database.insert("x", 5)
    go.set()
    compacting.join(30)

    assert failed == []
    assert len(database) == 50
    database.close()
    database.close()
    with simdb.open(tmp_path / "db", "w") as again:
        assert list(again.check(deep=True)) == []


def test_what_this_process_has_open_is_busy_and_not_forked(tmp_path, short_waits):
    simdb.open(tmp_path / "db").close()

    with lmdb.open(str(tmp_path / "db"), max_dbs=4), pytest.raises(BusyError, match="still open"):
        simdb.open(tmp_path / "db")
