"""The user's own tokeniser: imported only if the caller names it, and its results are checked."""

import pickle
import sys

import pytest

import simdb

MODULE = """
def fields(text):
    return text.split("|")

def fails(text):
    raise RuntimeError("no dictionary")

def letters(text):
    return text

def numbers(text):
    return [text, 1]

def generator(text):
    yield text

def surrogates(text):
    return ["\\ud800"]

table = {}
"""


@pytest.fixture(autouse=True)
def own_tokenisers(tmp_path, monkeypatch):
    """Make a module with the user's tokenisers."""
    (tmp_path / "own_tokenisers.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    sys.modules.pop("own_tokenisers", None)


def sketch(function="fields", **settings):
    return simdb.Simhash(tokeniser=f"own_tokenisers:{function}", **settings)


def test_its_tokens_are_the_tokens_of_the_text():
    found = simdb.fingerprint("a b|c|e f", sketch(shingle=2))

    expected = simdb.fingerprint(["a b", "c", "e f"], simdb.Simhash(shingle=2))
    assert (found.weights == expected.weights).all()


def test_its_tokens_are_lower_cased_unless_case_counts():
    plain = simdb.Simhash(shingle=1)

    lowered = simdb.fingerprint("A|\u00c9|\u0130", sketch(shingle=1)).bits
    kept = simdb.fingerprint("A|\u00c9", sketch(shingle=1, lowercase=False)).bits

    assert lowered == simdb.fingerprint(["a", "\u00e9", "i"], plain).bits
    assert kept == simdb.fingerprint(["A", "\u00c9"], plain).bits


def test_it_reads_what_the_steps_before_it_have_made():
    options = sketch(shingle=1, markup="html", normalisation="nfc")

    found = simdb.fingerprint("<p>cafe\u0301|x", options).bits

    assert found == simdb.fingerprint(["caf\u00e9", "x"], simdb.Simhash(shingle=1)).bits


@pytest.mark.parametrize(
    ("function", "returned"),
    [("letters", "str"), ("numbers", "a list with int"), ("generator", "generator")],
)
def test_another_answer_than_a_list_of_str_is_refused(function, returned):
    with pytest.raises(
        simdb.InputError, match=f"document 0.*own_tokenisers:{function}.*returned {returned}"
    ):
        simdb.fingerprint("x", sketch(function))


def test_what_it_raises_is_the_cause_of_an_input_error():
    with pytest.raises(simdb.InputError, match=r"document 0.*fails.*no dictionary") as caught:
        simdb.fingerprint("x", sketch("fails"))

    assert isinstance(caught.value.__cause__, RuntimeError)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("own_tokenisers:missing", "no attribute"),
        ("own_tokenisers:table", "is dict, not a callable"),
        ("no_such_module:f", "No module named"),
    ],
)
def test_a_name_that_names_no_callable_is_refused_and_makes_no_database(tmp_path, name, reason):
    options = simdb.Options(sketch=simdb.Simhash(tokeniser=name))

    with pytest.raises(simdb.OptionError, match=reason):
        simdb.open(tmp_path / "db", options=options)
    assert not (tmp_path / "db").exists()


def test_nothing_is_imported_because_a_file_says_so(open_database):
    options = simdb.Options(sketch=sketch())
    open_database(options=options).insert(1, "a|b|c")
    sys.modules.pop("own_tokenisers")

    database = open_database()

    for action in (
        lambda: database.insert(2, "x|y"),
        lambda: database.query("x|y"),
        lambda: database.sketcher.fingerprints(["x|y"]),
    ):
        with pytest.raises(
            simdb.OptionError, match=r"own_tokenisers:fields.*allow=\['own_tokenisers:fields'\]"
        ):
            action()
    assert "own_tokenisers" not in sys.modules
    assert [match.id for match in database.query(id=1)] == []
    assert [match.id for match in database.query(["a", "b", "c"])] == [1]


def test_it_is_imported_where_the_caller_names_it(open_database):
    options = simdb.Options(sketch=sketch())
    with open_database(options=options) as database:
        database.insert(1, "a|b|c")

    for settings in ({"allow": ["own_tokenisers:fields"]}, {"options": options}):
        with open_database(**settings) as database:
            assert [match.id for match in database.query("a|b|c")] == [1]
    database = open_database(allow=["own_tokenisers:letters"])
    with pytest.raises(simdb.OptionError, match="allow="):
        database.query("a|b|c")


def test_a_pickled_database_allows_what_it_did(open_database):
    database = open_database(options=simdb.Options(sketch=sketch()))
    database.insert(1, "a|b|c")

    with pickle.loads(pickle.dumps(database)) as again:
        assert [match.id for match in again.query("a|b|c")] == [1]


def test_allowed_names_are_a_list_of_names(tmp_path):
    for allow in ("own_tokenisers:fields", [print]):
        with pytest.raises(simdb.OptionError, match="allow must be a list of names"):
            simdb.open(tmp_path / "db", allow=allow)
