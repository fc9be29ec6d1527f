"""simdb delete: by ids, from a file or standard input, and by metadata."""

import gzip
import time

import pytest

import simdb
from simdb.database.state import staged


@pytest.fixture
def db(tmp_path):
    metadata = [
        {"lang": "en", "year": 2023},
        {"lang": "de", "year": 2024.0},
        {"lang": "en", "year": "2023"},
        {"lang": None, "year": True},
        "no fields",
        None,
    ]
    with simdb.open(tmp_path / "db") as database:
        database.insert_many([*"abcdef"], range(6), metadata)
    return "db"


def left(db):
    with simdb.open(db, "r") as database:
        return list(database)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        (["lang=en"], "bdef"),
        (["year=2023"], "bdef"),
        (["year=2024"], "acdef"),
        (["year=true"], "abcef"),
        (["year=1"], "abcdef"),
        (["lang=null"], "abcef"),
        (["lang=en", "year=2023"], "bdef"),
        (["lang=en", "year=2024"], "abcdef"),
        (["lang="], "abcdef"),
        (["other=en"], "abcdef"),
    ],
)
def test_documents_are_deleted_by_a_field(simdb_run, db, conditions, expected):
    given = [each for condition in conditions for each in ("--where", condition)]

    ran = simdb_run("delete", db, *given)

    assert (ran.code, ran.rows) == (0, [{"deleted": 6 - len(expected)}])
    assert left(db) == list(expected)


def test_a_value_can_have_an_equals_sign(simdb_run, db):
    with simdb.open(db) as database:
        database.insert("url", 9, {"url": "http://x?a=b"})

    simdb_run("delete", db, "--where", "url=http://x?a=b")

    assert left(db) == list("abcdef")


def test_ids_come_from_a_file(simdb_run, db, tmp_path):
    (tmp_path / "ids.txt").write_bytes(b"a\r\n\nc\nc\nf")

    ran = simdb_run("delete", db, "--ids", "ids.txt")

    assert (ran.code, ran.rows) == (0, [{"deleted": 3}])
    assert left(db) == list("bde")


def test_ids_come_from_standard_input_and_from_gzip(simdb_run, db, tmp_path):
    (tmp_path / "ids.gz").write_bytes(gzip.compress(b"b\n"))

    assert simdb_run("delete", db, "--ids", "-", given="a\n").code == 0
    assert simdb_run("delete", db, "--ids", "ids.gz").code == 0
    assert left(db) == list("cdef")


def test_whole_numbers_come_from_a_file(simdb_run, db):
    with simdb.open(db) as database:
        database.insert(7, 9)

    assert simdb_run("delete", db, "--int-ids", "--ids", "-", given="7\n").rows == [{"deleted": 1}]
    assert simdb_run("delete", db, "--int-ids", "--ids", "-", given="x\n").code == 2


def test_unknown_ids_of_a_file_are_counted(simdb_run, db):
    ran = simdb_run(
        "delete", db, "--ids", "-", given="a\n" + "".join(f"no{n}\n" for n in range(50))
    )

    assert (ran.code, ran.rows) == (3, [{"deleted": 1}])
    assert "no document has the id 'no0'" in ran.notes
    assert "simdb: 30 more ids are unknown" in ran.notes
    assert left(db) == list("bcdef")


def test_an_empty_file_deletes_nothing(simdb_run, db):
    ran = simdb_run("delete", db, "--ids", "-", given="")

    assert (ran.code, ran.rows) == (0, [{"deleted": 0}])


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["a", "--where", "lang=en"],
        ["a", "--ids", "-"],
        ["--ids", "-", "--where", "lang=en"],
        ["--where", "lang"],
        ["--where", "=en"],
        ["--ids", "missing.txt"],
        ["--older-than", "30"],
        ["--older-than", "d"],
        ["--older-than", "1.5d"],
        ["--older-than", "-1d"],
        ["--older-than", "99999999999999999999w"],
        ["--older-than", "1d", "--where", "lang=en", "--ids", "-"],
        ["--older-than", "1d", "--where", "lang"],
        ["a", "--older-than", "1d"],
    ],
)
def test_wrong_use_deletes_nothing(simdb_run, db, arguments):
    ran = simdb_run("delete", db, *arguments, given="a\n")

    assert ran.code == 2
    assert ran.notes.startswith("simdb: ")
    assert left(db) == list("abcdef")


def test_a_file_that_is_no_text_is_refused(simdb_run, db, tmp_path):
    (tmp_path / "ids").write_bytes(b"\xff\xfe\x00\xd8")

    ran = simdb_run("delete", db, "--ids", "ids")

    assert ran.code == 2
    assert ran.notes.startswith("simdb: ids: ")


@pytest.mark.parametrize(
    ("age", "expected"),
    [("30d", "bc"), ("8w", "abc"), ("20h", "c"), ("61m", "c"), ("2592003s", "bc")],
)
def test_old_documents_are_deleted(simdb_run, tmp_path, monkeypatch, age, expected):
    now = time.time()
    with simdb.open(tmp_path / "aged", options=simdb.Options(keep_times="inserted")) as database:
        for id, days in [("a", 40), ("b", 2), ("c", 0)]:
            monkeypatch.setattr(staged, "time", lambda days=days: now - days * 86_400)
            database.insert(id, 1)

    ran = simdb_run("delete", "aged", "--older-than", age)

    assert (ran.code, ran.rows) == (0, [{"deleted": 3 - len(expected)}])
    assert left("aged") == list(expected)


def test_old_documents_with_a_value_are_deleted(simdb_run, tmp_path, monkeypatch):
    now = time.time()
    with simdb.open(tmp_path / "aged", options=simdb.Options(keep_times="inserted")) as database:
        for id, days, lang in [("a", 40, "en"), ("b", 40, "de"), ("c", 1, "en"), ("d", 40, "en")]:
            monkeypatch.setattr(staged, "time", lambda days=days: now - days * 86_400)
            database.insert(id, 1, {"lang": lang})

    ran = simdb_run("delete", "aged", "--where", "lang=en", "--older-than", "30d")

    assert (ran.code, ran.rows) == (0, [{"deleted": 2}])
    assert left("aged") == ["b", "c"]


def test_a_database_of_dedup_drops_what_was_not_seen_for_long(
    simdb_run, write_lines, tmp_path, monkeypatch
):
    now = time.time()
    write_lines("old.jsonl", *({"id": id, "text": f"{id} one two three four five"} for id in "ab"))
    write_lines("new.jsonl", {"id": "c", "text": "b one two three four five"})
    for name, days in [("old.jsonl", 40), ("new.jsonl", 1)]:
        monkeypatch.setattr(staged, "time", lambda days=days: now - days * 86_400)
        simdb_run("dedup", name, "--db", "seen")

    ran = simdb_run("delete", "seen", "--older-than", "30d")

    assert (ran.code, ran.rows) == (0, [{"deleted": 1}])
    assert left("seen") == ["b"]


def test_a_database_without_times_refuses_an_age(simdb_run, db):
    ran = simdb_run("delete", db, "--older-than", "1d")

    assert ran.code == 2
    assert "keeps no times of documents" in ran.notes
    assert left(db) == list("abcdef")


def test_create_keeps_times(simdb_run):
    ran = simdb_run("create", "aged", "--keep-times", "seen")

    assert ran.rows[0]["options"]["keep_times"] == "seen"
    assert simdb_run("delete", "aged", "--older-than", "1d").rows == [{"deleted": 0}]
    assert simdb_run("create", "other", "--keep-times", "always").code == 2
