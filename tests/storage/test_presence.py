"""Files that are replaced, removed or not plain give an error before a commit is acknowledged."""

import os
import shutil

import pytest
from forked import Child
from soundness import TINY, assert_sound

import simdb

HOLDER = """
import sys
import simdb

def answer(verb):
    try:
        print(verb(), flush=True)
    except simdb.Error as error:
        print(type(error).__name__, error, flush=True)

database = simdb.open(sys.argv[1], sys.argv[2])
print("open", flush=True)
for number, line in enumerate(sys.stdin):
    if line == "insert\\n":
        answer(lambda: database.insert(f"late {number}", 1))
    if line == "count\\n":
        answer(lambda: len(database))
    if line == "close\\n":
        answer(database.close)
        break
"""
LOCKS = ["writer.lock", "presence.lock", "lock.mdb"]


class Process:
    """Another process that has the database open and does what it is told."""

    def __init__(self, path, mode):
        self._process = Child(HOLDER, path, mode)
        assert self._process.stdout.readline() == "open\n"

    def ask(self, verb):
        self._process.stdin.write(verb + "\n")
        return self._process.stdout.readline().strip()

    def close(self):
        self._process.rest()


@pytest.fixture
def start(path):
    started = []

    def start_one(mode):
        started.append(Process(path, mode))
        return started[-1]

    yield start_one
    for process in started:
        process.close()


@pytest.fixture
def path(tmp_path):
    """A database of 30 documents, and a copy of it from when there were 20 in `tmp_path/copy`."""
    with simdb.open(tmp_path / "db", options=TINY) as database:
        database.insert_many(range(20), range(20))
        database.copy(tmp_path / "copy")
        database.insert_many(range(20, 30), range(20, 30))
    return tmp_path / "db"


def restore(path, tmp_path):
    os.replace(tmp_path / "copy" / "data.mdb", path / "data.mdb")


@pytest.mark.parametrize("mode", ["r", "c"])
def test_a_file_put_in_place_under_a_reader_is_neither_opened_nor_made_anew(
    path, tmp_path, start, mode
):
    # Mode "c" made an empty database over the restored documents.
    reader = start("r")
    restore(path, tmp_path)

    with pytest.raises(simdb.ReplacedError, match="have the old file open"):
        simdb.open(path, mode)

    assert reader.ask("close") == "None"
    with simdb.open(path, "w") as database:
        assert list(database) == list(range(20))
        database.insert("after", 5)
    assert_sound(path)


def test_a_writer_whose_data_file_was_replaced_acknowledges_nothing(path, tmp_path, start):
    writer = start("w")
    restore(path, tmp_path)

    answer = writer.ask("insert")

    assert answer.startswith("ReplacedError")
    assert "data.mdb was replaced" in answer
    assert "Close the database in every process" in answer


def test_a_writer_whose_directory_was_removed_acknowledges_nothing(path, start):
    # It went on writing into a file without a name.
    writer = start("w")
    shutil.rmtree(path)

    assert "data.mdb was removed" in writer.ask("insert")


@pytest.mark.parametrize("name", ["writer.lock", "lock.mdb"])
def test_a_writer_whose_lock_file_was_removed_acknowledges_nothing(path, start, name):
    writer = start("w")
    os.unlink(path / name)

    answer = writer.ask("insert")

    assert answer.startswith("ReplacedError")
    assert f"{name} was removed" in answer
    writer.close()
    with simdb.open(path, "w") as database:
        database.insert("after", 5)
        assert len(database) == 31
    assert_sound(path)


@pytest.mark.parametrize("name", ["presence.lock", "lock.mdb"])
def test_nobody_opens_beside_others_without_the_lock_files_that_they_share(
    path, start, monkeypatch, name
):
    # Two tables of readers: one gives pages away that readers of the other still read.
    monkeypatch.setattr("simdb.storage.open_files.WAIT_SECONDS", 0.1)
    reader = start("r")
    os.unlink(path / name)

    with pytest.raises(simdb.ReplacedError, match=r"a lock file of .* is gone while another"):
        simdb.open(path, "w")

    assert reader.ask("count") == "30"
    reader.close()
    simdb.open(path, "w").close()
    assert_sound(path)


def test_lock_files_that_are_all_removed_lose_nothing_that_was_acknowledged(
    path, start, monkeypatch
):
    # Both writers went on side by side, and what one of them stored was lost.
    monkeypatch.setattr("simdb.storage.open_files.WAIT_SECONDS", 0.1)
    writer = start("w")
    assert writer.ask("insert") == "None"
    for name in LOCKS:
        os.unlink(path / name)

    with pytest.raises(simdb.ReplacedError):
        simdb.open(path, "w")
    refused = writer.ask("insert")
    writer.close()

    assert "ReplacedError" in refused
    with simdb.open(path, "w") as database:
        assert "late 0" in database
    assert_sound(path)


