"""Records with a null text, without the field, and with an empty text, at every entry point.

A null and a record without the field have no text, and `on_null` says what becomes of them; an
empty text is a text like nothing else, and stays.
"""

import json

import pytest
from click.testing import CliRunner

import simdb
from simdb.cli.app import app

TEXT = "the quick brown fox jumps over the lazy dog near the river bank"
RECORDS = [
    {"id": "a", "text": TEXT}, {"id": "b", "text": None}, {"id": "c"}, {"id": "d", "text": TEXT},
    {"id": "e", "text": ""}, {"id": "f", "text": ""},
]  # fmt: skip
WANTED = {"keep": [*"abcef"], "drop": [*"aef"]}


@pytest.fixture(params=["dicts", "file"])
def data(request, tmp_path):
    """The records, and as a file of JSON lines."""
    if request.param == "dicts":
        return RECORDS
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in RECORDS))
    return path


@pytest.mark.parametrize("has_database", [False, True])
@pytest.mark.parametrize("on_null", ["keep", "drop"])
def test_records_without_a_text_are_kept_or_dropped(data, on_null, has_database):
    db = simdb.open(None) if has_database else None

    found = simdb.deduplicate(data, id="id", db=db, on_null=on_null)

    assert [RECORDS[at]["id"] for at in found.kept.nonzero()[0]] == WANTED[on_null]
    assert found.null_count == 2
    assert found.removed_ids.tolist() == ["d"]


@pytest.mark.parametrize("size", [1, 2, 100])
def test_the_command_keeps_records_without_a_text_in_every_run_and_stores_none(
    tmp_path, monkeypatch, size
):
    """It stored them as empty texts, so other runs left them out, as the library never does."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("simdb.cli.options.intake.BATCH_DOCUMENTS", size)
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(each) + "\n" for each in RECORDS))
    kept = {}
    for run in ("one", "two", "one"):
        call = ["dedup", "a.jsonl", "--db", "db", "--run", run, "--on-null", "keep"]
        ran = CliRunner().invoke(app, [*call, "-o", "kept.jsonl"])
        lines = (tmp_path / "kept.jsonl").read_text().splitlines()
        found = simdb.deduplicate(RECORDS, id="id", db="other", run=run)

        kept[run] = [json.loads(line)["id"] for line in lines]
        assert kept[run] == [each["id"] for each in found.data]
        assert " 2 empty and kept" in ran.stderr or " 4 empty and kept" in ran.stderr

    assert kept == {"one": [*"abcef"], "two": [*"bc"]}
    for name in ("db", "other"):
        with simdb.open(name, "r") as database:
            assert list(database) == [*"aef"]


@pytest.mark.parametrize("has_database", [False, True])
def test_records_without_a_text_can_be_refused_and_nothing_is_stored(data, has_database):
    with simdb.open(None) as db:
        with pytest.raises(simdb.InputError, match=r"on_null='keep' keeps such"):
            simdb.deduplicate(data, id="id", db=db if has_database else None, on_null="error")
        assert len(db) == 0


@pytest.mark.parametrize("has_database", [False, True])
def test_a_field_that_no_record_has_is_named(data, has_database):
    with simdb.open(None) as db:
        with pytest.raises(simdb.Error, match="no field 'body'"):
            simdb.deduplicate(data, text="body", db=db if has_database else None)
        assert len(db) == 0
