"""--show: the beginnings of texts beside the ids of what was found."""

import pytest
from over import over

from simdb.cli.options import texts
from simdb.cli.options.texts import beginning

TEXTS = [
    "\u00dcber  den\nWolken " + " ".join(f"w{number}" for number in range(50)),
    "short but equal " + " ".join(f"v{number}" for number in range(50)),
]


@pytest.fixture
def source(write_lines):
    """A file of two pairs of near-duplicates."""
    records = [{"id": f"{at}{end}", "text": text + end} for end in ("", " x") for at, text in
               enumerate(TEXTS)]  # fmt: skip
    return write_lines("a.jsonl", *records)


@over(
    ("text", "count", "shown"),
    [
        ("", 5, ""),
        ("abcde", 5, "abcde"),
        ("abcdef", 5, "abcde\u2026"),
        (" a\n\t b ", 5, "a b"),
        ("ab cd", 3, "ab\u2026"),
        (" " * 50 + "a", 5, "\u2026"),
        ("\U0001f600\U0001f601\U0001f602", 2, "\U0001f600\U0001f601\u2026"),
    ],
)
def test_a_beginning_is_one_line(text, count, shown):
    assert beginning(text, count) == shown


def test_groups_show_their_texts(simdb_run, source, monkeypatch):
    monkeypatch.setattr(texts, "PORTION_ROWS", 1)

    rows = simdb_run("dedup", source, "--show", 8).rows

    assert [row["text"] for row in rows] == ["\u00dcber den\u2026", "short bu\u2026"]
    for row in rows:
        assert [each["text"] for each in row["duplicates"]] == [row["text"]]


def test_matches_show_both_texts_also_when_the_run_is_repeated(simdb_run, source):
    ran, again = (simdb_run("dedup", source, "--db", "d", "--show", 5) for _ in range(2))

    assert [(row["text"], row["match_text"]) for row in ran.rows] == [
        ("\u00dcber\u2026", "\u00dcber\u2026"), ("short\u2026", "short\u2026")]  # fmt: skip
    assert again.rows == ran.rows


def test_texts_of_earlier_runs_are_shown_if_their_source_is_named(simdb_run, source, write_lines):
    simdb_run("dedup", source, "--db", "d")
    write_lines("b.jsonl", {"id": "b", "text": TEXTS[1] + " b"})

    unknown = simdb_run("dedup", "b.jsonl", "--db", "d", "--show", 5, "--run", "1").rows
    (known,) = simdb_run("dedup", "b.jsonl", "--db", "d", "--show", 5, "--texts", source).rows

    assert [(row["text"], row["match_text"]) for row in unknown] == [("short\u2026", None)]
    assert (known["text"], known["match_text"]) == ("short\u2026", "short\u2026")


@pytest.fixture
def stored(simdb_run, write_lines):
    """Makes a database of three documents, two of which match, and a source of their texts."""
    alike = " ".join(f"w{number}" for number in range(60))
    other = " ".join(f"v{number}" for number in range(60))
    records = [{"id": 1, "text": alike}, {"id": 2, "text": other}, {"id": 3, "text": alike}]
    write_lines("a.jsonl", *records)
    write_lines("late.jsonl", records[2])
    simdb_run("insert", "d", "a.jsonl", "--int-ids")


@over(
    ("verb", "source", "beside"),
    [
        ("pairs", "a.jsonl", {"left_text": "w0 w1\u2026", "right_text": "w0 w1\u2026"}),
        ("pairs", "late.jsonl", {"left_text": None, "right_text": "w0 w1\u2026"}),
        ("clusters", "a.jsonl", {"texts": ["w0 w1\u2026"] * 2}),
        ("clusters", "late.jsonl", {"texts": [None, "w0 w1\u2026"]}),
    ],
)
@pytest.mark.usefixtures("stored")
def test_pairs_and_clusters_have_the_beginnings_of_texts(simdb_run, verb, source, beside):
    (plain,) = simdb_run(verb, "d").rows

    ran = simdb_run(verb, "d", "--show", "5", "--texts", source, "--int-ids")

    assert ran.code == 0, ran.notes
    assert ran.rows == [plain | beside]


def test_texts_decide_what_matches(simdb_run, write_lines):
    words = [f"w{at}" for at in range(60)]
    texts = [" ".join([*words[:60 - changed], *(f"x{at}" for at in range(changed))])
             for changed in (0, 1, 9)]  # fmt: skip
    write_lines("a.jsonl", *({"id": f"{at}", "text": text} for at, text in enumerate(texts)))
    simdb_run("insert", "d", "a.jsonl")
    options = ["--similarity", "0.9", "--texts", "a.jsonl"]

    decided = simdb_run("clusters", "d", *options)
    pairs = simdb_run("pairs", "d", *options)
    estimated = simdb_run("clusters", "d", *options, "--verify", "estimate")

    # 57 of 59 shingles are shared; by 49 of 67, and 1 - 9/60 of the words, the third is no match.
    assert [row["ids"] for row in decided.rows] == [["0", "1"]]
    assert [(row["left"], row["right"]) for row in pairs.rows] == [("0", "1")]
    assert "against the texts (a match: Jaccard similarity 0.9 or more)" in decided.notes
    assert "against the texts" not in estimated.notes
