"""The commands that read a database also read a sharded one."""

import pytest
import sharded

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
    sharded.single(tmp_path / "one", ids, texts, SHARDS, sharded.SIMHASH).close()
    return texts


@pytest.mark.parametrize(
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


def test_query_of_shards_takes_a_filter(simdb_run, texts):
    ran = simdb_run("query", "many", texts[0], "--where", "lang=en")

    assert (ran.code, ran.rows) == (0, [])


def test_get_shows_documents_and_names_unknown_ids(simdb_run, texts):
    found = simdb_run("get", "many", "document 3", "unknown", "document 1")

    assert found.code == 3
    assert found.rows == simdb_run("get", "one", "document 3", "unknown", "document 1").rows
    assert "unknown" in found.notes


def test_stats_counts_all_shards(simdb_run, texts):
    (found,) = simdb_run("stats", "many").rows

    assert found["document_count"] == len(texts)
    assert [each["document_count"] for each in found["shards"]] == [
        simdb_run("stats", f"many/shard-{number:05d}").rows[0]["document_count"]
        for number in range(SHARDS)
    ]


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
