"""After a power cut every disk image opens to the acknowledged commit, or to the next one."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from images import images
from oracle import Oracle
from workload import (
    IDF_DOCUMENTS,
    IDF_OPTIONS,
    LOGGED_SEED,
    OPTIONS,
    changes,
    expected,
    replay,
    state,
)

import simdb

TESTS = Path(__file__).parent.parent


def logged(shim, directory, durability, steps):
    """Run the workload in directory / "db"; return the log of its calls."""
    log = directory / "log"
    environment = {
        **os.environ,
        "LD_PRELOAD": str(shim),
        "FAULT_DIRECTORY": str(directory / "db"),
        "PYTHONPATH": os.pathsep.join(
            map(str, [TESTS.parent, TESTS / "support", TESTS / "faults"])
        ),
    }
    arguments = [directory / "db", log, durability, steps]
    command = [sys.executable, "-W", "ignore", TESTS / "faults" / "logged.py", *arguments]
    subprocess.run(list(map(str, command)), env=environment, check=True)
    return log


def failures(directory, cuts, verdict):
    """Open each image in a child; return how many there were, and what was wrong.

    `verdict(mark, path)` says what is wrong, or "".  A child that dies is wrong, too.
    """
    count, wrong = 0, []
    cuts = iter(cuts)
    while batch := [cut for _, cut in zip(range(50), cuts, strict=False)]:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            with os.fdopen(writing, "w") as pipe:
                for mark, files in batch:
                    path = directory / "image"
                    shutil.rmtree(path, ignore_errors=True)
                    path.mkdir()
                    for name, content in files.items():
                        (path / name).write_bytes(content)
                    pipe.write(json.dumps([mark, verdict(mark, path)]) + "\n")
                    pipe.flush()
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as pipe:
            found = [json.loads(line) for line in pipe]
        _, status = os.waitpid(child, 0)
        wrong += [each for each in found if each[1]]
        if status or len(found) != len(batch):
            wrong.append(f"the child died with {status} at image {count + len(found)}")
        count += len(batch)
    return count, wrong


def verdict_of_workload(steps):
    """Return a function that compares an image with the oracle."""
    oracles = [Oracle()]
    for step in range(steps):
        oracles.append(replay(oracles[-1], changes(LOGGED_SEED, step)))

    def verdict(mark, path):
        try:
            with simdb.open(path, options=OPTIONS, durability="none") as database:
                found = state(database)
                findings = list(map(str, database.check(deep=True)))
        except Exception as error:
            return repr(error)
        allowed = [expected(oracle) for oracle in oracles[mark + 1 : mark + 3]]
        return str(findings) if findings else "" if found in allowed else "another state"

    return verdict


def verdict_of_idf(mark, path):
    """Say what is wrong with an image of the database with an IDF table."""
    try:
        with simdb.open(path, options=IDF_OPTIONS, durability="none") as database:
            findings = list(map(str, database.check(deep=True)))
            has_table, count = database.options.sketch.idf is not None, len(database)
    except Exception as error:
        return repr(error)
    least = (mark >= 1, len(IDF_DOCUMENTS) if mark >= 2 else 0)
    return str(findings) if findings or (has_table, count) < least else ""


@pytest.mark.parametrize("durability", ["full"])
def test_every_image_of_a_power_cut_opens_to_a_committed_state(shim, tmp_path, durability):
    log = logged(shim, tmp_path, durability, 8)

    count, wrong = failures(
        tmp_path, images(log, tmp_path / "db", seed=1, every=12), verdict_of_workload(8)
    )

    assert wrong == []
    assert count > 10


@pytest.mark.slow
def test_thousands_of_images_of_power_cuts_open_to_a_committed_state(shim, tmp_path):
    log = logged(shim, tmp_path, "full", 40)

    count, wrong = failures(
        tmp_path,
        images(log, tmp_path / "db", seed=2, random_images=10),
        verdict_of_workload(40),
    )

    assert wrong == []
    assert count > 1000


def test_an_idf_table_is_on_the_disk_before_the_options_name_it(shim, tmp_path):
    log = logged(shim, tmp_path, "full", "idf")

    count, wrong = failures(tmp_path, images(log, tmp_path / "db", seed=3, every=2), verdict_of_idf)

    assert wrong == []
    assert count > 10
