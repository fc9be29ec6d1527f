"""A system stops a process, moves it, takes its file descriptors or names paths oddly."""

import os
import resource
import signal
import time

import pytest
from soundness import assert_sound

import simdb

ODD_NAMES = [
    b"two\nlines",
    b"sp ace",
    b"\xff\xfe",
    b"\xc3\xbcml\xc3\xa4ut",
    b"-rf",
    b"$;%s'\"`",
    b"{x}",
]


@pytest.fixture
def path(tmp_path):
    with simdb.open(tmp_path / "db", durability="process") as database:
        database.insert_many(range(20), range(20))
    return tmp_path / "db"


class Stopped:
    """A child that runs `before`, is stopped during the `with` block, and then runs `after`."""

    def __init__(self, before, after):
        self._child = os.fork()
        if self._child == 0:
            code = 1
            try:
                made = before()
                os.kill(os.getpid(), signal.SIGSTOP)
                after(made)
                code = 0
            finally:
                os._exit(code)

    def __enter__(self):
        os.waitpid(self._child, os.WUNTRACED)
        return self

    def __exit__(self, *_):
        os.kill(self._child, signal.SIGCONT)
        self.code = os.waitstatus_to_exitcode(os.waitpid(self._child, 0)[1])


def test_a_stopped_writer_keeps_others_waiting_no_longer_than_their_timeout(path):
    def begin():
        transaction = simdb.open(path, "w", durability="process").write()
        transaction.insert("of the stopped", 1)
        return transaction

    with (
        Stopped(begin, lambda transaction: transaction.commit()) as writer,
        simdb.open(path, "w", durability="process", timeout=0.1) as database,
    ):
        start = time.monotonic()
        with pytest.raises(simdb.BusyError, match="another process has been writing"):
            database.insert("meanwhile", 2)
        waited_seconds = time.monotonic() - start
        read_meanwhile = list(database)

    assert writer.code == 0
    assert 0.1 <= waited_seconds < 5
    assert read_meanwhile == list(range(20))
    with simdb.open(path, "w") as database:
        assert list(database) == [*range(20), "of the stopped"]
    assert_sound(path)


def test_a_stopped_readers_snapshot_stays_what_it_was_while_others_write(path):
    def begin():
        return simdb.open(path, "r").read()

    def look(snapshot):
        assert list(snapshot) == list(range(20))

    with (
        Stopped(begin, look) as reader,
        simdb.open(path, "w", durability="process") as database,
    ):
        for number in range(100, 200):
            database.insert(number, number)
        database.delete_many(range(20))
        report = database.compact()

    assert "other processes have the database open" in report.note
    assert reader.code == 0
    assert_sound(path)


def test_a_database_opened_by_a_relative_path_stays_itself_when_the_process_moves(
    path, tmp_path, monkeypatch
):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with simdb.open("db", "w", durability="process", map_size=1 << 20) as database:
        monkeypatch.chdir(tmp_path / "elsewhere")
        database.insert_many(range(100, 300), range(200), [{"x": "y" * 9000}] * 200)
        database.compact()
        database.copy("copy")

    assert os.listdir(tmp_path / "elsewhere") == ["copy"]
    assert_sound(path)
    assert_sound(tmp_path / "elsewhere" / "copy")


@pytest.mark.few(2)
@pytest.mark.parametrize("name", ODD_NAMES)
def test_paths_may_have_any_bytes(name, tmp_path):
    place = os.path.join(os.fsencode(tmp_path), name)
    with simdb.open(place, durability="process") as database:
        database.insert(1, 1)
        database.compact()
        database.copy(place + b".copy")
        database.dump(place + b".dump")

    simdb.load(place + b".dump", place + b".loaded")

    for suffix in (b"", b".copy", b".loaded"):
        assert_sound(os.fsdecode(place + suffix))


def test_a_copy_without_a_free_descriptor_is_an_error_and_leaves_nothing(path, tmp_path):
    database = simdb.open(path, "w", durability="process")
    least, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    descriptor = os.open(path, os.O_RDONLY)
    os.close(descriptor)
    resource.setrlimit(resource.RLIMIT_NOFILE, (descriptor, most))

    with pytest.raises(simdb.Error, match="Too many open files"):
        database.copy(tmp_path / "copy")
    with pytest.raises(simdb.Error, match="Too many open files"):
        database.dump(tmp_path / "dump")
    database.insert("goes on", 1)

    resource.setrlimit(resource.RLIMIT_NOFILE, (least, most))
    assert os.listdir(tmp_path) == ["db"]
    database.close()
    assert_sound(path)
