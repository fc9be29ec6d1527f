"""on_error="skip": rows that cannot be read are neither kept nor removed, and are named."""

import json
import pickle
import random

import kinds
import numpy as np
import pyarrow as pa
import pytest
from over import over

import simdb

WORDS = [f"w{at}" for at in range(400)]
BAD = [b"\x81 words", "half \ud800 of a character", 3.5, ["tokens"], True, b"\x80" * 9]


def text(at):
    return " ".join(random.Random(at).sample(WORDS, 30))


def drawn(seed, count=60):
    """Return texts, with repetitions, nulls and rows that cannot be read."""
    chance = random.Random(seed)
    rows = [text(chance.randrange(20)) for _ in range(count)]
    for at in chance.sample(range(count), 12):
        rows[at] = chance.choice([*BAD, None])
    return rows


def expected(rows, on_null, errors="strict"):
    """Return the rows that stay, and those that are left out, by two loops."""
    seen, kept, left_out = set(), [], []
    for at, row in enumerate(rows):
        if row is None:
            kept += [at] if on_null == "keep" else []
        elif not isinstance(row, str | bytes):
            left_out.append(at)
        else:
            try:
                known = row.encode("utf-8", errors) if isinstance(row, str) else row
                known.decode("utf-8", errors)
            except UnicodeError:
                left_out.append(at)
                continue
            if known not in seen:
                kept.append(at)
            seen.add(known)
    return kept, left_out


WAYS = {
    "usual": {},
    "nulls dropped": {"on_null": "drop"},
    "by estimates": {"verify": "estimate"},
    "connected": {"policy": "connected"},
    "by a database": {"verify": "estimate", "distance": 0},
    "beside a database": {"db": True},
    "pages": {"sketch": simdb.Simhash(markup="html")},
    "numbers": {"verify": "numbers"},
}


@over("way", WAYS)
def test_each_row_is_kept_removed_dropped_or_left_out(way, tmp_path_factory):
    given = dict(WAYS[way])
    for seed in range(3):
        if "db" in given:
            given["db"] = tmp_path_factory.mktemp("d") / "db"
        rows = drawn(seed)
        kept, left_out = expected(rows, given.get("on_null", "keep"))

        found = simdb.deduplicate(rows, on_error="skip", **given)

        assert np.flatnonzero(found.kept).tolist() == kept
        assert found.skipped["row"].to_pylist() == left_out
        assert found.skipped["id"].to_pylist() == left_out
        assert all(found.skipped["reason"].to_pylist())
        assert [rows.index(each) for each in found.data if each] == [
            rows.index(rows[at]) for at in kept if rows[at]
        ]
        nulls = found.null_count if given.get("on_null") == "drop" else 0
        assert len(kept) + len(found.removed) + len(left_out) + nulls == len(rows)
        with pytest.raises(simdb.InputError):
            simdb.deduplicate(rows, **given)


def test_rows_left_out_reach_no_output_and_stay_left_out(tmp_path):
    rows = [text(0), b"\xff", text(0), text(1)]
    noted = []

    found = simdb.deduplicate(
        {"a": rows[0], "b": rows[1], "c": rows[2], "d": rows[3]},
        on_error=lambda *each: noted.append(each),
    )

    assert [(row, id) for row, id, _ in noted] == [(1, "b")]
    assert list(found.data) == ["a", "d"]
    assert len(found.at(0.95).skipped) == 1
    assert "1 skipped" in repr(found)
    found.write(tmp_path / "kept.jsonl")
    lines = (tmp_path / "kept.jsonl").read_text().splitlines()
    assert [json.loads(line)["text"] for line in lines] == [rows[0], rows[3]]
    again = pickle.loads(pickle.dumps(simdb.deduplicate(rows, on_error="skip")))
    assert again.skipped["row"].to_pylist() == [1]


@over("make", [*kinds.RECORDS.values(), pa.array])
def test_data_of_any_kind_comes_back_without_the_rows_left_out(make):
    rows = [text(0).encode(), b"\xff", text(0).encode(), text(1).encode()]
    named = [{"id": id, "text": each} for id, each in zip("abcd", rows, strict=True)]
    data = make(rows if make is pa.array else named)

    found = simdb.deduplicate(data, on_error="skip", id=None if make is pa.array else "id")

    assert found.kept.tolist() == [True, False, False, True]
    assert found.skipped["id"].to_pylist() == ([1] if make is pa.array else ["b"])
    assert type(found.data) is type(data)
    assert len(found.data) == 2


def test_parts_leave_the_texts_of_rows_that_can_be_read():
    shared = "one two three four five six seven"
    rows = [f"{shared}\n{text(0)}", b"\xff", f"{shared}\n{text(1)}", "\ud800"]

    found = simdb.deduplicate(rows, unit="line", on_error="skip")

    assert [each.strip() for each in found.data] == [rows[0], text(1)]
    assert found.skipped["row"].to_pylist() == [1, 3]


