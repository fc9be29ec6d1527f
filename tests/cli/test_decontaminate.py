"""Command decontaminate: leaks are shown, clean documents are written, errors name the thing."""

import pytest
from led_files import read
from over import over

from simdb.cli.options.declare import spread
from simdb.jobs.decontamination.items import COMMON_LEAST, NGRAM
from simdb.jobs.decontamination.result import COLUMNS

ITEM = (
    "a train leaves the station at noon with ninety passengers and stops at every village until"
    " dusk when only four of them are left how many got off at each stop on average"
)
OTHER = (
    "which of the following planets has the shortest day and why is it not the one nearest to us"
)


@pytest.fixture
def files(write_lines):
    write_lines(
        "train.jsonl", {"id": "x", "text": "nothing here"}, {"id": "y", "text": f"look: {ITEM}!"}
    )
    write_lines("more.jsonl", {"id": "z", "text": OTHER.title()})
    write_lines("test.jsonl", {"id": "t1", "text": ITEM})
    write_lines("test2.jsonl", {"id": "t2", "text": OTHER})


def test_leaks_are_shown_and_counted(simdb_run, files):
    ran = simdb_run("decontaminate", "train.jsonl", "--against", "test.jsonl")
    clean = simdb_run(
        "decontaminate", "train.jsonl", "more.jsonl", "--against", "test.jsonl", "test2.jsonl",
        "-o", "-", "--quiet", "--exit-code",
    )  # fmt: skip

    (row,) = ran.rows
    assert (ran.code, row["id"], row["item"], row["coverage"]) == (0, "y", "t1", 1)
    assert row["text"] == ITEM
    assert "1 of 1 item found in 1 of 2 documents, 1 kept;" in ran.notes
    assert (clean.code, clean.notes) == (1, "")
    assert [each["id"] for each in clean.rows] == ["x"]


@over(
    ("action", "texts"),
    [
        ("--drop", ["nothing here"]), ("--cut", ["nothing here", "look: !"]),
        ("--mark", ["nothing here", f"look: {ITEM}!"]),
    ],
)  # fmt: skip
def test_documents_are_dropped_cut_or_marked(simdb_run, files, tmp_path, action, texts):
    simdb_run(
        "decontaminate", "train.jsonl", "--against", "test.jsonl", action, "-o", "clean.jsonl",
        "--leaks", "leaks.csv",
    )  # fmt: skip

    rows = read("clean.jsonl")
    assert [row["text"] for row in rows] == texts
    assert [len(row.get("leaks", [])) for row in rows if row["id"] == "y"] in ([], [0], [1])
    assert (action == "--mark") == any("leaks" in row for row in rows)
    assert (tmp_path / "leaks.csv").read_text().startswith("id,item,field,coverage")


def test_a_page_shows_each_passage_beside_its_item(simdb_run, files, tmp_path):
    pytest.importorskip("jinja2")

    ran = simdb_run(
        "decontaminate", "train.jsonl", "more.jsonl", "--against", "test.jsonl", "test2.jsonl",
        "--report", "leaks.html", "--quiet",
    )  # fmt: skip

    assert ran.code == 0
    page = (tmp_path / "leaks.html").read_text()
    assert page.count('<article class="pair"') == 2
    assert "1 document with" in page


def test_documents_that_are_files_are_dropped_and_not_changed(simdb_run, files, tmp_path):
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "a.txt").write_text(f"text before {ITEM} and after")
    (tmp_path / "pages" / "b.txt").write_text("something else")

    ran = simdb_run("decontaminate", "pages", "--against", "test.jsonl", "-o", "clean.txt")

    assert ran.code == 0
    assert (tmp_path / "clean.txt").read_text().split() == ["pages/b.txt"]


@over(
    ("words", "expected"),
    [
        (["a", "--in", "b", "c"], ["a", "--in", "b", "--in", "c"]),
        (["--in", "b", "c", "-o", "d", "e"], ["--in", "b", "--in", "c", "-o", "d", "e"]),
        (["--in", "-", "c"], ["--in", "-", "--in", "c"]),
        (["--in"], ["--in"]), (["--in", "b", "--", "c"], ["--in", "b", "--", "c"]),
        (["--in=b", "c"], ["--in=b", "c"]),
    ],
)  # fmt: skip
def test_words_after_a_greedy_option_are_its_values(words, expected):
    assert spread(words, {"--in"}) == expected


def test_outputs_without_documents_or_leaks_are_reported(simdb_run, files, tmp_path):
    (tmp_path / "clean.jsonl").write_text("of an earlier run\n")

    full = simdb_run("decontaminate", "more.jsonl", "--against", "test2.jsonl", "-o", "clean.jsonl")
    none = simdb_run(
        "decontaminate", "more.jsonl", "--against", "test.jsonl", "--leaks", "l.jsonl", "--quiet"
    )

    told = "clean.jsonl is empty: no document is kept; what it held before is in clean.jsonl"
    assert f"{told}.before" in full.notes
    assert "l.jsonl is empty: no item was found" in none.notes


def test_the_help_says_what_decides_and_what_a_leak_has(simdb_run):
    said = " ".join(simdb_run("decontaminate", "--help").output.split())

    assert f"share runs of {NGRAM} words (--ngram)" in said
    assert "more than ten of the documents, or items" in said
    assert COMMON_LEAST == 10
    row = said.partition("A leak is a row: ")[2].partition(";")[0]
    assert [name for name in COLUMNS if name not in row] == []
