"""Data of every kind keeps its kind, and loses the same parts as a list of its texts."""

import json
import random
from pathlib import Path

import kinds
import numpy as np
import pyarrow
import pyarrow.csv
import pyarrow.parquet
import pytest
from kinds import rows_in
from led_files import write
from over import over

import simdb
from simdb.core.errors import InputError, OptionError
from simdb.files import read_again

CHANCE = random.Random(7)
LINES = [" ".join(f"w{CHANCE.randrange(40)}" for _ in range(6)) for _ in range(30)]
TEXTS = ["\n".join(CHANCE.choices(LINES, k=3)) for _ in range(40)]
RECORDS = [{"id": f"d{at}", "text": text, "at": at} for at, text in enumerate(TEXTS)]


def dropped_by_a_loop(texts):
    """Return what is left of each text, by a set and a loop; None of one that is left out."""
    seen, found = set(), []
    for text in texts:
        left = []
        for line in text.split("\n"):
            if line not in seen:
                left.append(line)
            seen.add(line)
        found.append("\n".join(left) if left else None)
    return found


LEFT = dropped_by_a_loop(TEXTS)
KEPT = [{**record, "text": left} for record, left in zip(RECORDS, LEFT, strict=True) if left]


@pytest.fixture(autouse=True)
def few_at_a_time(monkeypatch):
    monkeypatch.setattr("simdb.jobs.deduplication.rows.READ_ROWS", 7)
    monkeypatch.setattr(read_again, "CHANGED_RECORDS", 3)
    assert 3 < len(KEPT) < len(RECORDS)


@over("make", kinds.RECORDS.values())
def test_rows_lose_their_parts_and_keep_their_kind(make):
    data = make(RECORDS)

    found = simdb.deduplicate(data, unit="line")

    assert type(found.data) is type(data)
    assert rows_in(found.data) == KEPT
    assert rows_in(data) == RECORDS


@over("make", [*kinds.TEXTS.values(), np.array, lambda texts: [each.encode() for each in texts]])
def test_texts_without_fields_are_texts_afterwards(make):
    data = make(TEXTS)

    found = simdb.deduplicate(data, unit="line")

    assert type(found.data) is type(data)
    values = [left.decode() if isinstance(left, bytes) else left for left in rows_in(found.data)]
    assert values == [left for left in LEFT if left]


def test_files_and_rows_lose_the_same_parts_that_are_alike(tmp_path):
    base = [f"word{at}" for at in range(40)]
    changed = [" ".join([*base[:at], "other", *base[at + 1 :]]) for at in (3, 20, 37)]
    texts = [" ".join(base), f"{changed[0]}\nanother line that has five words", changed[1]]
    write(tmp_path / "a.jsonl", [{"text": text} for text in texts])

    found = [
        simdb.deduplicate(data, unit="line", similarity=0.7, threads=threads)
        for data, threads in ((texts, 1), (tmp_path / "a.jsonl", 2))
    ]

    left = [texts[0], "another line that has five words"]
    assert [found[0].data, [row["text"] for row in found[1].data.to_pylist()]] == [left, left]
    assert [each.parts.dropped.tolist() for each in found] == [[0, 1, 1]] * 2
    assert simdb.deduplicate(texts, unit="line").data == texts


def test_the_result_counts_parts():
    found = simdb.deduplicate([*TEXTS, None, "short"], unit="line", threads=2)

    parts = found.parts
    assert (parts.unit, parts.seen, parts.short) == ("line", 3 * len(TEXTS) + 1, 1)
    assert parts.dropped.tolist() == [
        3 - (left.count("\n") + 1 if left else 0) for left in LEFT
    ] + [0, 0]
    assert found.kept.tolist() == [left is not None for left in LEFT] + [True, True]
    assert (len(found.groups), len(found.removed_ids), found.null_count) == (0, 0, 1)
    assert "lines dropped" in repr(found)


@pytest.mark.parametrize("on_null", ["keep", "drop", "error"])
def test_rows_without_a_text_are_treated_as_asked(tmp_path, on_null):
    rows = [{"text": TEXTS[0]}, {"text": None}, {"text": TEXTS[0]}]
    write(tmp_path / "a.jsonl", rows)

    for data in (rows, tmp_path / "a.jsonl"):
        if on_null == "error":
            with pytest.raises(InputError):
                simdb.deduplicate(data, unit="line", on_null=on_null)
        else:
            found = simdb.deduplicate(data, unit="line", on_null=on_null)
            assert found.kept.tolist() == [True, on_null == "keep", False]


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.parquet"])
def test_files_lose_their_parts(tmp_path, name):
    write(tmp_path / name, RECORDS)

    found = simdb.deduplicate(tmp_path / name, unit="line")

    assert [(row["id"], row["text"], int(row["at"])) for row in found.data.to_pylist()] == [
        (row["id"], row["text"], row["at"]) for row in KEPT
    ]
    found.write(tmp_path / f"kept-{name}")
    again = simdb.deduplicate(tmp_path / f"kept-{name}", unit="line")
    assert (again.parts.dropped.sum(), len(again)) == (0, len(KEPT))


