"""After a power cut every disk image opens to the acknowledged commit, or to the next one.

Here a database is made; `power_cut` of tools/fuzz/harming.py cuts the power during other verbs.
"""

import os
import subprocess
import sys
from pathlib import Path

from images import images
from logged import DOCUMENTS, OPTIONS

import simdb
from cases import outcome_of

FOLDER = Path(__file__).parent


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
