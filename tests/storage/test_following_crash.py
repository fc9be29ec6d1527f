"""A copy that is brought up to date is old or new, wherever the process is killed."""

import random
import shutil
from functools import partial

import numpy as np
import pytest
from following import values
from soundness import TINY, assert_sound

import simdb
from cases import KILLED, outcome_of
from injecting import CAN_INJECT, NEVER, Injector
from simdb.database.maintenance import compaction

SECONDS = 60
BITS = np.arange(60, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)


@pytest.fixture(params=["values", "file"])
def folder(request, tmp_path, monkeypatch):
    """A folder with a database, its copy from before the last changes, and one that is up to date.

    The copy gets what has changed in one transaction, or a new data file.
    """
    if request.param == "file":
        monkeypatch.setattr(compaction, "AT_ONCE_BYTES", 0)
        monkeypatch.setattr(compaction, "MEMORY_PERCENT", 0)
    with simdb.open(tmp_path / "db", options=TINY) as database:
        database.insert_many(range(30), BITS[:30])
        database.copy(tmp_path / "copy", incremental=True)
        database.delete_many([3, 4])
        database.insert_many(range(30, 60), BITS[30:], ["m"] * 30)
        shutil.copytree(tmp_path / "copy", tmp_path / "first")
        database.copy(tmp_path / "new")
    return tmp_path


def follow(folder):
    with simdb.open(folder / "db", "r") as database:
        database.copy(folder / "copy", incremental=True)


def follow_killed_at(place, folder):
    with simdb.open(folder / "db", "r") as database:
        Injector(place, kills=True).run(partial(database.copy, folder / "copy", incremental=True))


def places_of(folder):
    injector = Injector(NEVER)
    with simdb.open(folder / "db", "r") as database:
        injector.run(partial(database.copy, folder / "copy", incremental=True))
    return injector


@pytest.mark.skipif(not CAN_INJECT, reason="places are instructions of CPython 3.11")
@pytest.mark.parametrize("count", [20, pytest.param(150, marks=pytest.mark.slow)])
def test_killed_anywhere_the_copy_is_as_before_or_as_the_database(folder, count):
    old, new = values(folder / "copy"), values(folder / "new")
    seen = outcome_of(lambda: list(places_of(folder).places.values()), SECONDS).get()
    chance, found, killed = random.Random(1), set(), 0
    # The last place of the last function that is reached lies behind the commit.
    drawn = [chance.choice(chance.choice(seen)) for _ in range(count - 1)]
    for place in [*drawn, seen[-1][-1]]:
        shutil.rmtree(folder / "copy")
        shutil.copytree(folder / "first", folder / "copy")
        outcome = outcome_of(partial(follow_killed_at, place, folder), SECONDS)
        # In a process that need not wait there are fewer places.
        assert outcome.error in (KILLED, ""), outcome.error
        killed += outcome.error == KILLED
        after = values(folder / "copy")
        assert after in ((old, new) if outcome.error else (new,))
        found.add(after == new)
        assert_sound(folder / "copy")

        follow(folder)

        assert values(folder / "copy") == new
        assert sorted(path.name for path in (folder / "copy").iterdir()) == [
            "data.mdb", "lock.mdb", "presence.lock", "writer.lock",
        ]  # fmt: skip
    assert found == {True, False}
    assert killed > 0.7 * count
