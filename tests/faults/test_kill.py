"""A process is killed at any moment: every acknowledged commit is there, and no partial one."""

import os
import random
import select
import shutil
import signal
import struct
import time
from itertools import count
from pathlib import Path

import pytest
from oracle import Oracle
from soundness import assert_sound
from workload import OPTIONS, assert_rebuildable, changes, expected, play, replay, state, step_of

import simdb

ACKNOWLEDGEMENT = struct.Struct("<q")
LONGEST_SECONDS = 0.2
HANGS_SECONDS = 60
KILLS_OF_ONE_DATABASE = 20


def test_what_was_acknowledged_before_a_kill_is_there(tmp_path):
    survive_kills(tmp_path, seed=1, kills=6)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 155))
def test_what_was_acknowledged_before_a_thousand_kills_is_there(tmp_path, seed):
    survive_kills(tmp_path, seed=seed, kills=KILLS_OF_ONE_DATABASE)


def survive_kills(directory, *, seed, kills):
    chance = random.Random(seed)
    path = directory / "db"
    oracle, step = Oracle(), 0
    for number in range(kills):
        durability = chance.choice(["full", "process", "none"])
        waits, seconds = number % 2 == 1, chance.uniform(0, LONGEST_SECONDS)
        acknowledged = run_until_killed(path, seed, step, durability, waits, seconds)
        oracle, step = surviving_state(path, oracle, seed, step, acknowledged)
        assert_sound(path)
        if number % 5 == 4:
            scratch = directory / f"scratch {number}"
            scratch.mkdir()
            assert_rebuildable(path, oracle, scratch)
            shutil.rmtree(scratch)
    assert step >= kills // 2  # every second child had time to commit


def run_until_killed(path, seed, first, durability, waits, seconds):
    """Run a child and kill it; return the last step it acknowledged, or `first` - 1.

    The kill comes after `seconds`; with `waits`, after the first acknowledgement and `seconds`.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        work_for_ever(path, seed, first, durability, writing)
    os.close(writing)
    if waits:
        select.select([reading], [], [], HANGS_SECONDS)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    with os.fdopen(reading, "rb") as pipe:
        told = pipe.read()
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL
    assert len(told) % ACKNOWLEDGEMENT.size == 0
    return ACKNOWLEDGEMENT.unpack(told[-ACKNOWLEDGEMENT.size :])[0] if told else first - 1


def work_for_ever(path, seed, first, durability, writing):
    """Run transactions in the child, and acknowledge each when it is committed."""
    try:
        database = simdb.open(path, options=OPTIONS, durability=durability)
        for step in count(first):
            play(database, changes(seed, step))
            os.write(writing, ACKNOWLEDGEMENT.pack(step))
    except BaseException as error:
        Path(f"{path}.error").write_text(repr(error), encoding="utf-8")
    os._exit(70)


def surviving_state(path, oracle, seed, first, acknowledged):
    """Check that the stored state is committed; return its oracle and the next step."""
    for step in range(first, acknowledged + 1):
        oracle = replay(oracle, changes(seed, step))
    later = replay(oracle, changes(seed, acknowledged + 1))
    with simdb.open(path, options=OPTIONS) as database:
        found = state(database)
    # The kill may come between the commit and the acknowledgement.
    assert found in (expected(oracle), expected(later))
    if found == expected(later):
        return later, acknowledged + 2
    assert step_of(oracle) <= acknowledged
    return oracle, acknowledged + 1
