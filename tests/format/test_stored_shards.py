"""A sharded database of each version of shards.json opens and answers as it did, for ever."""

import json
import shutil
from pathlib import Path

import pytest
import stored_shards

import simdb
from simdb.storage.shards_file import VERSION

HERE = Path(__file__).parent
VERSIONS = sorted(path.name for path in HERE.glob("sharded-v*"))


@pytest.mark.parametrize("version", VERSIONS)
def test_a_stored_sharded_database_answers_as_it_did(version, tmp_path):
    path = shutil.copytree(HERE / version, tmp_path / "db")
    wanted = json.loads((path / "answers.json").read_text(encoding="utf-8"))

    with simdb.open_sharded(path) as database:
        found = json.loads(json.dumps(stored_shards.answers(database)))

        assert found == wanted
        assert list(database.check(deep=True)) == []


@pytest.mark.parametrize("version", VERSIONS)
def test_a_stored_sharded_database_can_be_finished_again(version, tmp_path):
    path = shutil.copytree(HERE / version, tmp_path / "db")
    before = (path / "shards.json").read_text()

    for number in range(stored_shards.SHARDS):
        with simdb.open(path / f"shard-{number:05d}", "w") as database:
            database.compact()
    shard_by = "id" if version == "sharded-v1" else "fingerprint"
    simdb.finish_sharded(path, stored_shards.SHARDS, shard_by=shard_by)

    assert (path / "shards.json").read_text() == before


def test_the_current_version_is_stored():
    assert f"sharded-v{VERSION}" in VERSIONS
