"""Command import-datasketch, on pickles of the real package."""

from pathlib import Path

RECORDED = Path(__file__).parent.parent / "compat" / "datasketch"


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
