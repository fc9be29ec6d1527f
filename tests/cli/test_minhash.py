"""Databases of MinHash signatures: each command with --minhash."""

from dataclasses import replace

import pytest
from over import over

import simdb

TEXT = "the quick brown fox jumps over the lazy dog and runs away from the big bad wolf, number"
FLAGS = ("--minhash", "--permutations", "64", "--stored-bits", "8", "--shingle", "2")


@pytest.fixture
def files(tmp_path):
    for number in range(3):
        (tmp_path / f"{number}.txt").write_text(f"{TEXT} {number}")
    (tmp_path / "other.txt").write_text("something else")


@pytest.fixture
def stored(simdb_run, files):
    simdb_run("create", "db", *FLAGS)
    simdb_run("insert", "db", "0.txt", "1.txt", "2.txt", "other.txt")


def test_each_option_reaches_the_database(simdb_run):
    ran = simdb_run(
        "create", "db", *FLAGS, "--weighting", "bag", "--family", "mersenne", "--bands", "6",
        "--rows", "5", "--keep-clusters", "similarity", "--similarity", "0.7",
    )  # fmt: skip

    with simdb.open("db", "r") as database:
        options = database.options
    assert ran.code == 0
    assert options.sketch == simdb.Minhash(
        permutations=64, stored_bits=8, shingle=2, weighting="bag", family="mersenne"
    )
    assert (options.bands, options.rows, options.similarity) == (6, 5, 0.7)


def test_the_sketch_of_so_many_bytes_is_chosen(simdb_run):
    ran = simdb_run("create", "db", "--bytes", "128", "--shingle", "2")

    with simdb.open("db", "r") as database:
        sketch = database.options.sketch
    assert ran.code == 0
    assert sketch.vector_bytes == 128
    assert sketch == replace(simdb.Options(bytes=128).sketch, shingle=2)
    again = simdb_run("dedup", "--db", "db", "-", "--bytes", "64", "--shingle", "2", given="{}")
    assert again.code == 2
    assert "--permutations 512, not 256" in again.notes


@over("flag", [["--minhash"], ["--stored-bits", "2"], ["--dimensions", "64"], ["--preset", "moz"]])
def test_bytes_go_with_no_other_choice_of_a_sketch(simdb_run, flag):
    ran = simdb_run("create", "db", "--bytes", "128", *flag)

    assert ran.code == 2
    assert f"--bytes chooses the sketch, so leave out {flag[0]}" in ran.notes
    assert "32, 64, 128, 256" in simdb_run("create", "db", "--bytes", "100").notes


@pytest.mark.usefixtures("stored")
def test_the_verbs_answer_as_the_database_does(simdb_run):
    with simdb.open("db", "r") as database:
        found = [(match.id, match.distance) for match in database.query(f"{TEXT} 0")]
        pairs = sorted((pair.left, pair.right) for pair in database.find_all())

    queried = simdb_run("query", "db", f"{TEXT} 0")
    paired = simdb_run("pairs", "db", "--search", "banding")
    grouped = simdb_run("clusters", "db")
    (got,) = simdb_run("get", "db", "0.txt").rows

    assert [(row["id"], row["distance"]) for row in queried.rows] == found
    assert sorted((row["left"], row["right"]) for row in paired.rows) == pairs
    assert [row["ids"] for row in grouped.rows] == [["0.txt", "1.txt", "2.txt"]]
    assert got["has_signature"]
    assert simdb_run("check", "db", "--deep").code == 0


@pytest.mark.usefixtures("stored")
def test_explanations_show_minima_and_bands(simdb_run):
    (row,) = simdb_run("explain", "db", "0.txt", "1.txt").rows
    (of_files,) = simdb_run("explain", "0.txt", "1.txt", *FLAGS).rows

    assert row["permutations"] == 64
    assert row["agreeing"] == 64 - row["distance"]
    assert row["bits"] == []
    assert of_files["agreeing"] == row["agreeing"]
    assert {each["feature"] for each in of_files["features"]} == {"number 0", "number 1"}
