"""simdb.decontaminate: which items count, data of every kind, and what is refused or left out."""

import json
import pickle
import random

import kinds
import led_files
import numpy as np
import pytest
from kinds import rows_in
from over import over

import simdb
from simdb.jobs.decontamination.items import COMMON_LEAST

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
datasets = pytest.importorskip("datasets")

ITEM = (
    "A train leaves the station at noon with ninety passengers and stops at every village until"
    " dusk when only four of them are left how many got off at each stop on average"
)
BEFORE, AFTER = "Here is a riddle that I like: ", " Answer it if you can."
TEXTS = ["Nothing to see here, move on.", BEFORE + ITEM + AFTER, None, ITEM.upper(), ""]
IDS = ["a", "b", "c", "d", "e"]
ROWS = [{"id": id, "text": text} for id, text in zip(IDS, TEXTS, strict=True)]
CLEAN = [TEXTS[0], None, ""]

KINDS = [
    *((make, ROWS) for make in kinds.RECORDS.values()),
    *((make, TEXTS) for make in kinds.TEXTS.values()),
]


def texts_in(data):
    return [row["text"] if isinstance(row, dict) else row for row in rows_in(data)]


@over(("make", "rows"), KINDS)
def test_data_of_every_kind_lose_the_documents_with_an_item_or_their_passages(make, rows):
    data = make(rows)

    found = simdb.decontaminate(data, against=[ITEM])
    cut = simdb.decontaminate(make(rows), against=[ITEM], action="cut")

    assert type(found.data) is type(cut.data) is type(data)
    assert texts_in(found.data) == CLEAN
    assert found.kept.tolist() == [True, False, True, False, True]
    assert (len(found), found.leaked) == (3, [0])
    assert texts_in(cut.data) == [TEXTS[0], BEFORE + AFTER, None, ""]


@over("kind", kinds.RECORDS)
def test_rows_of_every_kind_are_marked(kind):
    """An Arrow table that was marked for one test could not be marked for another one."""
    data = kinds.RECORDS[kind](ROWS)

    once = simdb.decontaminate(data, against={"one": ITEM, 2: TEXTS[1], b"\xff": TEXTS[3]},
                               action="mark").data  # fmt: skip
    again = simdb.decontaminate(once, against=[ITEM], action="mark").data

    many, one = ([row["leaks"] for row in rows_in(each)] for each in (once, again))
    items = {mark["item"] for marks in many if marks is not None for mark in marks}
    assert items == ({"one", 2, b"\xff"} if kind == "dicts" else {"one", "2", "ff"})
    for marks in (many, one):
        assert [at for at in range(5) if marks[at] is not None and len(marks[at])] == [1, 3]
    start, stop = one[1][0]["spans"][0]
    assert (one[1][0]["item"], TEXTS[1][start:stop]) == (0, ITEM)
    assert texts_in(again) == TEXTS


def test_leaks_are_a_table():
    found = simdb.decontaminate(ROWS, against=[{"id": 7, "text": ITEM}], id="id")

    table = found.leaks
    assert table.column_names == [
        "id", "item", "field", "coverage", "hits", "span", "item_span", "changed", "rarest",
        "count", "text",
    ]  # fmt: skip
    assert table["id"].to_pylist() == ["b", "d"]
    assert table["item"].to_pylist() == [7, 7]
    assert table["span"].to_pylist() == [[len(BEFORE), len(BEFORE) + len(ITEM)], [0, len(ITEM)]]
    assert table["coverage"].to_pylist() == [1, 1]
    assert "1 of 1 item found in 2 documents" in repr(found)
    assert simdb.decontaminate(["other"], against=[ITEM]).leaks.num_rows == 0


def test_each_field_of_an_item_is_looked_for_by_itself():
    words = ITEM.split()
    item = {"question": " ".join(words[:16]), "choices": [" ".join(words[16:]), "too short"]}

    found = simdb.decontaminate(TEXTS, against=[item], fields=["question", "choices"])

    assert [(leak.id, leak.field) for leak in found.found] == [
        (1, "question"), (1, "choices"), (3, "question"), (3, "choices"),
    ]  # fmt: skip
    assert found.short == 1


@pytest.mark.parametrize("on_null", ["keep", "drop"])
def test_rows_without_a_text_stay_or_go(on_null, tmp_path):
    path = tmp_path / "rows.jsonl"
    led_files.write(path, ROWS)
    wanted = [True, False, on_null == "keep", False, True]

    for data in (ROWS, path):
        found = simdb.decontaminate(data, against=[ITEM], on_null=on_null)
        assert found.kept.tolist() == wanted

    with pytest.raises(simdb.InputError):
        simdb.decontaminate(ROWS, against=[ITEM], on_null="error")


