"""Databases without a path: every verb works, and nothing of them stays behind."""

import os
import pickle
import signal
import subprocess
import sys

import pytest
from forked import run

import simdb
from simdb.storage import files

BOOK = "a page of a book about birds and their nests in the high trees beside the wide river"
TEXTS = {name: f"{BOOK} {name}" for name in "abc"}
FORKS = hasattr(os, "fork")


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Return the folder in which temporary databases are made during a test."""
    monkeypatch.setattr(files, "_place", lambda room_bytes: str(tmp_path))
    return tmp_path


def test_every_verb_works_and_closing_removes_all_files(place):
    with simdb.open(None) as db:
        db.insert_many(TEXTS.keys(), TEXTS.values())
        assert db.query(TEXTS["a"], limit=1)[0].id == "a"
        assert db.find_clusters()[0].ids == ["a", "b", "c"]
        assert db.add_if_new("d", TEXTS["c"]).id == "c"
        db.delete("b")
        db.compact()
        assert list(db) == ["a", "c"]
        assert list(db.check(deep=True)) == []
        assert len(list(place.iterdir())) == 1

    assert list(place.iterdir()) == []
    db.close()
    with pytest.raises(simdb.ClosedError, match=r"give simdb\.open a path"):
        db.query("a")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"mode": "r"}, "mode 'r' opens a database that exists"),
        ({"mode": "w"}, "mode 'w' opens a database that exists"),
        ({"mode": "z"}, "mode must be one of"),
        ({"durability": "process"}, "give a path"),
        ({"durability": "some"}, "durability must be one of"),
        ({"map_size": 1}, "map_size"),
    ],
)
def test_what_cannot_go_together_is_refused(place, given, message):
    with pytest.raises(simdb.OptionError, match=message):
        simdb.open(None, **given)

    assert list(place.iterdir()) == []


def test_a_pickle_opens_the_same_database_while_it_is_open(place):
    with simdb.open(None) as db:
        db.insert("a", "a text")
        with pickle.loads(pickle.dumps(db)) as other:
            assert list(other) == ["a"]

        assert list(db) == ["a"]


def test_the_end_of_the_process_removes_it():
    code = "import simdb; db = simdb.open(None); db.insert('a', 'a text'); print(db.path)"

    status, printed, complained = run(code)

    assert (status, complained) == (0, "")
    path = printed.strip()
    assert path.endswith("temporary.simdb")
    assert not os.path.exists(os.path.dirname(path))


@pytest.mark.skipif(not FORKS, reason="this system cannot fork")
def test_a_forked_child_leaves_it_to_its_parent(place):
    with simdb.open(None) as db:
        db.insert("a", "a text")
        folder = db._store.folder
        child = os.fork()
        if not child:
            is_read = list(db) == ["a"]
            db.close()
            folder.remove()
            os._exit(0 if is_read else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

        assert os.path.exists(db.path)
        assert list(db) == ["a"]


MADE = (
    "import sys, time, simdb; from simdb.storage import files;"
    "files._place = lambda room_bytes: sys.argv[1]; db = simdb.open(None);"
    "print(db.path, flush=True);"
    "time.sleep(60)"
)


def test_what_a_killed_process_left_is_removed_by_the_next_one(place):
    killed, living = (
        subprocess.Popen([sys.executable, "-c", MADE, place], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    )
    left, kept = (child.stdout.readline().strip() for child in (killed, living))
    killed.kill()
    killed.wait()
    with simdb.open(place / "simdb-temporary-of-mine" / "pages.simdb") as other:
        other.insert("a", "a text")
    assert os.path.exists(left)

    with simdb.open(None) as db:
        assert not os.path.exists(os.path.dirname(left))
        assert os.path.exists(kept)
        assert os.path.exists(other.path)
        assert os.path.exists(db.path)
    living.kill()
    living.communicate()
    killed.stdout.close()


def test_a_folder_stays_while_somebody_may_use_it(place):
    held = files.TemporaryFolder()
    os.mkdir(held.database)
    open(os.path.join(held.database, "presence.lock"), "w").close()
    (place / "simdb-temporary-young").mkdir()  # an older version may make a database there
    (place / "simdb-temporary-link").symlink_to(held.path)
    (place / "simdb-temporary-file").touch()

    with simdb.open(None):
        assert len(list(place.iterdir())) == 5
    assert os.path.exists(held.database)


def test_an_old_folder_without_an_owner_is_removed(place, monkeypatch):
    monkeypatch.setattr(files, "ABANDONED_SECONDS", 0)
    (place / "simdb-temporary-old" / "more").mkdir(parents=True)
    kept = files.TemporaryFolder()

    with simdb.open(None) as db:
        left = sorted(path.name for path in place.iterdir())

    assert left == sorted(os.path.basename(path) for path in (kept.path, os.path.dirname(db.path)))


@pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="only root can give files away")
def test_a_folder_of_another_user_stays(place, monkeypatch):
    monkeypatch.setattr(files, "ABANDONED_SECONDS", 0)
    (place / "simdb-temporary-theirs").mkdir()
    os.chown(place / "simdb-temporary-theirs", 12345, 12345)

    with simdb.open(None):
        assert (place / "simdb-temporary-theirs").exists()


@pytest.mark.skipif(not FORKS, reason="this system cannot fork")
def test_a_folder_stays_while_a_forked_child_of_a_killed_process_lives(place):
    fork = "import os; os.fork(); os.write(1, b'%d\\n' % os.getpid()); time.sleep"
    code = [sys.executable, "-c", MADE.replace("time.sleep", fork), place]
    parent = subprocess.Popen(code, stdout=subprocess.PIPE, text=True)
    left, *pids = (parent.stdout.readline().strip() for _ in range(3))
    (child,) = {*map(int, pids)} - {parent.pid}
    try:
        parent.kill()
        parent.wait()
        with simdb.open(None):
            assert os.path.exists(left)
    finally:
        os.kill(child, signal.SIGKILL)
    parent.stdout.read()  # until the child is gone

    with simdb.open(None):
        assert not os.path.exists(left)
    parent.stdout.close()


def test_a_database_that_another_process_opened_stays(place):
    child = subprocess.Popen([sys.executable, "-c", MADE, place], stdout=subprocess.PIPE, text=True)
    left = child.stdout.readline().strip()
    with simdb.open(left, "w") as opened:
        child.kill()
        child.wait()
        with simdb.open(None):
            opened.insert("a", "a text")
        assert list(opened) == ["a"]

    with simdb.open(None):
        assert not os.path.exists(left)
    child.stdout.close()


def test_it_lies_in_memory_only_if_there_is_room(monkeypatch, tmp_path):
    monkeypatch.setattr(files, "MEMORY_FOLDER", str(tmp_path))
    monkeypatch.setattr(files, "MEMORY_PART", 1)
    assert files._place(1) == str(tmp_path)
    assert files._place(1 << 62) is None

    monkeypatch.setattr(files, "MEMORY_PART", 1 << 63)
    assert files._place(1) is None

    monkeypatch.setattr(files, "MEMORY_PART", 1)
    monkeypatch.setattr(files, "MEMORY_FOLDER", str(tmp_path / "none"))
    assert files._place(1) is None


def test_no_folder_at_all_is_reported(monkeypatch, tmp_path):
    monkeypatch.setattr(files, "_place", lambda room_bytes: str(tmp_path / "none"))

    with pytest.raises(simdb.ReadOnlyError, match="TMPDIR"):
        simdb.open(None)
