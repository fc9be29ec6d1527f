"""Readers, writers, compaction, growth, forks and kills at once: every snapshot is one state."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from soundness import assert_sound
from tortured import begin

TESTS = Path(__file__).parent.parent
QUICK_SECONDS = 3
HANGS_SECONDS = 60
LONG_SECONDS = float(os.environ.get("SIMDB_TORTURE_SECONDS", "60"))
ROLES = ["writer", "compacting writer", "reader", "reader", "threads"]


def start(role, path, seconds, seed):
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(
            map(str, [TESTS.parent, TESTS / "support", TESTS / "faults"])
        ),
    }
    script = TESTS / "faults" / "tortured.py"
    command = [sys.executable, "-W", "ignore", script, role, path, seconds, seed]
    return subprocess.Popen(
        list(map(str, command)),
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def torture(path, seconds, seed):
    """Run all roles, and kill and restart one now and then; return kills, and counts by role."""
    begin(path)
    chance = random.Random(seed)
    stop = time.monotonic() + seconds
    workers = {number: start(role, path, seconds, number) for number, role in enumerate(ROLES)}
    kills = 0
    while stop - time.monotonic() > 2:
        time.sleep(chance.uniform(0.3, 1.2))
        number = chance.randrange(len(ROLES))
        assert workers[number].poll() is None, workers[number].communicate()[1]
        os.killpg(workers[number].pid, signal.SIGKILL)
        workers[number].communicate()
        kills += 1
        left = max(stop - time.monotonic(), 0)
        workers[number] = start(ROLES[number], path, left, f"{number} {kills}")
    done = {}
    for number, role in enumerate(ROLES):
        output, errors = ended(workers[number])
        assert (workers[number].returncode, errors) == (0, ""), (role, errors)
        done[f"{number} {role}"] = int(output)
    return kills, done


def ended(worker):
    """Return the output of a process; if it hangs, kill it and its children."""
    try:
        return worker.communicate(timeout=HANGS_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(worker.pid, signal.SIGKILL)
        raise


def test_every_snapshot_is_one_state_whoever_is_killed(tmp_path):
    kills, done = torture(tmp_path / "db", QUICK_SECONDS, seed=1)

    assert kills > 0
    assert done
    assert_sound(tmp_path / "db")


@pytest.mark.slow
def test_every_snapshot_is_one_state_for_minutes(tmp_path):
    kills, done = torture(tmp_path / "db", LONG_SECONDS, seed=2)

    print(f"\n{LONG_SECONDS:g} seconds, {kills} kills, {done}")
    assert min(done.values()) > 0
    assert_sound(tmp_path / "db")
