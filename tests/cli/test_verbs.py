"""The commands for the documents of a database, one by one."""

import os
from pathlib import Path

import pytest
from over import over

import simdb
from simdb.cli.output import render

FOX = "the quick brown fox jumps over the lazy dog and then it runs home to sleep until the morning"
SEA = "she sells sea shells on the sea shore and the shells that she sells are sea shells for sure"


@pytest.fixture
def db(simdb_run, write_lines):
    """Makes a database of three documents, two of which match."""
    write_lines(
        "a.jsonl",
        {"id": "x", "text": FOX, "lang": "en"},
        {"id": "y", "text": SEA},
        {"id": "z", "text": FOX + " again"},
    )
    assert simdb_run("insert", "db", "a.jsonl", "--metadata").code == 0
    return "db"


def test_create_stores_the_options(simdb_run):
    options = ["--unit", "characters", "--shingle", "5", "--no-lowercase", "--no-volatility"]
    options += ["--blocks", "5", "--leading", "2", "--distance", "4", "--similarity", "0.9"]
    options += ["--keep-times", "seen"]

    ran = simdb_run("create", "db", *options)

    assert ran.code == 0
    assert ran.rows[0]["path"] == "db"
    with simdb.open("db", "r") as db:
        sketch = simdb.Simhash(
            unit="characters", shingle=5, lowercase=False, store_volatility=False
        )
        assert db.options == simdb.Options(
            sketch=sketch, blocks=5, leading=2, distance=4, similarity=0.9, keep_times="seen"
        )


def test_insert_of_a_taken_id_changes_nothing(simdb_run, db, write_lines):
    write_lines("b.jsonl", {"id": "new", "text": SEA}, {"id": "y", "text": FOX})

    ran = simdb_run("insert", db, "b.jsonl")

    assert ran.code == 3
    assert "b.jsonl:2: the id 'y' is taken" in ran.notes
    write_lines("b.jsonl", {"id": "new", "text": SEA}, {"id": "new", "text": FOX})
    assert simdb_run("insert", db, "b.jsonl").code == 3
    with simdb.open(db, "r") as stored:
        assert list(stored) == ["x", "y", "z"]


def test_insert_keeps_what_is_stored_with_skip_and_refuses_another_text_with_same(
    simdb_run, db, write_lines
):
    write_lines("b.jsonl", {"id": "y", "text": FOX}, {"id": "n", "text": FOX})

    same = simdb_run("insert", db, "b.jsonl", "--on-conflict", "same")
    skip = simdb_run("insert", db, "b.jsonl", "--on-conflict", "skip")

    assert (same.code, skip.code) == (3, 0)
    assert skip.rows == [{"inserted": 1, "skipped": 0, "stored": 4}]
    with simdb.open(db, "r") as stored:
        assert stored["y"].fingerprint != stored["n"].fingerprint


def test_insert_shows_the_matches_among_documents_stored_before(simdb_run, db, write_lines):
    write_lines("b.jsonl", {"id": "v", "text": FOX, "n": 1}, {"id": "w", "text": FOX + " again"})
    limit = ["--search", "memory-limit=2g"]

    ran = simdb_run("insert", db, "b.jsonl", "--match", "all", "--distance", "0", *limit)

    assert ran.code == 0
    assert [(row["id"], row["match"], row["distance"]) for row in ran.rows] == [
        ("v", "x", 0), ("w", "z", 0),
    ]  # fmt: skip
    assert "2 documents inserted" in ran.notes
    with simdb.open(db, "r") as stored:
        assert list(stored) == ["x", "y", "z", "v", "w"]


def test_insert_shows_one_match_of_each_document_with_match_first(simdb_run, db, write_lines):
    write_lines("b.jsonl", {"id": "v", "text": FOX, "n": 1}, {"id": "w", "text": "else"})

    options = ["--match", "first", "--distance", "20", "--metadata"]
    ran = simdb_run("insert", db, "b.jsonl", *options)

    assert [row["id"] for row in ran.rows] == ["v"]
    assert ran.rows[0]["match"] in ("x", "z")
    with simdb.open(db, "r") as stored:
        assert stored.get("v").metadata == {"n": 1}


