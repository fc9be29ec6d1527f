"""The commands that look after a database: dump, load, rebuild, doctor."""

import os

import pytest
from click.testing import CliRunner

import simdb
from simdb import storage
from simdb.cli.app import app
from simdb.database.maintenance import advice
from simdb.storage import files


@pytest.fixture
def db(simdb_run):
    """Makes a database of three documents and deletes one of them."""
    with simdb.open("db") as database:
        database.insert_many(["x", 2, b"y"], ["red green blue", "grey", 17], [{"n": 1}, None, "m"])
        database.delete(2)
    return "db"


@pytest.mark.parametrize("is_piped", [False, True])
def test_a_dump_is_loaded_into_a_new_database(simdb_run, db, is_piped):
    if is_piped:
        dumped = CliRunner().invoke(app, ["dump", db])
        assert dumped.stderr == "dumped 2 documents\n"
        loaded = simdb_run("load", "new", "-", given=dumped.stdout_bytes)
    else:
        (row,) = simdb_run("dump", db, "-o", "file").rows
        assert row == {"path": "file", "documents": 2, "bytes": os.path.getsize("file")}
        loaded = simdb_run("load", "new", "file")

    assert loaded.rows == [{"path": "new", "documents": 2}]
    with simdb.open("new", "r") as database:
        assert [(each, database.get(each).metadata) for each in database] == [
            ("x", {"n": 1}), (b"y", "m"),
        ]  # fmt: skip


def test_an_upgraded_database_has_the_same_documents_and_the_old_one_is_named(simdb_run, db):
    (row,) = simdb_run("upgrade", db).rows
    again = simdb_run("upgrade", db)
    other = simdb_run("upgrade", "db.old", "--python", "/no/python")

    assert row == {
        "path": db, "old": os.path.abspath("db.old"), "bytes": os.path.getsize("db/data.mdb"),
    }  # fmt: skip
    assert (again.code, other.code) == (3, 2)
    assert "db is upgraded already; remove" in again.notes
    assert "/no/python" in other.notes
    for each in (db, "db.old"):
        with simdb.open(each, "r") as database:
            assert list(database) == ["x", b"y"]


def test_a_copy_follows_its_database_until_it_is_written_to(simdb_run, db):
    (whole,) = simdb_run("copy", db, "copied").rows
    simdb_run("delete", db, "x")
    (changed,) = simdb_run("copy", "--incremental", db, "copied").rows
    (same,) = simdb_run("copy", "--incremental", db, "copied").rows
    with simdb.open("copied", "w") as database:
        database.insert("other", 3)
    refused = simdb_run("copy", "--incremental", db, "copied")

    assert (changed["documents"], same) == (1, {"path": "copied", "documents": 1, "bytes": 0})
    assert 0 < changed["bytes"] < whole["bytes"] / 2
    assert refused.code == 3
    assert "was written to after it was copied" in refused.notes


def test_load_takes_no_damaged_dump_and_nothing_that_exists_for_the_database(
    simdb_run, db, tmp_path
):
    simdb_run("dump", db, "-o", "file")
    content = (tmp_path / "file").read_bytes()
    (tmp_path / "cut").write_bytes(content[:-9])

    ran = {words: simdb_run("load", *words.split()) for words in (
        "new cut", "file new", "file cut", "db file", "new none",
    )}  # fmt: skip

    assert {each.code for each in ran.values()} == {3}
    assert "cut off" in ran["new cut"].notes
    assert "new" in ran["file new"].notes
    assert "file exists already" in ran["file cut"].notes
    assert sorted(os.listdir(tmp_path)) == ["cut", "db", "file"]
    assert (tmp_path / "file").read_bytes() == content


def test_rebuild_keeps_every_document_and_changes_the_number_of_tables(simdb_run, db):
    ran = simdb_run("rebuild", db, "--polytopes", "3")
    refused = simdb_run("rebuild", db, "--polytopes", "17")
    stats = simdb_run("stats", db)

    assert (ran.code, refused.code) == (0, 2)
    assert (ran.rows[0]["document_count"], ran.rows[0]["losses"]) == (2, [])
    assert "polytopes must be" in refused.notes
    assert stats.rows[0]["options"]["polytopes"] == 3
    with simdb.open(db, "r") as database:
        assert list(database) == ["x", b"y"]