def test_ids_that_a_database_cannot_store_are_left_out_by_name(tmp_path):
    rows, ids = [text(at) for at in range(5)], ["a", 2**64, "x" * 1024, None, 7]

    found = simdb.deduplicate(rows, id=ids, db=tmp_path / "d", on_error="skip")

    assert found.kept.tolist() == [True, False, False, False, True]
    assert found.skipped["row"].to_pylist() == [1, 2, 3]
    with simdb.open(tmp_path / "d", "r") as db:
        assert set(db) == {"a", 7}
    with pytest.raises(simdb.InputError):
        simdb.deduplicate(rows, id=ids, db=tmp_path / "e")


@over("ids", [[2**64, 2**70], [-(2**63) - 1, 5], [2**63, -1], ["\ud800", "b"], [b"a", b"b"]])
def test_removed_has_ids_of_any_size_as_text_if_no_column_holds_them(ids):
    found = simdb.deduplicate([text(0), text(0)], id=ids)

    [row] = found.removed.to_pylist()
    as_text = not isinstance(ids[0], bytes)
    shown = [str(each).encode("utf-8", "backslashreplace").decode() for each in ids]
    assert (row["kept"], row["id"]) == tuple(shown if as_text else ids)


def test_a_reference_is_compared_without_what_cannot_be_read_of_it():
    with pytest.warns(RuntimeWarning, match="1 document of against left out, the first in row 0"):
        found = simdb.deduplicate([text(0), text(1)], against=[b"\xff", text(1)], on_error="skip")

    assert found.data == [text(0)]
    assert len(found.skipped) == 0


@over("way", [{}, {"db": True}, {"unit": "line"}])
def test_records_of_files_are_left_out_with_file_and_line(way, tmp_path_factory):
    folder = tmp_path_factory.mktemp("f")
    given = {**way, "db": folder / "d"} if "db" in way else way
    lines = [{"id": "a", "text": text(0)}, {"id": "b", "text": 5}, {"id": "c", "text": text(1)}]
    path = folder / "in.jsonl"
    path.write_text("\n".join([*map(json.dumps, lines), "no json", json.dumps(lines[0])]))

    found = simdb.deduplicate(path, on_error="skip", **given)

    assert found.skipped["id"].to_pylist() == [f"{path}:2", f"{path}:4"]
    assert found.skipped["row"].to_pylist() == [1, 3]
    assert found.kept.tolist() == [True, True, False]
    assert found.data["id"].to_pylist() == ["a", "c"]
    with pytest.raises(simdb.InputError, match=":2: "):
        simdb.deduplicate(path, **given)


@over("data", [
    {"a": text(0), "b": 5, "c": text(0), "d": text(1)},
    [{"text": text(0)}, text(2), {"text": text(0)}, {"text": text(1)}],
    np.array([[1.0, 2.0], [np.nan, 1.0], [1.0, 2.0], [-2.0, 1.0]]),
    [np.array([1.0, 2.0]), np.array([0.0, 0.0]), np.array([1.0, 2.0]), np.array([-2.0, 1.0])],
])  # fmt: skip
def test_a_row_of_another_kind_than_the_others_is_left_out(data):
    found = simdb.deduplicate(data, on_error="skip")

    assert found.kept.tolist() == [True, False, False, True]
    assert found.skipped["row"].to_pylist() == [1]
    assert found.null_count == 0
    with pytest.raises(simdb.InputError):
        simdb.deduplicate(data)


def test_ids_that_are_no_ids_are_refused_by_row_or_left_out():
    rows, ids = [text(0), text(1), text(0)], ["a", ["b"], "c"]

    found = simdb.deduplicate(rows, id=ids, on_error="skip")

    assert found.data == [text(0)]
    assert found.skipped["row"].to_pylist() == [1]
    with pytest.raises(simdb.InputError, match="row 1 has the id"):
        simdb.deduplicate(rows, id=ids)


def odd_tokens(content):
    """Return the words of a text; a tokeniser that fails for one of them."""
    if "boom" in content:
        raise ValueError("odd")
    return content.split()


def test_a_text_that_its_tokeniser_refuses_is_left_out():
    sketch = simdb.Simhash(tokeniser=f"{__name__}:odd_tokens")
    rows = [text(0), "boom of one", text(0), text(1)]

    found = simdb.deduplicate(rows, sketch=sketch, on_error="skip")

    assert found.data == [text(0), text(1)]
    assert found.skipped["row"].to_pylist() == [1]
    assert "raised ValueError: odd" in found.skipped["reason"][0].as_py()
    with pytest.raises(simdb.InputError, match="row 1 of data"):
        simdb.deduplicate(rows, sketch=sketch)
