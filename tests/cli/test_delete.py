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
        {"url": "http://x?a=b"},
    ]
    with simdb.open(tmp_path / "db") as database:
        database.insert_many([*"abcdefg"], range(7), metadata)
    return "db"


def left(db):
    with simdb.open(db, "r") as database:
        return list(database)


def test_documents_are_deleted_by_a_field(simdb_run, db):
    found = {}
    for conditions in (
        ["year=1"], ["lang="], ["other=en"], ["lang=en", "year=2024"], ["lang=null"], ["year=2024"],
        ["lang=en", "year=2023"], ["url=http://x?a=b"],
    ):  # fmt: skip
        before = left(db)
        given = [each for condition in conditions for each in ("--where", condition)]
        ran = simdb_run("delete", db, *given)
        found[" ".join(conditions)] = "".join(each for each in before if each not in left(db))
        assert (ran.code, ran.rows) == (0, [{"deleted": len(before) - len(left(db))}])

    assert found == {
        "year=1": "", "lang=": "", "other=en": "", "lang=en year=2024": "", "lang=null": "d",
        "year=2024": "b", "lang=en year=2023": "ac", "url=http://x?a=b": "g",
    }  # fmt: skip


def test_ids_come_from_files_and_standard_input(simdb_run, db, tmp_path):
    (tmp_path / "ids.txt").write_bytes(b"a\r\n\nc\nc\nf")
    (tmp_path / "ids.gz").write_bytes(gzip.compress(b"b\n"))

    ran = simdb_run("delete", db, "--ids", "ids.txt")

    assert (ran.code, ran.rows) == (0, [{"deleted": 3}])
    assert simdb_run("delete", db, "--ids", "-", given="e\n").code == 0
    assert simdb_run("delete", db, "--ids", "ids.gz").code == 0
    assert left(db) == list("dg")


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
    assert left(db) == list("bcdefg")
    assert simdb_run("delete", db, "--ids", "-", given="").rows == [{"deleted": 0}]


def test_old_documents_are_deleted_and_of_these_those_with_a_value(
    simdb_run, tmp_path, monkeypatch
):
    now = time.time()
    with simdb.open(tmp_path / "aged", options=simdb.Options(keep_times="inserted")) as database:
        for id, days, lang in [("a", 40, "en"), ("b", 40, "de"), ("c", 2, "en"), ("d", 0, "en")]:
            monkeypatch.setattr(staged, "time", lambda days=days: now - days * 86_400)
            database.insert(id, 1, {"lang": lang})

    found = {}
    for age in (["8w"], ["30d", "--where", "lang=en"], ["2592003s"], ["61m"]):
        simdb_run("delete", "aged", "--older-than", *age)
        found[age[0]] = "".join(left("aged"))

    assert found == {"8w": "abcd", "30d": "bcd", "2592003s": "cd", "61m": "d"}


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
