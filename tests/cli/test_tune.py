"""Command tune, and the notes of other commands that name it."""

import random

import pytest
from over import over

import simdb
from simdb.cli import tune as command
from simdb.cli.output import render

NAMES = tuple("".join(random.Random(at).choices("bcdfgaeiou", k=7)) for at in range(2000))


def titles(count, length=8, seed=0):
    generator = random.Random(seed)
    return [" ".join(generator.choices(NAMES, k=length)) for _ in range(count)]


@pytest.fixture
def records(write_lines):
    return write_lines("titles.jsonl", *({"id": at, "text": t} for at, t in enumerate(TEXTS)))


# Documents n and n + 60 differ in two words of eight and one more.
FIRST = titles(60)
TEXTS = [*FIRST, *(f"new {' '.join(text.split()[2:])} title" for text in FIRST), *titles(100, 8, 1)]
JUDGED = [(at, at + 60, 1) for at in range(30)] + [(at, at + 1, 0) for at in range(30, 59)]


def test_the_flags_can_be_pasted(simdb_run, records):
    ran = simdb_run("tune", records)

    (row,) = ran.rows
    assert ran.code == 0
    assert row["words"] == 8
    assert row["precision"] is None
    assert row["texts"] == len(TEXTS)
    found = simdb_run("dedup", records, *row["flags"].split())
    assert found.code == 0
    assert simdb_run("create", "db", *row["flags"].split()).code == 0
    with simdb.open("db", "r") as database:
        assert database.options.similarity == row["similarity"]
        assert database.options.sketch == simdb.tune(TEXTS).options.sketch


def test_judged_pairs_are_read_in_each_format(simdb_run, records, write_lines, tmp_path):
    rows = ["id,id,same", *(f'"{a}",{b},{c}' for a, b, c in JUDGED), ""]
    (tmp_path / "a.csv").write_text("\n".join(rows), encoding="utf-8")
    write_lines("a.ndjson", *({"left": str(a), "right": b, "label": bool(c)} for a, b, c in JUDGED))

    table = simdb_run("tune", records, "--pairs", "a.csv").rows
    lines = simdb_run("tune", records, "--pairs", "a.ndjson").rows

    expected = simdb.tune(
        TEXTS, [(TEXTS[a], TEXTS[b]) for a, b, _ in JUDGED], [c for *_, c in JUDGED]
    )
    assert table == lines == [expected.as_dict()]
    assert table[0]["pairs"] == len(JUDGED)
    assert table[0]["recall"]["value"] > 0.8


@over(
    ("name", "content", "message"),
    [
        ("a.tsv", "1\t2\t1\n3\t4\n", "a.tsv:2: a judged pair is id, id and label"),
        ("a.tsv", "1\t2\t1\n3\t4\tmaybe\n", "a.tsv:2: a judged pair"),
        ("a.tsv", "1 2 1\n", "a.tsv:1: a judged pair"),
        ("a.jsonl", "[1, 2, 1]\n\n{\n", "a.jsonl:3: this is not JSON"),
        ("a.jsonl", "7\n", "a.jsonl:1: a judged pair is an array"),
        ("a.tsv", "1\tnobody\t1\n", "a.tsv: the sources lack 1 document of the pairs"),
    ],
)
def test_bad_pairs_are_wrong_use(simdb_run, records, tmp_path, name, content, message):
    (tmp_path / name).write_text(content, encoding="utf-8")

    ran = simdb_run("tune", records, "--pairs", name)

    assert ran.code == 2
    assert message in ran.notes
    assert ran.output == ""


def test_few_judged_pairs_leave_the_advice_to_the_documents(simdb_run, records, tmp_path):
    (alone,) = simdb_run("tune", records).rows
    for name, content, said in (
        ("none.tsv", "", "0 judged pairs with 0 duplicates"),
        ("one.tsv", "0\t60\t1\n1\t2\t0\n3\t4\t0\n", "3 judged pairs with 1 duplicate say"),
    ):
        (tmp_path / name).write_text(content, encoding="utf-8")
        ran = simdb_run("tune", records, "--pairs", name)

        assert ran.code == 0
        assert ran.rows[0]["commands"] == alone["commands"]
        assert any(said in reason for reason in ran.rows[0]["reasons"])


