"""Runs over a database: the command line and the library repeat each other's."""

import json

import pytest
from click.testing import CliRunner

import simdb
from simdb.cli.app import app

WORDS = [f"word{at}" for at in range(60)]
ROWS = [
    {"id": "a", "text": " ".join(WORDS)},
    {"id": "b", "text": " ".join([*WORDS, "end"])},
    {"id": "c", "text": " ".join(WORDS[::-1])},
    {"id": "d", "text": " ".join([*WORDS, "tail"])},
    {"id": "e", "text": " ".join(WORDS[::-1])},
]


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Returns a function that runs dedup over some rows, and gives what was kept and removed."""
    monkeypatch.chdir(tmp_path)

    def run(rows, *words):
        lines = "".join(json.dumps(each) + "\n" for each in rows)
        (tmp_path / "rows.jsonl").write_text(lines)
        call = ["dedup", "rows.jsonl", "--db", "db", "--run", "x", "-o", "kept.jsonl", *words]
        ran = CliRunner().invoke(app, [*call, "--groups", "groups.jsonl"])
        assert ran.exit_code == 0, ran.stderr
        read = [(tmp_path / name).read_text() for name in ("kept.jsonl", "groups.jsonl")]
        kept, removed = ([json.loads(line) for line in text.splitlines()] for text in read)
        return [each["id"] for each in kept], {each["id"]: each["match"] for each in removed}

    return run


def library(rows, run="x"):
    found = simdb.deduplicate(rows, id="id", db="db", run=run)
    removed = dict(zip(found.removed_ids, found.representatives, strict=True))
    return [each["id"] for each in found.data], removed


def other_run():
    """Store what the rows that were left out would match, if they were decided again."""
    changed = [{"id": f"{each['id']}2", "text": each["text"] + " again"} for each in ROWS]
    simdb.deduplicate(changed, id="id", db="db", run="other", similarity=0.99)


@pytest.mark.few(1)
@pytest.mark.parametrize("first", ["command", "library"])
def test_a_run_of_one_is_repeated_by_the_other(command, first):
    entry_points = [command, library] if first == "command" else [library, command]
    kept = entry_points[0](ROWS)
    other_run()

    again = [entry_points[1](ROWS), entry_points[0](ROWS)]

    assert kept == (["a", "c"], {"b": "a", "d": "a", "e": "c"})
    assert again == [kept, kept]


def test_a_named_method_of_searching_is_remembered(command):
    kept = command(ROWS, "--search", "psm,attempts=64")

    assert command(ROWS, "--search", "psm,attempts=64") == kept
