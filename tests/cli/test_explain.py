"""Command explain: two files, two stored documents, or one of each."""

import pytest
from empty import explained

import simdb
from simdb.cli import explain
from simdb.cli.output import render

FOX = "the quick brown fox jumps over the lazy dog and then it sleeps"
CAT = "the quick brown fox jumps over the lazy cat and then it sleeps"


@pytest.fixture
def files(tmp_path):
    (tmp_path / "fox.txt").write_text(FOX)
    (tmp_path / "cat.txt").write_text(CAT)


@pytest.fixture
def stored(simdb_run, files):
    simdb_run("insert", "db", "fox.txt", "cat.txt")


@pytest.mark.usefixtures("files")
def test_two_files_are_explained_with_their_features(simdb_run):
    expected = explained(FOX, CAT, simdb.Simhash(shingle=1))

    ran = simdb_run("explain", "fox.txt", "cat.txt", "--shingle", "1")

    (row,) = ran.rows
    assert ran.code == 0
    assert (row["left"], row["right"]) == ("fox.txt", "cat.txt")
    assert (row["distance"], row["reason"]) == (expected.distance, expected.reason)
    assert [(each["feature"], each["left"], each["right"]) for each in row["features"]] == [
        ("cat", 0, 1), ("dog", 1, 0)
    ]  # fmt: skip
    assert (row["left_only"], row["right_only"], row["reweighted"], row["shared"]) == (1, 1, 0, 11)
    assert [each["bit"] for each in row["bits"]] == [bit.position for bit in expected.bits]
    assert {abs(each["by"]) for bit in row["bits"] for each in bit["moved_by"]} == {1}


@pytest.mark.usefixtures("files")
def test_one_file_can_be_standard_input(simdb_run):
    (row,) = simdb_run("explain", "fox.txt", "-", given=FOX).rows

    assert (row["right"], row["distance"], row["is_match"], row["features"]) == ("-", 0, True, [])
    assert simdb_run("explain", "-", "-", given=FOX).code == 2


@pytest.mark.usefixtures("stored")
def test_stored_documents_are_explained_by_id(simdb_run):
    with simdb.open("db", "r") as database:
        expected = database.explain("fox.txt", "cat.txt", similarity=0.3)

    (row,) = simdb_run("explain", "db", "fox.txt", "cat.txt", "--similarity", 0.3).rows

    assert row["reason"] == expected.reason
    assert (row["is_match"], row["is_found"], row["features"]) == (True, True, None)
    assert row["probability"] == expected.probability
    assert row["probe"] is None


@pytest.mark.usefixtures("stored")
def test_the_probe_that_finds_a_match_is_shown(simdb_run):
    with simdb.open("db", "w") as database:
        database.insert("copy", FOX)

    (row,) = simdb_run("explain", "db", "copy", "fox.txt", "--search", "bphs").rows

    assert row["probe"] == {"table": 0, "flipped": [], "rank": None, "vertices": 0}


@pytest.mark.usefixtures("stored")
def test_a_stored_document_and_a_file_are_explained(simdb_run):
    ran = simdb_run("explain", "db", "fox.txt", "--document", "cat.txt", "--features", "3")

    (row,) = ran.rows
    assert (row["left"], row["right"], row["document_features"]) == ("fox.txt", "cat.txt", 11)
    assert [each["left"] for each in row["features"]] == [None] * 3


@pytest.fixture
def terminal(monkeypatch):
    """Makes the commands print for people."""
    monkeypatch.setattr(render, "is_table", lambda: not render.wants_json())


@pytest.mark.parametrize("has_bits", [False, True])
def test_a_terminal_shows_tables(terminal, capsys, has_bits):
    explanation = explained(FOX, CAT, simdb.Simhash(shingle=1))

    explain.print_explanation(explanation, ("fox", "cat"), 1, has_bits=has_bits)

    summary, features, *bits = capsys.readouterr().out.split("\n\n")
    assert explanation.reason in " ".join(summary.split())
    assert ("probe" in summary) == ("flips" in summary) == has_bits
    assert [line.split() for line in features.splitlines()] == [
        ["feature", "left", "right"], ["cat", "0.000", "1.000"]
    ]  # fmt: skip
    assert len(bits) == has_bits
    assert all(len(table.splitlines()) >= 1 + explanation.distance for table in bits)


def test_a_terminal_begins_with_the_words_that_differ(terminal, simdb_run, tmp_path):
    (tmp_path / "a.txt").write_text("the quick brown fox jumps\x1b[31m")
    (tmp_path / "b.txt").write_text("the quick red fox jumps over it")

    ran = simdb_run("explain", "a.txt", "b.txt")
    as_json = simdb_run("explain", "a.txt", "b.txt", "--json")

    assert ran.output.split("\n\n")[0] == (
        "the quick [-brown-] {+red+} fox [-jumps\ufffd[31m-] {+jumps over it+}"
    )
    assert "bits" in as_json.rows[0]
    assert "tables" in as_json.rows[0]