def test_whole_number_ids_differ_from_their_digits(simdb_run, db):
    simdb_run("insert", db, "--int-ids", "--id", "7", "--text", FOX)

    assert simdb_run("get", db, "7").code == 3
    assert simdb_run("get", db, "7", "--int-ids").rows[0]["id"] == 7
    assert simdb_run("query", db, "--id", "7", "--int-ids").rows[0]["id"] == "x"
    assert simdb_run("delete", db, "7", "--int-ids").rows == [{"deleted": 1}]
    assert simdb_run("get", db, "x", "--int-ids").code == 2


def test_get_shows_fingerprint_and_metadata(simdb_run, db):
    ran = simdb_run("get", db, "x", "y")

    with simdb.open(db, "r") as stored:
        bits = stored.get("x").fingerprint.bits
    assert ran.code == 0
    assert ran.rows[0] == {
        "id": "x", "fingerprint": f"0x{bits:016x}", "is_empty": False, "has_weights": True,
        "metadata": {"lang": "en"},
    }  # fmt: skip
    assert ran.rows[1]["id"] == "y"


def test_get_of_an_unknown_id_shows_the_others(simdb_run, db):
    ran = simdb_run("get", db, "x", "nobody", "y")

    assert ran.code == 3
    assert [row["id"] for row in ran.rows] == ["x", "y"]
    assert ran.notes == "simdb: no document has the id 'nobody'\n"


def test_query_takes_text_a_file_standard_input_an_id_or_a_fingerprint(simdb_run, db, tmp_path):
    (tmp_path / "text").write_text(FOX)
    bits = simdb_run("get", db, "x").rows[0]["fingerprint"]
    answers = [
        simdb_run("query", db, FOX),
        simdb_run("query", db, "-", given=FOX),
        simdb_run("query", db, "--file", "text"),
        simdb_run("query", db, "--file", "-", given=FOX),
    ]

    assert [ran.code for ran in answers] == [0] * 4
    for ran in answers:
        assert [row["id"] for row in ran.rows] == ["x", "z"]
        assert ran.rows[0] == {"id": "x", "distance": 0, "similarity": 1.0}
    assert [row["id"] for row in simdb_run("query", db, "--id", "x").rows] == ["z"]
    for number in (bits, str(int(bits, 16))):
        row = simdb_run("query", db, "--fingerprint", number).rows[0]
        assert (row["id"], row["distance"], row["similarity"]) == ("x", 0, None)


def test_query_tells_people_that_nothing_matches(simdb_run, db, monkeypatch):
    monkeypatch.setattr("simdb.cli.query.is_table", lambda: not render.wants_json())

    table, rows = (simdb_run("query", db, "like none of them", *end) for end in ([], ["--json"]))

    assert (table.code, table.notes) == (0, "no match\n")
    assert (rows.code, rows.output, rows.notes) == (0, "", "")


def test_query_takes_a_limit_and_a_criterion(simdb_run, db):
    assert len(simdb_run("query", db, FOX, "--limit", "1").rows) == 1
    assert len(simdb_run("query", db, FOX, "--distance", "0").rows) == 1
    assert len(simdb_run("query", db, FOX, "--distance", "64", "--recall", "1").rows) == 3
    assert len(simdb_run("query", db, FOX, "--search", "exhaustive").rows) == 2


