"""dedup --against: the input is compared with texts that stay, and that are stored nowhere."""

import csv
import json
from pathlib import Path

import pytest
from led_files import KEPT, NEW, ONE, TWO, changed, records, write

import simdb


@pytest.fixture
def run(simdb_run):
    """Runs dedup over new.jsonl, beside two files of a reference."""
    write("new.jsonl", records(NEW, "n"))
    write("old.jsonl", records(["nothing like it at all", ONE], "o"))
    write("more.jsonl", records(["a few other words"], "m"))
    return lambda *words: simdb_run("dedup", "new.jsonl", *words)


@pytest.mark.parametrize(
    "against",
    [
        ["--against", "old.jsonl", "more.jsonl"],
        ["--against", "old.jsonl", "--against", "more.jsonl"],
        ["--against", "[mo]*[ed].jsonl"],
    ],
)
def test_what_matches_the_reference_is_left_out(run, against):
    ran = run(*against, "-o", "kept.jsonl")

    assert ran.code == 0
    lines = Path("new.jsonl").read_text().splitlines(keepends=True)
    assert Path("kept.jsonl").read_text() == lines[1] + lines[3]
    assert [(row["representative"], row["reference"], row["size"]) for row in ran.rows] == [
        ("o1", True, 3), ("n1", False, 2),
    ]  # fmt: skip
    assert [[each["id"] for each in row["duplicates"]] for row in ran.rows] == [
        ["n0", "n4"], ["n2"],
    ]  # fmt: skip
    assert "5 documents, 2 groups, 3 duplicates, 2 of them of --against" in ran.notes


@pytest.mark.parametrize("source", ["s.jsonl", "s.csv", "s.parquet", "s.jsonl.gz"])
@pytest.mark.parametrize("name", ["r.jsonl", "r.csv", "r.parquet", "r.jsonl.gz"])
@pytest.mark.few(4)
def test_data_and_reference_can_have_any_format(simdb_run, source, name):
    write(source, records(NEW, "n"))
    write(name, records([ONE, ""], "o"))

    ran = simdb_run("dedup", source, "--against", name, "-o", "kept.jsonl", "--json")

    assert ran.code == 0
    kept = [json.loads(line)["id"] for line in Path("kept.jsonl").read_text().splitlines()]
    assert kept == KEPT
    assert ran.rows[0]["representative"] == "o0"


def test_a_folder_and_a_single_file_are_a_reference(simdb_run):
    Path("pages").mkdir()
    Path("pages/one.txt").write_text(ONE)
    Path("page.html").write_text(changed(TWO, 1))
    write("new.jsonl", records(NEW, "n"))

    ran = simdb_run("dedup", "new.jsonl", "--against", "pages", "page.html", "-o", "kept.jsonl")

    assert [json.loads(line)["id"] for line in Path("kept.jsonl").read_text().splitlines()] == [
        "n3"
    ]
    assert [row["representative"] for row in ran.rows] == ["pages/one.txt", "page.html"]


def test_files_are_kept_in_a_folder_or_a_list(simdb_run):
    Path("pages").mkdir()
    for at, text in enumerate(NEW):
        Path(f"pages/{at}.txt").write_text(text)
    write("old.jsonl", records([ONE], "o"))

    simdb_run("dedup", "pages", "--against", "old.jsonl", "-o", "kept/")
    simdb_run("dedup", "pages", "--against", "old.jsonl", "-o", "kept.txt")

    assert sorted(path.name for path in Path("kept").iterdir()) == ["1.txt", "3.txt"]
    assert Path("kept.txt").read_text() == "pages/1.txt\npages/3.txt\n"


def test_keep_orders_the_input_and_not_the_reference(run):
    ran = run("--against", "old.jsonl", "--keep", "last", "-o", "kept.jsonl")

    assert [json.loads(line)["id"] for line in Path("kept.jsonl").read_text().splitlines()] == [
        "n2", "n3",
    ]  # fmt: skip
    assert [row["representative"] for row in ran.rows] == ["o1", "n2"]


def test_tables_of_groups_say_which_leader_is_of_the_reference(run):
    run("--against", "old.jsonl", "--groups", "groups.csv", "--show", "8", "--quiet")

    with Path("groups.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["representative"], row["reference"], row["id"]) for row in rows] == [
        ("o1", "true", "n0"), ("o1", "true", "n4"), ("n1", "false", "n2"),
    ]  # fmt: skip
    assert rows[0]["representative_text"].startswith("w0 w1")


def test_a_page_shows_the_text_of_the_reference(run):
    pytest.importorskip("jinja2")
    write("old.jsonl", records([ONE + " lighthouse"], "o"))

    ran = run("--against", "old.jsonl", "--report", "page.html")

    assert ran.code == 0
    assert "lighthouse" in Path("page.html").read_text()


def test_a_database_is_a_reference_that_nothing_is_stored_in(run, simdb_run):
    assert simdb_run("insert", "db", "old.jsonl").code == 0
    before = {path.name: path.read_bytes() for path in Path("db").glob("data*")}

    ran = run("--against", "db", "-o", "kept.jsonl", "--show", "5")

    assert {path.name: path.read_bytes() for path in Path("db").glob("data*")} == before
    assert [json.loads(line)["id"] for line in Path("kept.jsonl").read_text().splitlines()] == KEPT
    assert [(row["representative"], row["reference"], row["text"]) for row in ran.rows] == [
        ("o1", True, None), ("n1", False, "w59 w…"),
    ]  # fmt: skip
    assert "with stored documents only estimated" in ran.notes


