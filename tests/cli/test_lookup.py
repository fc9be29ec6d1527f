"""simdb lookup: which documents a database has already."""

from pathlib import Path

import pytest
from led_files import read

import simdb

TEXTS = [" ".join(f"{name}{number}" for number in range(60)) for name in "abcdef"]


@pytest.fixture
def look(simdb_run, write_lines):
    """Looks up records in a database with five of the texts, one of them twice."""
    stored = [*TEXTS[:5], TEXTS[0] + " again"]
    write_lines("stored.jsonl", *({"id": f"s{at}", "text": text} for at, text in enumerate(stored)))
    assert simdb_run("insert", "d", "stored.jsonl").code == 0

    def run(*arguments, records=(TEXTS[5], TEXTS[0], TEXTS[3] + " more words")):
        write_lines("a.jsonl", *({"id": at, "text": text} for at, text in enumerate(records)))
        return simdb_run("lookup", "d", "a.jsonl", *arguments)

    return run


def test_the_best_match_of_each_document_is_shown_and_nothing_is_stored(look):
    before = Path("d/data.mdb").read_bytes()

    ran = look()

    assert ran.code == 0
    assert [(row["id"], row["match"], row["distance"]) for row in ran.rows][:1] == [("1", "s0", 0)]
    assert [(row["id"], row["match"]) for row in ran.rows] == [("1", "s0"), ("2", "s3")]
    assert ran.rows[0]["similarity"] == 1
    assert "3 documents, 2 in the database, 1 not" in ran.notes
    assert Path("d/data.mdb").read_bytes() == before


def test_all_matches_agree_with_the_verb(look):
    rows = look("--all", "--similarity", "0.5").rows

    with simdb.open("d", "r") as database:
        wanted = [
            {"id": str(at), "match": match.id, "distance": match.distance,
             "similarity": round(match.similarity, 6)}
            for at, text in enumerate((TEXTS[5], TEXTS[0], TEXTS[3] + " more words"))
            for match in database.query(text, similarity=0.5)
        ]  # fmt: skip
    assert len(wanted) == 3
    assert rows == wanted


def test_the_nearest_are_shown_whatever_their_similarity(look):
    rows = look("--nearest", 2).rows

    with simdb.open("d", "r") as database:
        wanted = [match.id for text in (TEXTS[5], TEXTS[0]) for match in database.nearest(text, 2)]
    assert [row["id"] for row in rows] == ["0", "0", "1", "1", "2", "2"]
    assert [row["match"] for row in rows[:4]] == wanted


def test_exit_codes_tell_what_was_found(look):
    assert look("--exit-code", "--quiet").code == 1
    assert look("--exit-code", "--quiet", records=[TEXTS[5]]).code == 0
    Path("bad.txt").write_bytes(b"caf\xe9")
    assert look("bad.txt", records=[TEXTS[5]]).code == 1
    ran = look("--exit-code", "--quiet")
    assert (ran.output, ran.notes) == ("", "")


def test_a_limit_shows_the_first(look):
    ran = look("--limit", 1)

    assert [row["id"] for row in ran.rows] == ["1"]
    assert "only the first one is shown" in ran.notes
    assert "2 in the database" in ran.notes


def test_texts_are_shown_beside_their_ids(look, write_lines):
    write_lines("t.jsonl", {"id": "s0", "text": "the stored text"})

    rows = look("--show", 5, "--texts", "t.jsonl").rows

    assert [(row["text"], row["match_text"]) for row in rows] == [
        ("a0 a1\u2026", "the s\u2026"), ("d0 d1\u2026", None)]  # fmt: skip


def test_the_rows_are_written_in_the_format_of_the_ending(look):
    rows = look("--output", "o.csv").rows
    look("--output", "o.jsonl.gz")

    assert [(row["id"], row["match"]) for row in read("o.csv")] == [
        (row["id"], row["match"]) for row in rows]  # fmt: skip
    assert read("o.jsonl.gz") == rows
