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


@pytest.mark.parametrize("size", [1, 100])
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
