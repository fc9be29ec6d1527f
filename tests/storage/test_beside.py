"""A directory that is made beside its place is complete there, or not there at all."""

import errno
import os
import textwrap
from pathlib import Path

import numpy as np
import pytest
from forked import run_until_killed
from soundness import assert_sound

import simdb
from simdb.compat.importing import import_datasketch
from simdb.storage import files
from simdb.storage.files import made_beside

PICKLE = str(Path(__file__).parents[1] / "compat" / "datasketch" / "list-2.0.0.pickle")


def killed(script, *arguments):
    """Run a script in a process of its own, which must be ended by SIGKILL."""
    start = "import os, signal, sys\nimport simdb\npath, target = sys.argv[1:]\n"
    start += "def die(*_, **__):\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    run_until_killed(start + textwrap.dedent(script), *arguments)


@pytest.fixture
def path(tmp_path):
    with simdb.open(tmp_path / "db", durability="none") as database:
        database.insert_many(range(30), np.arange(30, dtype=np.uint64) << np.uint64(9))
    return tmp_path / "db"


def fill(directory):
    Path(directory, "file").write_text("content")
    return 7


def test_what_fails_leaves_nothing(tmp_path):
    def fail(directory):
        fill(directory)
        raise OSError(errno.ENOSPC, "No space left")

    with pytest.raises(simdb.FullError, match="No space left"):
        made_beside(str(tmp_path / "new"), ".making", fail)

    assert os.listdir(tmp_path) == []


def test_what_another_has_made_meanwhile_stays(tmp_path):
    def slow(directory):
        os.mkdir(tmp_path / "new")
        fill(directory)

    with pytest.raises(simdb.ExistsError, match="new"):
        made_beside(str(tmp_path / "new"), ".making", slow)

    assert os.listdir(tmp_path) == ["new"]
    assert os.listdir(tmp_path / "new") == []


def test_an_interrupt_before_the_last_step_leaves_nothing(tmp_path, monkeypatch):
    def interrupt(path):
        raise KeyboardInterrupt

    monkeypatch.setattr(files, "sync_directory", interrupt)
    with pytest.raises(KeyboardInterrupt):
        made_beside(str(tmp_path / "new"), ".making", fill)

    assert os.listdir(tmp_path) == []


def test_a_copy_that_is_killed_is_not_there_and_works_the_second_time(path, tmp_path):
    script = """
        from simdb.database.maintenance import compaction
        compaction.copy_idf = die
        simdb.open(path, "w").copy(target)
    """
    killed(script, path, tmp_path / "copy")

    assert not (tmp_path / "copy").exists()
    with simdb.open(path, "w") as database:
        database.copy(tmp_path / "copy")
    assert_sound(tmp_path / "copy")


def test_a_load_that_is_killed_is_not_there_and_works_the_second_time(path, tmp_path):
    script = """
        from simdb.database.maintenance import dump
        simdb.open(path, "w").dump(path + ".dump")
        dump.compact = die
        simdb.load(path + ".dump", target)
    """
    killed(script, path, tmp_path / "loaded")

    assert not (tmp_path / "loaded").exists()
    assert simdb.load(f"{path}.dump", tmp_path / "loaded") == 30
    assert_sound(tmp_path / "loaded")


def test_an_import_that_is_killed_is_not_there_and_works_the_second_time(tmp_path):
    script = """
        from simdb.compat import importing
        importing.database.Database.insert_many = die
        importing.import_datasketch(path, target)
    """
    killed(script, PICKLE, tmp_path / "imported")

    assert not (tmp_path / "imported").exists()
    assert import_datasketch(PICKLE, tmp_path / "imported").documents > 0
    assert_sound(tmp_path / "imported")
