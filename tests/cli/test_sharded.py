"""The commands that read a database also read a sharded one."""

import pytest
import sharded
from over import over

import simdb

SHARDS = 3


@pytest.fixture
def texts(tmp_path):
    """Make a sharded database `many`, and one database `one` with the same documents."""
    texts = sharded.corpus()[1][:-1]
    ids = [f"document {number}" for number in range(len(texts))]
    simdb.write_sharded(
        tmp_path / "many", sharded.batches(ids, texts, 9), SHARDS, options=sharded.SIMHASH
    )
    numbers = sharded.numbers_of(ids, texts, SHARDS, sharded.SIMHASH)
    sharded.single(tmp_path / "one", ids, texts, numbers, sharded.SIMHASH).close()
    return texts


@over(
    "given",
    [
        ["--distance", "5"],
        ["--similarity", "0.6", "--recall", "1", "--limit", "2"],
        ["--nearest", "1"],
    ],
)
def test_query_answers_as_one_database(simdb_run, texts, given):
    for asked in ([texts[0]], ["--id", "document 5"]):
        found = simdb_run("query", "many", *asked, *given)
        wanted = simdb_run("query", "one", *asked, *given)

        assert found.code == 0
        assert found.rows == wanted.rows


def test_pairs_and_clusters_are_those_of_one_database(simdb_run, texts, write_lines):
    records = [{"id": f"document {number}", "text": text} for number, text in enumerate(texts)]
    source = write_lines("texts.jsonl", *records)
    for command in ("pairs", "clusters"):
        for given in (["--distance", "5"], ["--similarity", "0.7", "--texts", source]):
            found = simdb_run(command, "many", *given)
            wanted = simdb_run(command, "one", *given)

            assert found.code == wanted.code == 0
            assert sorted(map(str, found.rows)) == sorted(map(str, wanted.rows))
            assert len(found.rows) > 3


def test_lookup_finds_what_one_database_finds(simdb_run, texts, write_lines):
    source = write_lines("new.jsonl", {"id": 1, "text": texts[0]}, {"id": 2, "text": texts[3]})
    for given in (["--distance", "5", "--all"], ["--nearest", "1"]):
        found = simdb_run("lookup", "many", source, *given)

        assert found.code == 0
        assert found.rows == simdb_run("lookup", "one", source, *given).rows


def test_two_documents_are_explained_and_a_search_is_planned(simdb_run, texts):
    for other in range(1, 6):
        (found,) = simdb_run("explain", "many", "document 0", f"document {other}").rows
        (wanted,) = simdb_run("explain", "one", "document 0", f"document {other}").rows
        assert found["distance"] == wanted["distance"]
        assert found["is_match"] == wanted["is_match"]
    for given in ([], ["--pairs"]):
        (found,) = simdb_run("plan", "many", "--distance", "3", *given).rows
        assert ("in each of 3 databases" in found["reason"]) == (given == [])


def test_check_and_doctor_look_at_every_shard(simdb_run, texts, tmp_path):
    assert simdb_run("check", "many", "--deep").code == 0
    assert simdb_run("doctor", "many").code in (0, 1)
    data = tmp_path / "many" / "shard-00001" / "data.mdb"
    data.write_bytes(data.read_bytes()[:5000])

    found = simdb_run("check", "many")

    assert found.code == 1
    assert "shard-00001" in found.rows[0]["message"]


def test_a_command_that_writes_names_the_remedy(simdb_run, texts):
    found = simdb_run("compact", "many")

    assert found.code == 3
    assert "check and doctor take it whole" in found.notes