def test_rebuild_reports_what_was_lost(simdb_run, db):
    with simdb.open(db, "w") as database:
        environment = database._store.environment
        handle = environment.subdatabase(b"metadata")
        environment.write(lambda writer: writer.put(b"\0\0\0\0", b"x" * 60, db=handle))

    refused = simdb_run("rebuild", db)
    ran = simdb_run("rebuild", db, "--drop-damaged")

    assert refused.code == 3
    assert "--drop-damaged" in refused.notes
    assert ran.code == 1
    assert "lose their metadata" in ran.notes
    assert ran.rows[0]["document_count"] == 2


def test_a_database_that_cannot_be_opened_is_rebuilt_and_the_loss_is_said_in_words(simdb_run):
    db = "damaged"
    with simdb.open(db, options=simdb.Options(delta_documents=30)) as database:
        database.insert_many(range(50), range(50))
        database.insert_many(["last", "lost"], [1, 2])
    file = os.path.join(db, "data.mdb")
    with open(file, "r+b") as pages:
        content = pages.read()
        for at in range(0, len(content), 4096):
            if b"smdbdelt" in content[at : at + 4096]:
                pages.seek(at)
                pages.write(bytes(4096))
    checked = simdb_run("check", db)
    refused = simdb_run("stats", db)

    ran = simdb_run("rebuild", db, "--drop-damaged")

    assert (checked.code, refused.code) == (1, 3)
    assert "simdb rebuild --drop-damaged" in checked.rows[0]["remedy"]
    assert "simdb rebuild --drop-damaged" in refused.notes
    assert ran.code == 1
    assert (ran.rows[0]["document_count"], ran.rows[0]["lost_count"]) == (50, 2)
    assert "2 documents were lost: the ids of 2 of them are not known" in ran.notes
    assert simdb_run("check", db, "--deep").code == 0


def test_doctor_gives_advice_and_ends_with_exit_code_1(simdb_run, db, monkeypatch):
    monkeypatch.setattr(advice, "file_system", lambda path: "ext4")
    quiet = simdb_run("doctor", db)
    os.chmod(os.path.join(db, "data.mdb"), 0o666)

    ran = simdb_run("doctor", db)

    assert (quiet.code, quiet.rows) == (0, [])
    assert ran.code == 1
    (row,) = ran.rows
    assert row["topic"] == "permissions"
    assert row["remedy"].startswith("chmod 600")


def test_doctor_does_not_open_a_database_on_a_network_file_system(simdb_run, db, monkeypatch):
    for module in (advice, storage, files):
        monkeypatch.setattr(module, "file_system", lambda path: "nfs4")

    ran = simdb_run("doctor", db)

    assert ran.code == 1
    assert "lies on nfs4" in ran.rows[0]["message"]
    assert simdb_run("stats", db).code == 2


def test_merge_stores_the_documents_of_other_databases(simdb_run, db):
    with simdb.open("other") as other:
        other.insert_many(["x", "new"], ["red green blue", "another text"], [None, {"m": 2}])

    ran = simdb_run("merge", db, "other", "--on-conflict", "skip")

    assert ran.rows == [{"path": db, "merged": 1, "documents": 3}]
    with simdb.open(db, "r") as database:
        assert list(database) == ["x", b"y", "new"]
        assert database.get("new").metadata == {"m": 2}


def test_merge_names_what_is_in_the_way(simdb_run, db):
    with simdb.open("other") as other:
        other.insert("x", "red green blue")
    simdb.open("words", options=simdb.Options(sketch=simdb.Simhash(shingle=1))).close()

    stored = simdb_run("merge", db, "other")
    sketched = simdb_run("merge", db, "words")
    itself = simdb_run("merge", db, db)

    assert (stored.code, sketched.code, itself.code) == (3, 2, 2)
    assert "a document with the id 'x' is stored already" in stored.notes
    assert "--on-conflict replace replaces" in stored.notes
    assert "sketch.shingle is 3, not 1" in sketched.notes
    assert "cannot be merged into itself" in itself.notes
    assert "Traceback" not in stored.notes + sketched.notes + itself.notes
