"""A database outlives a compaction or a rebuild that cannot open it again, wherever that fails."""

import errno
import io
import os
from functools import partial

import lmdb
import pytest
from soundness import TINY, assert_sound

import simdb

OPENING = [(os, "open"), (io, "FileIO"), (lmdb, "open")]  # what needs a descriptor
# What else replacing a data file asks of the system.
CALLS = [
    *OPENING, (os, "replace"), (os, "unlink"), (os, "fsync"), (os, "fstat"), (os, "lstat"),
    (os, "stat"), (os, "pread"), (os, "pwrite"), (os, "ftruncate"), (os, "chmod"),
]  # fmt: skip


@pytest.fixture(autouse=True)
def few_tries(monkeypatch):
    monkeypatch.setattr("simdb.storage.file_map.OPEN_TRIES", 2)
    # For which there is room at once, on a system with little address space, too.
    monkeypatch.setattr("simdb.storage.file_map.DEFAULT_MAP_BYTES", 1 << 30)


class Failing:
    """The calls of the system, of which the `at`-th fails, and with `lasts` all later ones too."""

    def __init__(self, patch, at, code, *, lasts):
        self.count, self.is_on, self._at, self._lasts = 0, True, at, lasts
        for module, name in OPENING if lasts else CALLS:
            is_lmdb = module is lmdb
            error = lmdb.Error(os.strerror(code)) if is_lmdb else OSError(code, os.strerror(code))
            patch.setattr(module, name, partial(self._called, getattr(module, name), error))

    def _called(self, real, error, *given, **named):
        self.count += self.is_on
        if self.is_on and (self.count == self._at or (self._lasts and self.count > self._at)):
            raise error
        return real(*given, **named)


@pytest.mark.parametrize(
    ("verb", "code", "lasts"),
    [("compact", errno.EMFILE, True), ("rebuild", errno.EIO, False)],
)
def test_a_database_outlives_reopening_that_fails_at_any_call(tmp_path, verb, code, lasts):
    at, expected = 0, set(range(40))
    with simdb.open(tmp_path / "db", options=TINY, durability="none") as database:
        while True:
            at += 1
            database.insert_many(range(40, 60), range(40, 60))
            database.delete_many(range(40, 60))
            database.insert_many(range(40), range(40), on_conflict="replace")
            with pytest.MonkeyPatch.context() as patch:
                failing, was_told = Failing(patch, at, code, lasts=lasts), False
                try:
                    getattr(database, verb)()
                except simdb.Error:
                    was_told = True
                failing.is_on = False

            assert set(database) == expected, at
            assert database.insert(f"after {at}", 7) is None, at
            database.delete(f"after {at}")
            assert not database.is_closed
            if failing.count < at:
                break
        assert not was_told
        assert at > (3 if lasts else 20)
    assert_sound(tmp_path / "db")


def test_a_database_that_cannot_be_opened_again_yet_says_so_and_goes_on_later(
    tmp_path, monkeypatch
):
    with simdb.open(tmp_path / "db", options=TINY) as database:
        database.insert_many(range(40), range(40))
        database.delete(3)
        with monkeypatch.context() as patch:
            real = lmdb.open

            def full(*given, **named):
                if given[0] == os.fsencode(database.path):
                    raise lmdb.Error("Too many open files")
                return real(*given, **named)

            patch.setattr(lmdb, "open", full)
            with pytest.raises(simdb.Error):
                database.compact()
            with pytest.raises(simdb.Error, match="Too many open files"):
                list(database)
            with pytest.raises(simdb.Error, match="Too many open files"):
                simdb.open(database.path, "r")

        assert len(database) == 39
        with simdb.open(database.path, "r") as other:
            assert len(other) == 39
        database.insert("new", 5)
    assert_sound(tmp_path / "db")


def test_whoever_keeps_pointers_into_the_file_learns_that_it_was_opened_again(tmp_path):
    with simdb.open(tmp_path / "db", options=TINY) as database:
        database.insert_many(range(40), range(40))
        database.delete(3)
        environment = database._store.environment
        before = environment.generation

        database.compact()

        assert environment.generation > before
