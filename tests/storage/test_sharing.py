"""The group of a directory can use the database in it if the one who made the directory said so."""

import os
import stat

import pytest

import simdb
from simdb.database.maintenance.advice import OTHERS_WRITE
from simdb.storage.files import LMDB_LOCK, PRESENCE_LOCK, WRITER_LOCK

LOCKS = {LMDB_LOCK, PRESENCE_LOCK, WRITER_LOCK}


def made_in(place, mode):
    """Make a database, in a directory of this mode, by what writes files; return their modes."""
    place.mkdir()
    place.chmod(mode)
    sketch = simdb.Simhash(shingle=1, weighting="tf-idf")
    with simdb.open(place, options=simdb.Options(sketch=sketch)) as database:
        database.fit_idf(["red green", "green blue"])
        database.insert_many(range(99), ["red green blue"] * 99)
        database.delete_many(range(90))
        database.compact()
        advised = [advice.message for advice in database.advice() if advice.topic == "permissions"]
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in place.iterdir()}
    assert len(modes) >= 5
    assert stat.S_IMODE(place.stat().st_mode) == mode
    return modes, advised


@pytest.mark.parametrize("umask", [0, 0o077])
@pytest.mark.parametrize(("mode", "data"), [(0o2770, 0o660), (0o2755, 0o640)])
def test_the_group_of_a_setgid_directory_may_do_what_the_directory_says(
    tmp_path, umask, mode, data
):
    before = os.umask(umask)
    try:
        modes, advised = made_in(tmp_path / "db", mode)
    finally:
        os.umask(before)

    assert {name: 0o660 if name in LOCKS else data for name in modes} == modes
    assert advised == []


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o2700])
def test_without_that_bit_files_are_their_owner_s_alone(tmp_path, mode):
    modes, _ = made_in(tmp_path / "db", mode)

    assert set(modes.values()) == {0o600}


def test_a_database_is_shared_when_it_is_opened_next(tmp_path):
    place = tmp_path / "db"
    made_in(place, 0o700)

    place.chmod(0o2770)
    with simdb.open(place, "r"):
        pass

    assert {stat.S_IMODE(path.stat().st_mode) for path in place.iterdir()} == {0o660}


def test_the_doctor_says_who_else_may_change_a_shared_directory(tmp_path):
    _, advised = made_in(tmp_path / "db", 0o2770 | OTHERS_WRITE)

    assert advised == ["other users may put files into the directory, whose mode is 2772"]
