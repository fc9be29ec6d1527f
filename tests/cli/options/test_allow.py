"""The tokeniser of a database is imported only if the command line names it, too."""

import sys

import pytest
from over import over

MODULE = "cut_at_bars"
NAME = f"{MODULE}:cut"


@pytest.fixture(autouse=True)
def made(simdb_run, tmp_path, monkeypatch):
    """Makes a database with a tokeniser in a module of the user that is not loaded."""
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / f"{MODULE}.py").write_text("def cut(text):\n    return text.split('|')\n")
    (tmp_path / "text.txt").write_text("a b|c|d")
    assert simdb_run("create", "db", "--tokeniser", NAME).code == 0
    assert simdb_run("create", "weighed", "--tokeniser", NAME, "--weighting", "tf-idf").code == 0
    sys.modules.pop(MODULE)
    yield
    sys.modules.pop(MODULE, None)


VERBS = [
    ["insert", "db", "text.txt"],
    ["query", "db", "a b|c|d"],
    ["dedup", "text.txt", "--db", "db"],
    ["fingerprint", "text.txt", "--db", "db"],
    ["idf", "text.txt", "--db", "weighed"],
]


@over("verb", VERBS)
def test_it_is_not_imported_because_the_database_says_so(simdb_run, verb):
    ran = simdb_run(*verb)

    assert ran.code == 2
    assert f"--allow {NAME}" in ran.notes
    assert MODULE not in sys.modules


@over("verb", VERBS)
def test_a_tokeniser_is_imported_with_allow(simdb_run, verb):
    sys.modules.pop(MODULE, None)

    ran = simdb_run(*verb, "--allow", NAME)

    assert ran.code == 0
    assert MODULE in sys.modules


def test_the_option_tokeniser_allows_the_import(simdb_run):
    assert simdb_run("dedup", "text.txt", "--db", "db", "--tokeniser", NAME).code == 0

    found = simdb_run("explain", "db", "text.txt", "--document", "text.txt", "--allow", NAME)

    assert found.code == 0
    assert found.rows[0]["distance"] == 0