def test_the_words_of_each_command_run(simdb_run, records):
    (row,) = simdb_run("tune", records).rows

    assert list(row["commands"]) == ["dedup", "create", "query", "python"]
    for name, words in list(row["commands"].items())[:3]:
        place = {"SOURCE...": records, "DB": "db", "TEXT": TEXTS[0]}
        command = [place.get(word, word) for word in words.split()]
        assert command[:2] == ["simdb", name]
        assert simdb_run(*command[1:]).code == 0


def test_blocking_and_no_blocking_override_what_pairs_show(simdb_run, records, tmp_path):
    lines = [f"{a}\t{b}\t{c}" for a, b, c in JUDGED]
    (tmp_path / "a.tsv").write_text("\n".join(lines), encoding="utf-8")

    found = [
        simdb_run("tune", records, "--pairs", "a.tsv", *words).rows[0]["blocking"]
        for words in ([], ["--blocking"], ["--no-blocking"])
    ]

    assert found == [False, True, False]


def test_a_part_of_many_documents_is_kept_and_their_number_is_known(
    simdb_run, records, monkeypatch
):
    monkeypatch.setattr("simdb.sketch.FITTED_TEXTS", 40)

    (row,) = simdb_run("tune", records).rows

    assert row["texts"] == 40
    assert any(f"{len(TEXTS):,}" in reason for reason in row["reasons"])


def test_on_a_terminal_it_is_a_table_and_sentences(simdb_run, records, monkeypatch):
    monkeypatch.setattr(command, "is_table", lambda: not render.wants_json())

    ran = simdb_run("tune", records)

    assert "--similarity" in ran.output
    assert "jaccard" in ran.output
    assert "* Half of the" in ran.output


@over("arguments", [["dedup"], ["dedup", "--db", "db"], ["insert", "db2"]])
def test_short_documents_get_a_note_that_names_tune(simdb_run, records, arguments):
    ran = simdb_run(arguments[0], *arguments[1:], records)

    (line,) = [line for line in ran.notes.splitlines() if "simdb tune" in line]
    assert "at most 8 words" in line


def test_given_and_stored_thresholds_and_long_or_few_documents_get_no_note(
    simdb_run, records, write_lines
):
    simdb_run("create", "stored", "--similarity", "0.6", "--shingle", "1")
    write_lines("long.jsonl", *({"text": text} for text in titles(40, 30)))
    write_lines("few.jsonl", *({"text": text} for text in TEXTS[:9]))

    for words in (
        ["dedup", records, "--distance", "3"], ["dedup", "long.jsonl"], ["dedup", "few.jsonl"],
        ["dedup", records, "--db", "db", "--similarity", "0.7"], ["insert", "stored", records],
        ["insert", "db", "--match", "all", "--similarity", "0.7", records],
        ["dedup", "--db", "stored", records],
    ):  # fmt: skip
        assert "simdb tune" not in simdb_run(*words).notes, words


def test_characters_of_scripts_without_spaces_count_as_words_and_tags_do_not(
    simdb_run, write_lines
):
    letters = [chr(code) for code in range(0x0E01, 0x0E2F)]
    texts = ["".join(random.Random(at).choices(letters, k=40)) for at in range(40)]
    long = write_lines("thai.jsonl", *({"text": text} for text in texts))
    short = write_lines("short.jsonl", *({"text": text[:10]} for text in texts))
    pages = [f"<p class='a b c d e f g h i j k l m n o p q r s t u v'>{t}</p>" for t in TEXTS]
    tags = write_lines("pages.jsonl", *({"text": text} for text in pages))

    assert "simdb tune" not in simdb_run("dedup", long).notes
    assert "at most 10 words" in simdb_run("dedup", short).notes
    assert "simdb tune" in simdb_run("dedup", tags).notes


def test_markup_says_whether_documents_are_html(simdb_run, write_lines):
    pages = [f"<html><body><p>{text}</p></body></html>" for text in TEXTS]
    marked = write_lines("pages.jsonl", *({"id": at, "text": t} for at, t in enumerate(pages)))
    plain = write_lines("plain.jsonl", *({"id": at, "text": t} for at, t in enumerate(TEXTS)))

    found = [
        simdb_run("tune", *words).rows[0]["markup"]
        for words in ([marked], [marked, "--markup", "none"], [plain, "--markup", "html"])
    ]

    assert found == ["html", "none", "html"]
    with pytest.raises(simdb.OptionError, match="markup must be"):
        simdb.tune(TEXTS, markup="xml")