def test_query_shows_only_documents_with_a_value(simdb_run, tmp_path):
    with simdb.open(tmp_path / "fields") as database:
        metadata = [{"lang": lang, "year": 2020 + at // 2} for at, lang in enumerate("edede")]
        database.insert_many([*"abcd"], [0, 1, 3, 7], metadata[:4])

    asked = ("query", "fields", "--fingerprint", 0)

    def found(*options):
        return [row["id"] for row in simdb_run(*asked, *options).rows]

    assert found("--distance", "3", "--where", "lang=d", "--limit", "1") == ["b"]
    assert found("--distance", "3", "--where", "lang=d", "--where", "year=2021") == ["d"]
    assert found("--nearest", "1", "--where", "lang=d") == ["b"]
    assert simdb_run(*asked, "--where", "lang").code == 2


def test_query_shows_the_nearest_whatever_their_similarity(simdb_run, db):
    rows = simdb_run("query", db, FOX, "--nearest", "3", "--recall", "1").rows

    assert [row["id"] for row in rows][:2] == ["x", "z"]
    assert len(rows) == 3
    assert rows[2]["similarity"] < 0.5
    assert simdb_run("query", db, "--id", "x", "--nearest", "1").rows[0]["id"] == "z"
    number = simdb_run("get", db, "x").rows[0]["fingerprint"]
    assert simdb_run("query", db, "--fingerprint", number, "--nearest", "1").rows[0]["id"] == "x"


def test_clusters_are_stars_around_the_document_that_a_field_puts_first(simdb_run, tmp_path):
    with simdb.open(tmp_path / "ranked") as database:
        database.insert_many(["a", "b", "c"], [0, 1, 3], [{"rank": 3}, {"rank": 1}, {"rank": 2}])

    chained = simdb_run("clusters", "ranked", "--distance", "1")
    star = simdb_run("clusters", "ranked", "--distance", "1", "--policy", "star")
    ranked = simdb_run("clusters", "ranked", "--distance", "1", "--keep", "min:rank")

    assert [row["ids"] for row in chained.rows] == [["a", "b", "c"]]
    assert [row["ids"] for row in star.rows] == [["a", "b"]]
    assert ranked.rows == [{"representative": "b", "size": 3, "ids": ["b", "c", "a"]}]


def test_a_maintained_cluster_is_shown_for_each_of_its_members(simdb_run):
    simdb_run("create", "kept", "--keep-clusters", "distance")
    for id, text in (("x", FOX), ("y", SEA), ("z", FOX)):
        simdb_run("insert", "kept", "--id", id, "--text", text)

    ran = simdb_run("cluster", "kept", "z")

    assert ran.rows == [{"representative": "x", "size": 2, "ids": ["x", "z"]}]
    assert simdb_run("stats", "kept").rows[0]["cluster_count"] == 1
    assert simdb_run("clusters", "kept").rows == ran.rows
    assert simdb_run("cluster", "kept", "nobody").code == 3


def test_check_shows_damage_and_its_remedy(simdb_run, db, monkeypatch):
    finding = simdb.Finding("table 3", "run 12 is not sorted at entry 801", "restore it")
    monkeypatch.setattr(simdb.Database, "check", lambda self, deep: iter([finding]))

    ran = simdb_run("check", db)

    assert ran.code == 1
    assert ran.rows == [
        {"place": "table 3", "message": finding.message, "remedy": "restore it"}
    ]  # fmt: skip


def test_compact_and_copy_keep_the_documents(simdb_run, db):
    simdb_run("delete", db, "y")

    compacted = simdb_run("compact", db)
    copied = simdb_run("copy", db, "other")

    assert compacted.code == copied.code == 0
    assert set(compacted.rows[0]) == {"before_bytes", "after_bytes", "note"}
    size = os.path.getsize("other/data.mdb")
    assert copied.rows == [{"path": "other", "documents": 2, "bytes": size}]
    assert simdb_run("copy", db, "other").code == 3
    assert simdb_run("check", "other", "--deep").code == 0


def test_query_asks_for_file_where_the_text_is_the_name_of_a_file(simdb_run, db):
    Path("page.txt").write_text(FOX)

    refused = simdb_run("query", db, "page.txt")
    found = simdb_run("query", db, "--file", "page.txt")

    assert (refused.code, refused.rows) == (2, [])
    assert "--file page.txt searches for what the file holds" in refused.notes
    assert found.code == 0
    assert found.rows
    assert simdb_run("query", db, "page.tx").code == 0


@over("command", ["pairs", "clusters"])
def test_a_search_that_finds_nothing_says_so(simdb_run, command):
    with simdb.open(f"e{command}") as database:
        database.insert("a", "one text alone")

    ran = simdb_run(command, f"e{command}")
    quiet = simdb_run(command, f"e{command}", "--quiet")

    assert (ran.code, ran.rows) == (0, [])
    assert "nothing matches" in ran.notes
    assert quiet.notes == ""


def test_a_percentage_is_a_share(simdb_run, db):
    plain, percent = (
        simdb_run("pairs", db, "--similarity", given).rows for given in ("0.65", "65%")
    )

    assert percent == plain
    assert simdb_run("pairs", db, "--similarity", "100 %").code == 0