def test_a_file_written_over_while_others_have_it_open_is_refused(path, tmp_path, start):
    # As by `cp`: the file is the same, its content is another one.
    reader = start("r")
    with open(path / "data.mdb", "r+b") as file:
        file.write((tmp_path / "copy" / "data.mdb").read_bytes())

    with pytest.raises(simdb.ReplacedError, match=r"is at transaction .* but other"):
        simdb.open(path, "w")

    reader.close()
    with simdb.open(path, "w") as database:
        assert list(database) == list(range(20))


def test_a_check_tells_that_files_were_replaced(path, tmp_path):
    # It read the file that has the name now, and found nothing.
    with simdb.open(path, "r") as database:
        restore(path, tmp_path)

        (finding,) = database.check(deep=True)

    assert finding.place == "files"
    assert "data.mdb was replaced" in finding.message


def test_sizes_of_a_database_whose_directory_was_moved_are_told(path, tmp_path):
    # They came out as FileNotFoundError.
    with simdb.open(path, "w") as database:
        os.rename(path, tmp_path / "elsewhere")

        assert database.stats().file_bytes > 0
        with pytest.raises(simdb.ReplacedError, match="was removed"):
            database.compact()


def test_a_database_goes_on_once_its_lock_files_are_back_for_all(path):
    database = simdb.open(path, "w")
    os.unlink(path / "writer.lock")
    with pytest.raises(simdb.ReplacedError):
        database.insert("lost", 1)

    database.close()

    with simdb.open(path, "w") as again:
        again.insert("kept", 1)
        assert "lost" not in again
    assert_sound(path)


def test_a_transaction_on_files_that_were_replaced_can_be_aborted(path):
    database = simdb.open(path, "w")
    transaction = database.write()
    transaction.insert("lost", 1)
    os.unlink(path / "lock.mdb")

    with pytest.raises(simdb.ReplacedError, match=r"lock\.mdb was removed"):
        transaction.commit()

    transaction.abort()
    database.close()
    assert_sound(path)


def test_a_commit_over_somebody_elses_is_refused(path):
    database = simdb.open(path, "w")
    transaction = database.write()
    transaction.insert("lost", 1)
    environment = database._store.environment
    environment.write(lambda writer: writer.put(b"x", b"y", db=environment.subdatabase(b"meta")))

    with pytest.raises(simdb.ReplacedError, match="does not share its locks"):
        transaction.commit()

    database.close()


@pytest.mark.parametrize("name", [*LOCKS, "data.mdb", "idf.table"])
@pytest.mark.parametrize("kind", ["link", "dangling link", "pipe", "directory"])
@pytest.mark.parametrize("mode", ["r", "w"])
def test_only_plain_files_are_opened(tmp_path, name, kind, mode):
    # A link made LMDB write over the file that it led to, and a pipe never answered.
    sketch = simdb.Simhash(weighting="tf-idf")
    sketch = simdb.Simhash(weighting="tf-idf", idf=simdb.fit_idf(["a b c d", "a b c e"], sketch))
    path = tmp_path / "db"
    simdb.open(path, options=simdb.Options(sketch=sketch)).close()
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    (path / name).unlink()
    if kind == "pipe":
        os.mkfifo(path / name)
    elif kind == "directory":
        (path / name).mkdir()
    else:
        os.symlink(victim if kind == "link" else tmp_path / "nowhere", path / name)

    with pytest.raises((simdb.FormatError, simdb.CorruptError), match=name.replace(".", r"\.")):
        simdb.open(path, mode)

    assert victim.read_bytes() == b"precious"
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("name", [*LOCKS, "data.mdb"])
def test_a_file_under_two_names_is_not_written(path, tmp_path, name):
    os.link(path / name, tmp_path / "second")

    with pytest.raises(simdb.FormatError, match=r"under 2 names \(hard links\)"):
        simdb.open(path, "w")


@pytest.mark.parametrize("mode", ["r", "w", "c", "x"])
def test_a_data_file_that_was_cut_off_to_nothing_is_told_and_never_made_anew(path, mode):
    os.truncate(path / "data.mdb", 0)

    with pytest.raises((simdb.FormatError, simdb.ExistsError), match="is empty"):
        simdb.open(path, mode)


def test_an_identity_that_is_written_in_parts_is_written_whole(tmp_path, monkeypatch):
    # Half of it looked like the identity of another data file, and opening was refused.
    pwrite = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda file, content, at: pwrite(file, content[:5], at))

    with simdb.open(tmp_path / "db", options=TINY) as database:
        database.insert("a", 1)

    assert_sound(tmp_path / "db")