@pytest.mark.parametrize("is_file", [False, True])
def test_a_database_drops_what_earlier_runs_kept(tmp_path, is_file):
    parts = RECORDS[:20], RECORDS[20:]
    kept = []

    for number, rows in enumerate(parts):
        write(tmp_path / f"{number}.jsonl", rows)
        data = tmp_path / f"{number}.jsonl" if is_file else rows
        found = simdb.deduplicate(data, unit="line", db=tmp_path / "db", run=f"run {number}")
        kept += found.data.to_pylist() if is_file else found.data

    assert [(row["id"], row["text"]) for row in kept] == [(row["id"], row["text"]) for row in KEPT]


@pytest.mark.parametrize("run", ["named", None])
def test_a_repeated_run_keeps_the_same_whatever_came_between(tmp_path, run):
    first = simdb.deduplicate(RECORDS[20:], unit="line", db=tmp_path / "db", run=run)
    simdb.deduplicate(RECORDS, unit="line", db=tmp_path / "db", run="other")

    again = simdb.deduplicate(RECORDS[20:], unit="line", db=tmp_path / "db", run=run)

    assert first.data == again.data
    assert len(simdb.deduplicate(RECORDS[20:], unit="line", db=tmp_path / "db", run="third")) == 0


def test_an_error_stores_nothing(tmp_path):
    with pytest.raises(InputError):
        simdb.deduplicate([*TEXTS, "\ud800"], unit="line", db=tmp_path / "db", run="one")

    assert len(simdb.deduplicate(TEXTS, unit="line", db=tmp_path / "db", run="two")) == len(KEPT)


def test_the_sketch_says_which_words_are_equal():
    texts = ["The caf\u00e9 that is open here", "The CAFE that is open here"]

    strict = simdb.deduplicate(texts, unit="line")
    lenient = simdb.deduplicate(texts, unit="line", sketch=simdb.Simhash(normalisation="lenient"))

    assert (len(strict), len(lenient)) == (2, 1)


@over(
    ("arguments", "message"),
    [
        ({"unit": "word"}, "unit must be one of"),
        ({"unit": "line", "similarity": 0.5, "db": "x"}, "similarity= with db= is for whole"),
        ({"unit": "line", "similarity": 1.5}, "similarity must"),
        ({"unit": "line", "keep": "last"}, "keep= is for whole documents"),
        ({"unit": "line", "verify": "estimate"}, "verify= is for whole documents"),
        ({"unit": "line", "run": "x"}, "run= names a run for db="),
        ({"unit": "line", "sketch": simdb.Simhash(unit="characters")}, "no words"),
    ],
)
def test_arguments_that_contradict_are_refused(arguments, message):
    with pytest.raises(OptionError, match=message):
        simdb.deduplicate(TEXTS, **arguments)


@over(
    ("arguments", "message"),
    [
        ({"name": "word"}, "unit must be one of"),
        ({"name": "document", "min_words": 3}, "min_words= is for parts"),
        ({"name": "line", "min_words": 0}, "min_words must"),
    ],
)
def test_a_unit_with_an_impossible_value_is_refused(arguments, message):
    with pytest.raises(OptionError, match=message):
        simdb.Unit(**arguments)


def test_a_unit_says_from_how_many_words_on_parts_are_compared():
    texts = ["one two three four\nfirst", "one two three four\nsecond"]

    found = [
        simdb.deduplicate(texts, unit=unit).data[1].splitlines()
        for unit in ("line", simdb.Unit("line"), simdb.Unit("line", min_words=4))
    ]

    assert found == [["one two three four", "second"]] * 2 + [["second"]]


@pytest.mark.parametrize("name", ["a.parquet", "a.jsonl"])
def test_changed_records_are_valid_json_and_keep_every_number_elsewhere(
    tmp_path, monkeypatch, name
):
    """Records of which a part was dropped had the words NaN and Infinity in JSON lines."""
    monkeypatch.chdir(tmp_path)
    values = [1.5, float("nan"), float("inf"), float("-inf"), 2.5]
    texts = [LINES[0], *(f"{LINES[0]}\n{line} says NaN" for line in LINES[1:])]
    rows = [{"v": value, "text": text} for value, text in zip(values, texts, strict=False)]
    write(name, rows)
    found = simdb.deduplicate(name, unit="line")
    left = [row["text"].split("\n")[-1] for row in rows]

    found.write("left.jsonl")
    found.write("left.parquet")

    lines = Path("left.jsonl").read_text().splitlines()
    assert not [line for line in lines if "Infinity" in line]
    wanted = zip([1.5, None, None, None, 2.5], left, strict=True)
    assert [(row["v"], row["text"]) for row in map(json.loads, lines)] == list(wanted)
    table = pyarrow.parquet.read_table("left.parquet").to_pydict()
    assert (str(table["v"]), table["text"]) == (str(values), left)
