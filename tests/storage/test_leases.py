"""Leases: an environment is open as long as a database or a snapshot of it is, and no longer.

Ctrl-C while it is opened leaves nothing open that no lease would close.
"""

import os

import pytest

import simdb
from simdb.storage import environment

pytestmark = pytest.mark.skipif(
    not os.path.isdir("/proc/self/fd"), reason="open files are read from /proc"
)


def open_files(folder):
    """Return how many files below a folder this process has open."""
    descriptors = os.listdir("/proc/self/fd")
    return sum(
        os.path.realpath(f"/proc/self/fd/{each}").startswith(str(folder)) for each in descriptors
    )


@pytest.mark.parametrize("name", ["Lease.__init__", "Environment.lease"])
def test_an_interrupt_before_there_is_a_lease_closes_the_environment(tmp_path, monkeypatch, name):
    def interrupted(*given):
        raise KeyboardInterrupt

    path = tmp_path / "db"
    simdb.open(path).close()
    class_name, method = name.split(".")
    open_before = set(environment._open)

    with monkeypatch.context() as patch:
        patch.setattr(getattr(environment, class_name), method, interrupted)
        with pytest.raises(KeyboardInterrupt):
            simdb.open(path)

    assert set(environment._open) <= open_before
    assert open_files(tmp_path) == 0
    with simdb.open(path) as database:
        database.insert("a", 1)


def test_what_no_lease_is_left_of_serves_its_snapshots_and_the_next_opening(tmp_path):
    closed, dropped = (simdb.open(tmp_path / "db", durability="none") for _ in range(2))
    closed.insert("a", 1)
    snapshot = closed.read()
    closed.close()
    del dropped  # the last lease, while the snapshot reads

    assert list(snapshot) == ["a"]
    with simdb.open(tmp_path / "db", "w", durability="none") as again:
        again.insert("b", 2)
        assert list(again) == ["a", "b"]
        assert list(snapshot) == ["a"]
        snapshot.close()

    assert open_files(tmp_path) == 0


def test_what_no_lease_is_left_of_is_closed_with_its_last_snapshot(tmp_path):
    closed, dropped = (simdb.open(tmp_path / "db", durability="none") for _ in range(2))
    closed.insert("a", 1)
    snapshots = [closed.read(), closed.read()]
    closed.close()
    del dropped
    for snapshot in snapshots:
        assert list(snapshot) == ["a"]
        snapshot.close()

    assert open_files(tmp_path) == 0
    with simdb.open(tmp_path / "db", "w", durability="full") as again:
        assert list(again) == ["a"]