def test_texts_of_the_database_decide_if_they_are_named(run, simdb_run):
    assert simdb_run("insert", "db", "old.jsonl").code == 0

    ran = run("--against", "db", "--texts", "old.jsonl", "--show", "5", "--verify", "numbers")

    # The other two that are alike differ in a number.
    assert [(row["representative"], row["text"]) for row in ran.rows] == [("o1", "w0 w1…")]
    assert "only estimated" not in ran.notes


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--db", "d"], "--against compares with a reference and stores nothing"),
        (["--policy", "connected"], "works only without --against"),
        (["--unit", "line"], "--against is for whole documents"),
        (["--texts", "more.jsonl"], "--texts works only with --db, or a database in --against"),
        (["-o", "old.jsonl"], "old.jsonl is in --against, which stays as it is"),
        (["--against", "new.jsonl"], "new.jsonl is in the data and in what they are compared"),
        (["--against", "gone.jsonl"], "there is no file or folder gone.jsonl"),
        (["--against", "db"], "db is a database, which is a reference by itself"),
    ],
)
def test_what_does_not_go_with_a_reference_is_refused(run, simdb_run, words, message):
    simdb.open("db").close()
    before = sorted(path.name for path in Path().iterdir())

    ran = run("--against", "old.jsonl", *words)

    assert ran.code == 2
    assert message in ran.notes
    assert sorted(path.name for path in Path().iterdir()) == before


@pytest.mark.parametrize(
    ("command", "replaced"),
    [
        (["dedup", "new.jsonl", "--against", "held/new.jsonl", "-o", "held/"], "held/new.jsonl"),
        (["dedup", "new.jsonl", "--against", "held", "-o", "held/new.jsonl"], "held/new.jsonl"),
        (["dedup", "own.txt", "--against", "held", "-o", "held/a.txt"], "held/a.txt"),
        (["dedup", "own.txt", "--against", "held", "--report", "held/a.txt"], "held/a.txt"),
        (
            ["decontaminate", "new.jsonl", "--against", "held/new.jsonl", "-o", "held/"],
            "held/new.jsonl",
        ),
    ],
)
def test_no_output_replaces_a_file_in_the_folder_of_a_reference(run, simdb_run, command, replaced):
    """A file of survivors, called as its source, took the place of the reference of that name."""
    Path("held").mkdir()
    write("held/new.jsonl", records([ONE], "o"))
    Path("held/a.txt").write_text(ONE)
    Path("own.txt").write_text(TWO)
    before = {path.name: path.read_bytes() for path in Path("held").iterdir()}

    ran = simdb_run(*command)

    assert ran.code == 2
    assert f"{replaced} is in --against, which stays as it is" in ran.notes
    assert {path.name: path.read_bytes() for path in Path("held").iterdir()} == before


def test_options_of_the_sketch_must_be_those_of_the_database(run, simdb_run):
    simdb_run("insert", "db", "old.jsonl")

    ran = run("--against", "db", "--minhash")

    assert (ran.code, "db was created with --minhash" in ran.notes) == (2, True)


def test_records_of_the_reference_that_are_skipped_are_reported(run):
    write("old.jsonl", [*records([ONE], "o"), {"id": "x"}, {"id": "y", "text": None}])

    ran = run("--against", "old.jsonl", "-o", "kept.jsonl")

    assert ran.code == 1
    assert "old.jsonl:2: no field 'text'" in ran.notes
    assert [json.loads(line)["id"] for line in Path("kept.jsonl").read_text().splitlines()] == KEPT


def test_a_reference_without_the_field_ends_the_run(run):
    write("old.jsonl", [{"id": "x", "body": ONE}])

    ran = run("--against", "old.jsonl", "-o", "kept.jsonl")

    assert ran.code == 2
    assert "use --text-field to name the field" in ran.notes
    assert not Path("kept.jsonl").exists()


def test_nulls_of_the_reference_match_nothing(simdb_run):
    write("new.jsonl", [{"id": "n0", "text": None}, {"id": "n1", "text": ""}])
    write("old.jsonl", [{"id": "o0", "text": None}, {"id": "o1", "text": ""}, {"id": "o2"}])

    ran = simdb_run("dedup", "new.jsonl", "--against", "old.jsonl", "--on-null", "keep", "--json")

    assert (ran.code, ran.rows) == (0, [])


def test_exit_code_timings_and_json_are_as_without_a_reference(run):
    ran = run("--against", "old.jsonl", "--exit-code", "--timings", "--json")

    assert ran.code == 1
    assert '"stage": "reading"' in ran.notes
    assert len(ran.rows) == 2


def test_the_same_id_in_input_and_reference_is_not_renamed(simdb_run):
    write("new.jsonl", records([ONE, TWO], "x"))
    write("old.jsonl", records([TWO], "x"))

    ran = simdb_run("dedup", "new.jsonl", "--against", "old.jsonl")

    assert [row["representative"] for row in ran.rows] == ["x0"]
    assert [row["duplicates"][0]["id"] for row in ran.rows] == ["x1"]
    assert "renamed" not in ran.notes