def read_texts(path):
    return [row["text"] for row in led_files.read(path)]


@pytest.mark.parametrize("action", ["drop", "cut", "mark"])
@pytest.mark.parametrize("target", ["clean.jsonl", "clean.csv", "clean.parquet"])
@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.parquet", "a.csv"])
def test_files_of_every_format_are_written_in_every_format(tmp_path, name, target, action):
    led_files.write(tmp_path / name, ROWS)
    cut = [] if action == "drop" else [BEFORE + AFTER if action == "cut" else TEXTS[1]]
    last = [TEXTS[3]] if action == "mark" else []
    wanted = [text or "" for text in [TEXTS[0], *cut, TEXTS[2], *last, TEXTS[4]]]

    found = simdb.decontaminate(tmp_path / name, against=[ITEM], action=action)
    found.write(tmp_path / target)

    assert [text or "" for text in read_texts(tmp_path / target)] == wanted
    assert [text or "" for text in found.data["text"].to_pylist()] == wanted
    assert [leak.id for leak in found.found] == ["b", "d"]


def test_lines_that_stay_are_not_changed(tmp_path):
    odd = '{"text" :  "Nothing to see here", "x": 1.50, "id":"z"}\n'
    path = tmp_path / "rows.jsonl"
    path.write_text(odd + json.dumps(ROWS[1]) + "\n" + odd.replace("z", "y"))

    for action in ("drop", "cut", "mark"):
        simdb.decontaminate(path, against=[ITEM], action=action).write(tmp_path / "clean.jsonl")
        lines = (tmp_path / "clean.jsonl").read_text().splitlines(keepends=True)
        assert (lines[0], lines[-1]) == (odd, odd.replace("z", "y"))


def test_texts_in_a_binary_column_are_cut(tmp_path):
    texts = [b"other", (BEFORE + ITEM + AFTER).encode()]
    parquet.write_table(pyarrow.table({"text": pyarrow.array(texts)}), tmp_path / "a.parquet")

    found = simdb.decontaminate(tmp_path / "a.parquet", against=[ITEM], action="cut")

    assert found.data["text"].to_pylist() == [b"other", (BEFORE + AFTER).encode()]
    found.write(tmp_path / "clean.jsonl")
    assert read_texts(tmp_path / "clean.jsonl") == ["other", BEFORE + AFTER]


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet", "jsonl.gz"])
def test_leaks_are_written_in_every_format(tmp_path, ending):
    found = simdb.decontaminate(ROWS, against=[ITEM], id="id")

    found.write_leaks(tmp_path / f"leaks.{ending}")

    rows = led_files.read(tmp_path / f"leaks.{ending}")
    assert [row["id"] for row in rows] == ["b", "d"]
    assert json.loads(str(rows[0]["span"])) == [len(BEFORE), len(BEFORE) + len(ITEM)]


