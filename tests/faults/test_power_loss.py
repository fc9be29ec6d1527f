"""After a power cut every disk image opens to the acknowledged commit, or to the next one.

Here a database is made; `power_cut` of tools/fuzz/harming.py cuts the power during other verbs.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from following import values
from images import images
from logged import DOCUMENTS, OPTIONS

import simdb
from cases import outcome_of

FOLDER = Path(__file__).parent
FOLLOWING = """
import ctypes, os, sys, simdb
from simdb.database.maintenance import compaction
path, copy, log, size = sys.argv[1:]
compaction.AT_ONCE_BYTES, compaction.MEMORY_PERCENT = int(size), 0
shim = ctypes.CDLL(os.environ["LD_PRELOAD"])
with simdb.open(path, "r") as database:
    shim.fault_log(os.fsencode(log))
    database.copy(copy, incremental=True)
    shim.fault_mark(0)
"""


def look(mark, path):
    """Return what is wrong with an image of which the steps up to `mark` were acknowledged."""
    with simdb.open(path, options=OPTIONS, durability="none") as database:
        findings = list(map(str, database.check(deep=True)))
        found = database.options.sketch.idf is not None, len(database)
    least = mark >= 1, len(DOCUMENTS) if mark >= 2 else 0
    return findings or ([] if found >= least else [f"after step {mark}: {found}"])


def test_an_idf_table_is_on_the_disk_before_the_options_name_it(shim, tmp_path):
    log, path = tmp_path / "log", tmp_path / "db"
    environment = os.environ | {"LD_PRELOAD": str(shim), "FAULT_DIRECTORY": str(path)}
    command = [sys.executable, "-W", "ignore", FOLDER / "logged.py", path, log]
    subprocess.run(command, env=environment, check=True)

    wrong, count = [], 0
    for count, (mark, files) in enumerate(images(log, path, seed=3, every=4), 1):
        image = tmp_path / str(count)
        image.mkdir()
        for name, content in files.items():
            (image / name).write_bytes(content)
        outcome = outcome_of(lambda mark=mark, image=image: look(mark, image), 60)
        wrong += [outcome.error] if outcome.error else outcome.value

    assert wrong == []
    assert count > 10


FAILING = """
import ctypes, os, shutil, sys, simdb
from following import values
from simdb.database.maintenance import compaction
path, copy, size = sys.argv[1:]
compaction.AT_ONCE_BYTES, compaction.MEMORY_PERCENT = int(size), 0
shim = ctypes.CDLL(os.environ["LD_PRELOAD"])
old, new, number, failed = values(copy), values(copy + "-new"), 0, 0
shutil.copytree(copy, copy + "-first")
for fault in (1, 2, 3):
    number = 0
    while True:
        number += 1
        shutil.rmtree(copy)
        shutil.copytree(copy + "-first", copy)
        with simdb.open(path, "r") as database:
            shim.fault_arm(number, fault)
            try:
                database.copy(copy, incremental=True)
                said = ""
            except simdb.Error as error:
                said = str(error)
            count = shim.fault_count()
            shim.fault_arm(0, 0)
            after = values(copy)
            assert after in ((old, new) if said else (new,)), (number, fault, said)
            failed += bool(said)
            database.copy(copy, incremental=True)
        assert values(copy) == new
        if number > count:
            break
print(failed)
"""


@pytest.fixture
def changed(tmp_path):
    """A database that has changed since it was copied, and beside the copy one that is new."""
    path, copy = tmp_path / "db", tmp_path / "copy"
    with simdb.open(path, options=simdb.Options(delta_documents=4, growth=2)) as database:
        database.insert_many(range(10), range(10))
        database.copy(copy)
        database.insert_many(range(10, 40), range(10, 40))
        database.delete(3)
        database.copy(tmp_path / "copy-new")
    return path, copy


@pytest.mark.parametrize("size", [0, 1 << 20], ids=["file", "values"])
def test_a_disk_that_fails_at_any_call_leaves_the_copy_as_before_or_as_the_database(
    shim, changed, size
):
    support = os.pathsep.join([str(FOLDER.parent / "support"), os.environ.get("PYTHONPATH", "")])
    environment = {"LD_PRELOAD": str(shim), "FAULT_DIRECTORY": str(changed[1]) + os.sep}
    command = [sys.executable, "-W", "ignore", "-c", FAILING, *map(str, changed), str(size)]

    ended = subprocess.run(
        command, env=os.environ | environment | {"PYTHONPATH": support}, capture_output=True,
        text=True, check=False,
    )  # fmt: skip

    assert ended.returncode == 0, ended.stderr
    assert int(ended.stdout) > 5


@pytest.mark.parametrize("size", [0, 1 << 20], ids=["file", "values"])
def test_a_copy_that_is_brought_up_to_date_is_old_or_new_after_a_power_cut(
    shim, changed, tmp_path, size
):
    path, copy = changed
    old, new, log = values(copy), values(tmp_path / "copy-new"), tmp_path / "log"
    files = {each.name: (each.stat().st_ino, each.read_bytes()) for each in copy.iterdir()}
    environment = os.environ | {"LD_PRELOAD": str(shim), "FAULT_DIRECTORY": str(copy)}
    command = [sys.executable, "-W", "ignore", "-c", FOLLOWING, path, copy, log, str(size)]
    subprocess.run(command, env=environment, check=True)

    count, found = 0, set()
    for mark, held in images(log, copy, seed=3, files=files):
        image = tmp_path / str(count)
        image.mkdir()
        for name, content in held.items():
            (image / name).write_bytes(content)
        after = values(image)
        assert after in ((old, new) if mark < 0 else (new,))
        found.add(after == new)
        count += 1
        if count % 8 == 0:
            with simdb.open(path, "r") as database:
                database.copy(image, incremental=True)
            assert values(image) == new

    assert found == {True, False}
    assert count > 10
