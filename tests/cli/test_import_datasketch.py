"""Command import-datasketch, on pickles of the real package."""

import os
import pickle
from pathlib import Path

RECORDED = Path(__file__).parent.parent / "compat" / "datasketch"


class Hostile:
    def __reduce__(self):
        return os.system, ("touch mark",)


def test_an_index_becomes_a_database(simdb_run):
    ran = simdb_run("import-datasketch", "db", RECORDED / "index-2.0.0.pickle", "--json")
    check = simdb_run("check", "db", "--deep")

    assert ran.code == 0
    assert ran.rows[0]["documents"] == 12
    assert ran.rows[0]["scheme"] == "affine32"
    assert check.code == 0


def test_minhashes_get_the_given_bands(simdb_run):
    source = RECORDED / "dict-protocol5-1.6.5.pickle"

    chosen = simdb_run("import-datasketch", "chosen", source, "--threshold", "0.5", "--json")
    given = simdb_run("import-datasketch", "given", source, "--params", "4", "5", "--json")
    pairs = simdb_run("pairs", "given", "--json")

    assert chosen.rows[0]["scheme"] == "legacy"
    assert (given.rows[0]["bands"], given.rows[0]["rows"]) == (4, 5)
    assert pairs.code in (0, 1)


def test_a_hostile_pickle_is_refused_and_makes_nothing(simdb_run, tmp_path):
    (tmp_path / "hostile.pickle").write_bytes(pickle.dumps([Hostile()]))

    ran = simdb_run("import-datasketch", "db", "hostile.pickle")

    assert ran.code == 2
    assert "system" in ran.notes
    assert not (tmp_path / "mark").exists()
    assert not (tmp_path / "db").exists()


def test_texts_are_refused_with_the_remedy(simdb_run, tmp_path):
    simdb_run("import-datasketch", "db", RECORDED / "index-2.0.0.pickle")
    (tmp_path / "a.txt").write_text("some text")

    inserted = simdb_run("insert", "db", "a.txt")
    asked = simdb_run("query", "db", "a.txt")

    assert 2 in (inserted.code, asked.code)
    assert "simdb.compat.datasketch" in inserted.notes + asked.notes
