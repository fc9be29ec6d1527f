"""What commands list: how much of it, with which exit code, and written to files."""

import csv
import itertools
import json
import os
from pathlib import Path

import pyarrow.ipc
import pyarrow.parquet
import pytest
from led_files import ids_in, read
from over import over

import simdb
from simdb.cli import listing

VERBS = [["dedup", "a.jsonl"], ["dedup", "a.jsonl", "--db", "fresh"], ["pairs", "d"],
         ["clusters", "d"]]  # fmt: skip


@pytest.fixture
def listed(simdb_run, write_lines):
    """Runs a command on three pairs of near-duplicates, in a file and in a database."""
    first = [" ".join(f"w{start + n}" for n in range(50)) for start in (0, 100, 200)]
    texts = [text for each in first for text in (each, each + " more")]
    write_lines("a.jsonl", *({"id": at, "text": text} for at, text in enumerate(texts)))
    write_lines("none.jsonl", {"id": "x", "text": "a b c d"}, {"id": "y", "text": "e f g h"})
    simdb_run("insert", "d", "a.jsonl")
    simdb_run("insert", "empty", "none.jsonl")
    return simdb_run


@over("verb", VERBS)
def test_found_is_exit_code_0_unless_asked_for_and_quiet_shows_nothing(listed, verb):
    found, asked, quiet = (
        listed(*verb, *words) for words in ([], ["--exit-code"], ["--quiet", "--exit-code"])
    )
    nothing = listed(*verb[:1], *{"dedup": ["none.jsonl"]}.get(verb[0], ["empty"]), "--exit-code")

    assert (found.code, len(found.rows)) == (0, 3)
    assert (asked.code, len(asked.rows)) == (1, 3)
    assert (quiet.code, quiet.output, quiet.notes) == (1, "", "")
    assert (nothing.code, nothing.output) == (0, "")


@over("verb", [VERBS[0], VERBS[3]])
def test_a_limit_shows_the_first_and_says_that_there_are_more(listed, verb):
    every = listed(*verb).rows
    limited = [listed(*verb, "--limit", count) for count in (2, 3)]
    none = listed(*verb, "--limit", "0", "--exit-code")

    assert [each.rows for each in limited] == [every[:2], every]
    assert "only the first 2 are shown; --limit shows more" in limited[0].notes
    assert "only the first" not in limited[1].notes
    assert (none.code, none.rows) == (1, [])
    assert "--limit shows more" not in none.notes
    assert listed(*verb, "--limit", "-1").code == 2


def test_a_limit_does_not_cut_files_of_results(listed):
    listed("dedup", "a.jsonl", "--limit", 1, "--groups", "g.jsonl", "-o", "k.jsonl")

    assert len(Path("g.jsonl").read_text().splitlines()) == 3
    assert ids_in("k.jsonl") == [0, 2, 4]


def test_quiet_gives_no_hint_and_no_note(listed):
    records = [{"id": at, "text": f"<p>short <b>text</b> {at}</p>", "n": at} for at in range(30)]
    records.append({"id": 99, "text": "<p>short <b>text</b> 7</p>", "n": "x"})
    Path("h.jsonl").write_text("".join(json.dumps(each) + "\n" for each in records))
    verbs = [
        ["dedup", "h.jsonl", "--keep", "max:n", "-o", "k.jsonl"],
        ["dedup", "h.jsonl", "--db", "again", "--keep", "max:n", "-o", "k2.jsonl"],
        ["insert", "again", "h.jsonl", "--metadata", "--on-conflict", "replace"],
        ["lookup", "again", "h.jsonl", "--found", "n.jsonl"],
        ["decontaminate", "h.jsonl", "--against", "none.jsonl", "-o", "d.jsonl"],
        ["clusters", "again", "--keep", "max:n", "--similarity", "0.5"],
    ]

    loud = [listed(*verb).notes for verb in verbs]

    Path("again").rename("before")
    quiet = [listed(*verb, *["--quiet"] * (verb[0] != "insert")) for verb in verbs]
    del loud[2], quiet[2]  # it has no such option, and stores the metadata for clusters
    assert [ran.notes for ran in quiet] == [""] * len(quiet)
    assert {ran.code for ran in quiet} == {0}
    assert all(loud)
    assert "short" in loud[0]
    assert "are not numbers" in loud[0]
    assert "are not numbers" in loud[-1]


