"""Runs of dedup with --db that are repeated keep and leave out the same."""

import os
import random
from pathlib import Path

import pytest
from forked import run_until_killed

import simdb

WORDS = [f"word{number}" for number in range(4000)]


def made_records(count, seed=1, prefix="d"):
    """Returns records, about a third of them with a few changed words of an earlier one."""
    rng = random.Random(seed)
    records = []
    for at in range(count):
        if records and rng.random() < 0.35:
            words = rng.choice(records)["text"].split()
            for _ in range(rng.randrange(8)):
                words[rng.randrange(len(words))] = rng.choice(WORDS)
        else:
            words = rng.choices(WORDS, k=80)
        records.append({"id": f"{prefix}{at}", "text": " ".join(words), "n": at})
    return records


@pytest.fixture
def kept_run(simdb_run):
    """Runs dedup with --db and returns the content of its outputs and the run itself."""

    def run(*arguments, keep="k.jsonl"):
        ran = simdb_run("dedup", *arguments, "--db", "db", "-o", keep, "--groups", "g.jsonl")
        return Path(keep).read_bytes(), Path("g.jsonl").read_bytes(), ran

    return run


@pytest.mark.parametrize(("rule", "size"), [("first", 100), ("last", 1), ("max:n", 100)])
def test_records_that_come_several_times_are_told_apart_when_the_run_is_repeated(
    kept_run, write_lines, monkeypatch, rule, size
):
    """With --keep last the record that was kept was taken for the one left out, and lost."""
    monkeypatch.setattr("simdb.cli.options.intake.BATCH_DOCUMENTS", size)
    records = made_records(20)
    again = [{**each, "n": each["n"] + 7 * (2 - at)} for at in range(2) for each in records[::2]]
    write_lines("a.jsonl", *records, *again, *records[:5])

    first = kept_run("a.jsonl", "--keep", rule)
    second = kept_run("a.jsonl", "--keep", rule)
    third = kept_run("a.jsonl", "--keep", rule)

    assert first[0].count(b"\n") > 10
    assert second[:2] == third[:2] == first[:2]


def test_a_repeated_run_writes_the_same_after_other_runs(kept_run, write_lines, simdb_run):
    monday, tuesday = made_records(100), made_records(200)[50:]
    for each in tuesday[50:]:
        each["id"] = "t" + each["id"]
    write_lines("monday.jsonl", *monday)
    write_lines("tuesday.jsonl", *tuesday)

    first = kept_run("monday.jsonl")
    other = kept_run("tuesday.jsonl")
    simdb_run("compact", "db")

    assert kept_run("monday.jsonl")[:2] == first[:2]
    assert kept_run("tuesday.jsonl")[:2] == other[:2]
    kept = [set(part.splitlines()) for part in (first[0], other[0])]
    assert kept[0].isdisjoint(kept[1])
    ran = kept_run("monday.jsonl")[2]
    assert "0 new" in ran.notes
    assert f"{len(kept[0]):,} kept again" in ran.notes
    assert "this run is in the database already" in ran.notes


def test_an_id_of_a_document_that_was_left_out_stays_with_it(kept_run, write_lines, monkeypatch):
    """The next document with that id was renamed, and in another batch took the id for itself."""
    monkeypatch.setattr("simdb.cli.options.intake.BATCH_DOCUMENTS", 2)
    text = " ".join(WORDS[:90])
    records = [
        {"id": "a", "text": text}, {"id": "x", "text": f"{text} end"},
        {"id": "b", "text": " ".join(WORDS[90:180])}, {"id": "x", "text": " ".join(WORDS[180:270])},
    ]  # fmt: skip
    write_lines("a.jsonl", *records)

    first = kept_run("a.jsonl")
    second = kept_run("a.jsonl")

    assert first[0].count(b"\n") == 3
    assert second[:2] == first[:2]


def test_a_source_that_has_grown_by_records_without_the_field_of_the_rule_is_kept(
    kept_run, write_lines
):
    """The run ended with exit code 2, as if no record had the field."""
    records = made_records(4)
    write_lines("a.jsonl", *records)
    first = kept_run("a.jsonl", "--keep", "max:n")[0]
    write_lines("a.jsonl", *records, {"id": "late", "text": " ".join(WORDS[:90])})

    second, _, ran = kept_run("a.jsonl", "--keep", "max:n")

    assert ran.code == 0
    assert second.startswith(first)
    assert second.count(10) == first.count(10) + 1


def test_the_name_is_made_of_the_places_of_the_sources(kept_run, write_lines):
    write_lines("a.jsonl", *made_records(30))
    write_lines("b.jsonl", *made_records(30, seed=2, prefix="e"))
    os.makedirs("in/deep")
    first = kept_run("a.jsonl", "b.jsonl")[0]

    assert kept_run("./in/deep/../../[ab].jsonl")[0] == first
    assert sorted(kept_run("b.jsonl", "a.jsonl")[0].splitlines()) == sorted(first.splitlines())
    assert kept_run("a.jsonl")[0] == b""


def test_standard_input_has_no_name_unless_one_is_given(simdb_run, write_lines):
    lines = Path(write_lines("a.jsonl", *made_records(20))).read_bytes()

    unnamed = [simdb_run("dedup", "-", "--db", "db", "-o", "k.jsonl", given=lines)
               for _ in range(2)]  # fmt: skip
    named = [simdb_run("dedup", "-", "--db", "d2", "--run", "x", "-o", "n.jsonl", given=lines)
             for _ in range(2)]  # fmt: skip

    assert "k.jsonl is empty" in unnamed[1].notes
    assert "kept again" in named[1].notes
    assert Path("n.jsonl").read_bytes() == Path("k.jsonl.before").read_bytes()


STOPPED = """
import os, signal, sys
from simdb.files import outputs
from simdb.database.write.write_state import WriteState
where, *arguments = sys.argv[1:]
commit, replace = WriteState.commit, os.replace
def stop():
    os.kill(os.getpid(), signal.SIGKILL)
def committing(self):
    if where == "before commit": stop()
    commit(self)
    if where == "after commit": stop()
def replacing(*names):
    is_output = names[0].endswith(".partial")
    if is_output and where == "before output": stop()
    replace(*names)
    if is_output and where == "after output": stop()
WriteState.commit = committing
outputs.os.replace = replacing
sys.argv = ["simdb", *arguments]
from simdb.cli.app import main
main()
"""


@pytest.mark.parametrize(
    "where", ["before commit", "after commit", "before output", "after output"]
)
def test_a_run_that_was_killed_writes_the_same_when_repeated(
    kept_run, simdb_run, write_lines, where
):
    write_lines("a.jsonl", *made_records(60))
    wanted = kept_run("a.jsonl")[:2]
    fresh = ["dedup", "a.jsonl", "--db", "fresh", "-o", "f.jsonl", "--groups", "fg.jsonl"]
    run_until_killed(STOPPED, where, *fresh)

    simdb_run(*fresh)

    assert (Path("f.jsonl").read_bytes(), Path("fg.jsonl").read_bytes()) == wanted
    with simdb.open("fresh", "r") as database:
        assert len(database) == wanted[0].count(10)
        assert list(database.check(deep=True)) == []
