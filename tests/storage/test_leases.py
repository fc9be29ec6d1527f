"""Ctrl-C while an environment is opened leaves nothing open that no lease would close."""

import os

import pytest

import simdb
from simdb.storage import environment


def open_files(folder):
    """Return how many files below a folder this process has open."""
    descriptors = os.listdir("/proc/self/fd")
    return sum(
        os.path.realpath(f"/proc/self/fd/{each}").startswith(str(folder)) for each in descriptors
    )


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="open files are read from /proc")
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