def test_quiet_still_tells_of_bad_input_and_empty_outputs(listed):
    Path("bad.jsonl").write_text('{"id": 1}\n{"id": 2, "text": "a b c d"}\n')

    ran = listed("dedup", "bad.jsonl", "--db", "empty", "--quiet", "-o", "k.jsonl")

    assert "bad.jsonl:1: no field 'text'" in ran.notes
    assert "k.jsonl is empty" in ran.notes
    assert ran.notes.count("\n") == 2


def test_pairs_that_are_not_shown_are_not_searched_for(listed, monkeypatch):
    def endless(found):
        yield {"left": 1, "right": 2, "distance": 0, "similarity": 1.0}
        yield {"left": 1, "right": 3, "distance": 0, "similarity": 1.0}
        yield from itertools.repeat({"left": 0}, 3)
        raise AssertionError("more was read")

    monkeypatch.setattr(listing, "_pair_rows", endless)

    assert listed("pairs", "d", "--limit", 2).code == 0
    assert listed("pairs", "d", "--quiet", "--exit-code").code == 1


@pytest.fixture
def stored(simdb_run):
    with simdb.open("x", "x") as database:
        database.insert_many(["a", b"\xff", "c"], [3, 2, 5 << 40])
    return simdb_run


PAIR = {"left": "a", "right": "ff", "distance": 1, "similarity": None}


def test_pairs_are_written_in_every_format(stored):
    for name in ("p.parquet", "p.arrow", "p.jsonl", "p.csv"):
        ran = stored("pairs", "x", "--distance", 1, "--output", name, "--text-ids")
        assert (ran.code, ran.output) == (0, "")

    assert read("p.parquet") == [PAIR]
    with pyarrow.ipc.open_file("p.arrow") as file:
        assert file.read_all().to_pylist() == [PAIR]
    assert read("p.jsonl") == [{**PAIR, "right": {"bytes": "ff"}}]
    assert read("p.csv") == [{**PAIR, "distance": "1", "similarity": ""}]


def test_an_id_with_a_line_end_stays_one_cell(simdb_run):
    ids = ["a\rb", "c\nd", "e\r\nf"]
    with simdb.open("x", "x") as database:
        database.insert_many(ids, [3, 3, 3])

    simdb_run("clusters", "x", "--distance", 0, "--output", "c.csv")

    with open("c.csv", encoding="utf-8", newline="") as file:
        assert [row[0] for row in csv.reader(file)] == ["id", *ids]


def test_clusters_are_written_member_by_member(stored):
    ran = stored("clusters", "x", "--distance", 1, "--output", "c.csv")

    with open("c.csv", encoding="utf-8") as file:
        assert list(csv.reader(file)) == [
            ["id", "representative", "cluster"], ["a", "a", "0"], ["ff", "a", "0"],
        ]  # fmt: skip
    assert ran.code == 0


def test_no_pairs_are_a_file_without_rows(stored):
    for name in ("p.parquet", "p.csv"):
        assert stored("pairs", "x", "--distance", 0, "--output", name).code == 0

    assert pyarrow.parquet.read_table("p.parquet").num_rows == 0
    with open("p.csv", encoding="utf-8") as file:
        assert file.read() == "left,right,distance,similarity\n"


def test_ids_of_several_kinds_leave_no_file(stored):
    ran = stored("pairs", "x", "--distance", 1, "--output", "p.parquet")

    assert ran.code == 2
    assert "--text-ids" in ran.notes
    assert sorted(os.listdir()) == ["x"]


def test_rotation_is_planned_explained_and_done(stored):
    options = ("--distance", 1, "--search", "rotation,rotations=8")

    plan = stored("plan", "x", "--pairs", *options).rows[0]
    ran = stored("pairs", "x", "--explain", *options)

    assert (plan["method"], plan["tables"]) == ("rotation", 8)
    assert [row["distance"] for row in ran.rows] == [1]
    assert "rotation, recall 1: sorts in 8 rotation(s)" in ran.notes
