"""A run over a database that is repeated with another rule keeps no answer of the first one."""

import json
import os
from itertools import product
from pathlib import Path

import pytest
from click.testing import CliRunner

import simdb
from simdb.cli.app import app

WORDS = ["".join(letters) for letters in product("abcdefgh", repeat=2)]
TEXTS = {"a": [*WORDS], "b": [*WORDS[:60], *"wxyz"], "c": WORDS[::-1]}
ROWS = [{"id": id, "text": " ".join(words)} for id, words in TEXTS.items()]
# Two rules that differ in one argument, each by which "b" matches "a".
RULES = {
    "similarity": ({"similarity": 0.7}, {"similarity": 0.71}),
    "usual similarity": ({}, {"similarity": 0.75}),
    "recall": ({"recall": 0.9}, {"recall": 1.0}),
    "texts or sketches": ({"verify": "exact"}, {"verify": "estimate"}),
    "numbers": ({"verify": "exact"}, {"verify": "numbers"}),
    "distance": [{"verify": "estimate", "distance": most} for most in (24, 25)],
    "distance or similarity": [
        {"verify": "estimate"} | bound for bound in ({"distance": 24}, {"similarity": 0.71})
    ],
}
METHODS = [{"search": method} for method in ("exhaustive", "polytope")]


def library(rows, **rule):
    """Return what is kept, and what each removed row matches."""
    found = simdb.deduplicate(rows, id="id", db="db", run="r", **rule)
    removed = dict(zip(found.removed_ids, found.representatives, strict=True))
    return [each["id"] for each in found.data], removed


def command(rows, **rule):
    """Return the same of the command line."""
    Path("rows.jsonl").write_text("".join(json.dumps(each) + "\n" for each in rows))
    words = [f"--{name.replace('_', '-')}={value}" for name, value in rule.items()]
    call = ["dedup", "rows.jsonl", "--db", "db", "--run", "r", "-o", "kept.jsonl", *words]
    ran = CliRunner().invoke(app, [*call, "--groups", "groups.jsonl"])
    assert ran.exit_code == 0, ran.stderr
    kept, removed = lines_of("kept.jsonl"), lines_of("groups.jsonl")
    return [each["id"] for each in kept], {each["id"]: each.get("match") for each in removed}


def lines_of(name):
    return [json.loads(line) for line in Path(name).read_text().splitlines()]


CASES = [(run, *rules) for rules in RULES.values() for run in (library, command)]


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("run", [library, command])
def test_a_run_repeated_with_another_rule_decides_again(run):
    loose = run(ROWS, similarity=0.7)
    strict = run(ROWS, similarity=0.95)

    assert loose == (["a", "c"], {"b": "a"})
    assert strict == (["a", "b", "c"], {})
    # What a run has stored stays, whatever is asked next.
    assert run(ROWS, similarity=0.7) == strict


@pytest.mark.parametrize(("run", "first", "second"), [*CASES, (command, *METHODS)])
def test_every_part_of_a_rule_makes_it_another_rule(run, first, second):
    """A copy of "b" is stored in between, which a search finds and the note of the run has not."""
    decided = [run(ROWS, **first), run(ROWS, **second)]
    with simdb.open("db") as database:
        database.insert("copy", ROWS[1]["text"])

    again, otherwise = run(ROWS, **second), run(ROWS, **first)

    assert [*decided, again] == 3 * [(["a", "c"], {"b": "a"})]
    assert otherwise == (["a", "c"], {"b": "copy"})


@pytest.mark.parametrize("run", [library, command])
def test_what_is_kept_of_a_group_is_no_part_of_the_rule(run):
    decided = run(ROWS, keep="first")
    with simdb.open("db") as database:
        database.insert("copy", ROWS[1]["text"])

    assert run(ROWS, keep="longest") == decided


LINES = {3: "one two three", 6: "four five six seven eight nine"}
PARTS = [{"unit": unit, "min_words": least} for unit in ("line", "paragraph") for least in (3, 6)]


def texts_without_parts(rows, rule):
    """Return what is left of the texts of rows without the parts that occurred before."""
    command(rows, **rule)
    return [each["text"] for each in lines_of("kept.jsonl")]


@pytest.mark.parametrize("first", PARTS)
@pytest.mark.parametrize("second", PARTS)
def test_a_run_with_other_parts_drops_nothing_for_what_it_kept_itself(first, second):
    rows = [{"id": id, "text": f"{LINES[3]}\n{LINES[6]}\n\n{LINES[6]}"} for id in "ab"]

    texts_without_parts(rows, first)
    again = texts_without_parts(rows, second)
    os.rename("db", "other")

    assert again == texts_without_parts(rows, second)
