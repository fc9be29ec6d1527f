"""Packages: their words are stored in the database, and a changed version is warned of."""

import warnings
from importlib import metadata

import pytest
from stored_values import put_value, remove_value

import simdb
from simdb.core import checks
from simdb.sketch import markup, pipeline
from simdb.storage import codec, layout

stop_words = pytest.importorskip("stop_words")
pytest.importorskip("snowballstemmer")
pytest.importorskip("selectolax")

ALL = simdb.Options(
    sketch=simdb.Simhash(shingle=1, stop_words="english", stemming="english", markup="html")
)


@pytest.fixture
def without_packages(monkeypatch):
    """Run as if no package were installed, while the standard library is there."""

    def fail(name):
        if name == "importlib.metadata":
            return metadata
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(checks, "import_module", fail)
    monkeypatch.setattr(pipeline, "import_module", fail)
    markup._load.cache_clear()


@pytest.mark.parametrize(
    ("settings", "packages"),
    [({"stop_words": "english"}, "snowballstemmer stop-words"),
     ({"stemming": "english"}, "snowballstemmer stop-words"), ({"markup": "html"}, "selectolax")],
)  # fmt: skip
def test_a_missing_package_is_named_with_the_remedy_before_a_database_is_made(
    tmp_path, without_packages, settings, packages
):
    options = simdb.Options(sketch=simdb.Simhash(**settings))

    with pytest.raises(simdb.OptionError, match=f"pip install {packages}$"):
        simdb.open(tmp_path / "db", options=options)
    assert not (tmp_path / "db").exists()


def test_a_database_is_opened_without_packages_and_asked_what_needs_none(
    open_database, monkeypatch, without_packages
):
    monkeypatch.undo()
    open_database(options=ALL).insert(1, ["word"])
    with monkeypatch.context() as patched:
        patched.setattr(pipeline, "import_module", None)
        patched.setattr(pipeline, "snowball_version", lambda: "")
        database = open_database()

        assert len(database) == 1
        assert [match.id for match in database.query(database.get(1).fingerprint)] == [1]


@pytest.mark.parametrize("option", ["stop_words", "stemming"])
def test_an_unknown_language_is_refused_with_those_there_are(tmp_path, option):
    options = simdb.Options(sketch=simdb.Simhash(**{option: "klingon"}))

    with pytest.raises(simdb.OptionError, match=rf"{option}.*'klingon'.*danish.*swedish"):
        simdb.open(tmp_path / "db", options=options)


def test_stop_words_stay_as_they_were_when_the_database_was_made(open_database, monkeypatch):
    open_database(options=ALL).insert(1, "the quick fox")
    monkeypatch.setattr(stop_words, "get_stop_words", lambda _: ["quick"])

    with monkeypatch.context() as patched:
        patched.setattr(pipeline, "stop_words_of", None)
        found = open_database().sketcher.fingerprints(["the quick fox"])

    assert found.bits[0] == open_database().get(1).fingerprint.bits
    changed = simdb.fingerprint("the quick fox", ALL.sketch)
    assert found.bits[0] != changed.bits


@pytest.mark.filterwarnings("ignore:.* was made with:RuntimeWarning")
@pytest.mark.parametrize(
    ("name", "module", "version"),
    [("Snowball", pipeline, "snowball_version"), ("selectolax", markup, "parser_version")],
)
def test_another_version_of_a_package_is_warned_of(
    open_database, monkeypatch, name, module, version
):
    with monkeypatch.context() as patched:
        patched.setattr(module, version, lambda: "1.2.3")
        open_database(options=ALL)

    monkeypatch.setattr(module, version, lambda: "1.3.0")
    with pytest.warns(RuntimeWarning, match=rf"{name} 1\.2\.3.*1\.3\.0 is installed"):
        open_database()
    monkeypatch.setattr(module, version, lambda: "1.2.9")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        open_database()


def test_a_database_made_before_resources_were_kept_is_opened(open_database, tmp_path):
    with open_database(options=ALL) as database:
        database.insert(1, "the quick fox")
        remove_value(database, layout.META, layout.RESOURCES_KEY)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        database = open_database()

    assert [match.id for match in database.query("The Quick FOX")] == [1]


def test_resources_of_a_newer_version_are_refused(tmp_path):
    stored = codec.encode_object(
        layout.RESOURCES_KIND, layout.RESOURCES_KEY, {"stop_words": [], "glossary": []}
    )
    with simdb.open(tmp_path / "db", options=ALL) as database:
        put_value(database, layout.META, layout.RESOURCES_KEY, stored)

    with pytest.raises(simdb.FormatError, match="glossary"):
        simdb.open(tmp_path / "db", "r")