@over(
    ("settings", "word"),
    [
        ({"ngram": 1}, "ngram"), ({"ngram": 33}, "ngram"), ({"coverage": 0}, "coverage"),
        ({"coverage": 1.5}, "coverage"), ({"numbers": 0}, "numbers"), ({"common": -1}, "common"),
        ({"action": "remove"}, "action"), ({"on_null": "x"}, "on_null"), ({"fields": []}, "fields"),
        ({"sketch": simdb.Simhash(unit="characters")}, "unit"), ({"sketch": 3}, "sketch"),
        ({"action": "mark"}, "mark"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_refused_by_name(settings, word):
    with pytest.raises((simdb.OptionError, TypeError), match=word):
        simdb.decontaminate(TEXTS, against=[ITEM], **settings)


@pytest.mark.parametrize(
    ("against", "word"),
    [
        ([], "no items"), ([{"id": 1, "text": {"a": 5}}], "dict"), ([{"id": 1}], "text"),
        ("nowhere.jsonl", "nowhere.jsonl"), (np.zeros((2, 2)), "against|array|rows"),
    ],
)  # fmt: skip
def test_a_reference_without_texts_is_refused(against, word, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((simdb.InputError, simdb.OptionError), match=word):
        simdb.decontaminate(TEXTS, against=against)


@over(
    ("against", "said"),
    [
        ([{"question": ITEM}], "against: there is no field 'zz'; its fields are 'question'"),
        (5, "against must be texts or rows"),
        ([{"zz": ITEM}, ITEM], "against: row 1 is str, but other rows are dicts"),
    ],
)
def test_what_is_wrong_with_the_items_is_said_of_them_and_not_of_data(against, said):
    with pytest.raises((simdb.InputError, simdb.OptionError)) as raised:
        simdb.decontaminate([{"text": BEFORE}], against=against, fields=["zz"])

    assert str(raised.value).startswith(said)


@over("form", ['<img alt="{}">', "<!-- {} -->", "<b {}", "if a<b or {} or c>d"])
def test_what_is_taken_for_markup_has_no_item(form):
    whole = simdb.decontaminate([form.format(ITEM)], against=[ITEM])
    apart = simdb.decontaminate([f"{form.format('x')} {ITEM}"], against=[ITEM])

    assert (len(whole.found), len(apart.found)) == (int(">" not in form), 1)


def test_a_result_in_memory_can_be_pickled(tmp_path):
    """It ended with "Can't pickle local object"."""
    item = " ".join(f"w{number}" for number in range(40))
    found = simdb.decontaminate([f"before {item} after", "something else"], against=[item])

    again = pickle.loads(pickle.dumps(found))
    again.write(tmp_path / "rest.jsonl")

    assert again.data == found.data == ["something else"]
    assert again.leaked == found.leaked
    assert (tmp_path / "rest.jsonl").read_text() == '{"text": "something else"}\n'


def test_what_to_look_for_is_asked_for_by_name():
    with pytest.raises(simdb.OptionError, match="needs against=, the items to look for"):
        simdb.decontaminate(["a text"])


def test_fields_of_items_in_a_file_may_be_joined(tmp_path):
    item = {"id": "q1", "question": "when did the old bridge over the river", "answer": "fall down"}
    text = "we asked when did the old bridge over the river fall down and nobody knew"
    path = tmp_path / "test.jsonl"
    path.write_text(json.dumps(item) + "\n")

    found = [
        simdb.decontaminate([{"text": text}], against=against, fields=[("question", "answer")])
        for against in ([item], path)
    ]

    fields = [each.leaks.select(["field", "coverage"]).to_pylist() for each in found]
    assert fields == [[{"field": "question,answer", "coverage": 1.0}]] * 2


def test_a_list_may_be_joined_with_a_text(tmp_path):
    item = {"question": ITEM, "choices": ["three of them", None, "four of them", 5]}
    path = tmp_path / "test.jsonl"
    path.write_text(json.dumps(item) + "\n")

    for against in ([item], path):
        (leak,) = simdb.decontaminate(
            [f"{ITEM}? three of them, four of them, 5"], against=against,
            fields=[("question", "choices")],
        ).found  # fmt: skip
        assert leak.item_text == f"{ITEM}\n\nthree of them\n\nfour of them\n\n5"
        assert leak.coverage == 1.0


WORDS = [f"w{at}" for at in range(400)]


def text(at):
    return " ".join(random.Random(at).sample(WORDS, 30))


DATA = [text(0), b"\x81 words", text(1), 5, None, "half \ud800 of", text(2)]
NAMES = list("abcdefg")


@over("action", ["drop", "cut", "mark"])
def test_documents_that_cannot_be_read_are_neither_kept_nor_searched(action):
    rows = [{"id": id, "text": each} for id, each in zip(NAMES, DATA, strict=True)]

    found = simdb.decontaminate(rows, against=[text(1)], id="id", action=action, on_error="skip")

    assert found.skipped["id"].to_pylist() == ["b", "d", "f"]
    kept = ["a", "e", "g"] if action != "mark" else ["a", "c", "e", "g"]
    assert [row["id"] for row in found.data] == kept
    assert found.leaks["id"].to_pylist() == ["c"]
    assert "3 documents skipped" in repr(found)
    with pytest.raises(simdb.InputError):
        simdb.decontaminate(rows, against=[text(1)], action=action)


def test_items_that_cannot_be_read_are_passed_over_with_a_warning():
    items = [{5}, text(1), "half \ud800 of an item of many words", {"a": 1}]

    with pytest.warns(RuntimeWarning, match="3 documents of against left out, the first in row 0"):
        found = simdb.decontaminate([text(0), text(1)], against=items, on_error="skip")

    assert found.data == [text(0)]
    with pytest.raises(simdb.InputError, match="item 0 has set"):
        simdb.decontaminate([text(0)], against=items[:3])
    with pytest.raises(simdb.InputError, match="item 0 has set"):
        simdb.decontaminate([text(0)], against=items[:1], on_error="skip")


def test_records_of_files_are_left_out_with_file_and_line(tmp_path):
    lines = [{"id": "a", "text": text(0)}, {"id": "b", "text": {}}, {"id": "c", "text": text(1)}]
    path = tmp_path / "in.jsonl"
    path.write_text("\n".join([*map(json.dumps, lines), "no json"]))

    found = simdb.decontaminate(path, against=[text(1)], on_error="skip")

    assert found.skipped["id"].to_pylist() == [f"{path}:2", f"{path}:4"]
    assert found.data["id"].to_pylist() == ["a"]
    with pytest.warns(RuntimeWarning, match=r"2 documents of against"):
        found = simdb.decontaminate([text(1), text(5)], against=path, on_error="skip")
    assert found.data == [text(5)]


GENERATOR = random.Random(5)
VOCABULARY = [f"word{at}" for at in range(5000)]


def words(count):
    return " ".join(GENERATOR.choices(VOCABULARY, k=count))


@pytest.fixture
def unrelated():
    return [words(100) for _ in range(30)]


def found_in(documents, items, **settings):
    found = simdb.decontaminate(documents, against=items, **settings)
    return {(leak.id, leak.item) for leak in found.found}


def test_half_of_an_item_is_enough_and_less_is_not(unrelated):
    item = words(60)
    half, less = (" ".join(item.split()[:count]) for count in (32, 26))

    found = found_in([*unrelated, f"{words(40)} {half}", f"{words(40)} {less} {words(40)}"], [item])

    assert found == {(30, 0)}
    assert (31, 0) in found_in([*unrelated, half, less], [item], coverage=0.4)


def test_more_of_a_short_item_must_be_there(unrelated):
    item = words(8)

    assert found_in([*unrelated, f"{words(20)} {item} {words(5)}"], [item]) == {(30, 0)}
    assert found_in([" ".join(item.split()[:7])], [item]) == {(0, 0)}
    assert found_in([" ".join(item.split()[:6])], [item]) == set()


def test_what_many_items_begin_with_is_no_leak(unrelated):
    instruction = words(40)
    items = [f"{instruction} {words(30)}" for _ in range(COMMON_LEAST + 5)]
    documents = [*unrelated, f"{words(20)} {instruction} {words(20)}", items[3]]

    assert found_in(documents, items) == {(31, 3)}


def test_what_many_documents_have_is_no_leak(unrelated):
    licence = words(80)
    item = f"{words(40)} {licence}"
    documents = [f"{text} {licence}" for text in unrelated]

    assert found_in([*documents, item], [item]) == {(30, 0)}


def test_what_few_documents_have_counts(unrelated):
    licence = words(80)
    item = f"{words(40)} {licence}"
    documents = [f"{text} {licence}" for text in unrelated[: COMMON_LEAST - 1]]

    found = found_in([*documents, item], [item])

    assert found == {(at, 0) for at in range(COMMON_LEAST)}


def test_an_item_that_is_common_as_a_whole_must_be_there_whole():
    licence = words(60)
    documents = [licence] * (COMMON_LEAST + 1) + [" ".join(licence.split()[:40]), words(50)]

    assert found_in(documents, [licence]) == {(at, 0) for at in range(COMMON_LEAST + 1)}


def test_an_item_of_few_words_must_be_there_to_the_word(unrelated):
    item = words(6)
    documents = [*unrelated, f"{words(20)} {item} {words(5)}", " ".join(item.split()[:5])]

    found = simdb.decontaminate(documents, against=[item, "one two three four"])

    assert [(leak.id, leak.item, leak.coverage) for leak in found.found] == [(30, 0, 1.0)]
    assert (found.short, found.items, found.leaked) == (1, 2, [0])
    assert simdb.decontaminate(documents, against=[item], ngram=7).short == 1


def test_the_rarest_n_gram_is_named_with_its_count(unrelated):
    item = words(30)
    start = " ".join(item.split()[:14])
    documents = [*unrelated, f"{start} {words(9)}", f"{words(5)} {item}"]

    (leak,) = simdb.decontaminate(documents, against=[item]).found

    assert (leak.id, leak.count) == (31, 1)
    assert leak.rarest in item
    assert leak.rarest not in start
