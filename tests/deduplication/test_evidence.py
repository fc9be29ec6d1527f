"""A second look at what was removed: a page with the texts, and a higher similarity."""

import gc
import json
import os
import random
import weakref
from functools import cache

import pytest
from hypothesis import given, strategies as st
from whole_pages import assert_whole

import simdb

LEAST = 0.5


@cache
def jaccard(one, two):
    first, second = set(one.split()), set(two.split())
    return len(first & second) / len(first | second)


def near_copies(seed, count=40):
    """Return texts whose words, each a shingle, differ somewhat within families of five."""
    chance = random.Random(seed)
    texts = []
    for family in range(-(-count // 5)):
        words = [f"f{family}w{at}" for at in range(12)]
        for _ in range(5):
            dropped = chance.sample(range(12), chance.randrange(6))
            texts.append(" ".join(word for at, word in enumerate(words) if at not in dropped))
    chance.shuffle(texts)
    return texts[:count]


def deduplicate(texts, similarity=LEAST, **settings):
    return simdb.deduplicate(
        texts, similarity=similarity, sketch=simdb.Simhash(shingle=1), **settings
    )


def summary(found):
    pairs = zip(found.removed_ids.tolist(), found.representatives.tolist(), strict=True)
    return found.kept.tolist(), list(pairs), [list(each) for each in found.groups]


@given(st.integers(0, 10_000), st.floats(LEAST, 1.0), st.sampled_from(["first", "longest"]))
def test_a_row_comes_back_if_it_is_less_similar_to_the_row_that_stays(seed, similarity, keep):
    texts = near_copies(seed)
    first = deduplicate(texts, keep=keep)

    found = first.at(similarity)

    goes = {
        row: stays
        for row, stays in zip(first.removed_ids, first.representatives, strict=True)
        if jaccard(texts[row], texts[stays]) >= similarity - 1e-7
    }
    assert dict(zip(found.removed_ids, found.representatives, strict=True)) == goes
    assert found.kept.tolist() == [row not in goes for row in range(len(texts))]
    assert found.data == [text for row, text in enumerate(texts) if row not in goes]
    members = {row for group in found.groups for row in group}
    assert members == {*goes, *goes.values()}
    assert all(len(group) > 1 for group in found.groups)
    assert all(goes[row] == group.representative for group in found.groups for row in group.ids[1:])


def test_a_stricter_result_can_be_made_stricter_and_says_its_similarity():
    texts = near_copies(3)
    first = deduplicate(texts)

    twice = first.at(0.7).at(0.9)

    assert summary(twice) == summary(first.at(0.9))
    assert "Jaccard similarity of at least 0.9" in repr(twice)
    assert "Jaccard similarity of at least 0.5" in repr(first)
    with pytest.raises(simdb.OptionError, match=r"at least 0\.9, by which rows were removed"):
        twice.at(0.8)


def test_files_are_made_stricter_like_rows_and_closed_when_the_last_result_goes(tmp_path):
    texts = near_copies(4)
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({"id": at, "text": text}) + "\n"
                            for at, text in enumerate(texts)))  # fmt: skip
    gc.collect()  # what other tests left open in cycles
    before = len(os.listdir("/proc/self/fd"))
    first = deduplicate(path)

    found = first.at(0.8)
    del first
    gc.collect()

    assert len(os.listdir("/proc/self/fd")) > before
    expected = deduplicate(texts).at(0.8)
    assert found.kept.tolist() == expected.kept.tolist()
    assert found.data.column("text").to_pylist() == expected.data
    found.report(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text().count("<article") == len(found.removed_ids)
    del found
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_result_does_not_hold_what_reported_its_progress(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "a b c d"}\n{"text": "a b c e"}\n')

    class Report:
        def __call__(self, done):
            pass

    for data in (["a b c d", "a b c e"], tmp_path / "a.jsonl"):
        report = Report()
        seen = weakref.ref(report)
        found = deduplicate(data, progress=report)
        del report

        assert seen() is None
        assert len(found) == 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"policy": "connected"}, "at\\(\\) needs policy='star'"),
        ({"verify": "estimate", "similarity": None, "distance": 3}, "matched by distance"),
        ({"db": "d"}, "has not stored the rows that would be kept again"),
    ],
)
def test_what_cannot_be_made_stricter_is_refused(tmp_path, monkeypatch, settings, message):
    monkeypatch.chdir(tmp_path)
    found = deduplicate(["a b c d", "a b c e"], **settings)

    with pytest.raises(simdb.OptionError, match=message):
        found.at(0.9)


pytest.importorskip("jinja2")


def page_of(found, folder):
    found.report(folder / "page.html")
    return assert_whole(
        (folder / "page.html").read_text(encoding="utf-8"), script=len(found.removed_ids) > 0
    )


def test_the_page_shows_each_removed_text_beside_the_one_that_stays(tmp_path):
    rows = [
        {"id": "a", "text": "one two three four", "n": 1},
        {"id": "b", "text": "one two three five", "n": 2},
        {"id": "c", "text": None, "n": 3},
        {"id": "d", "text": b"one two three four".decode(), "n": 0},
    ]
    found = deduplicate(rows, id="id", keep="max:n", on_null="drop")

    parsed = page_of(found, tmp_path)

    assert [text for text in parsed.texts["bdi"] if text in "abcd"] == ["a", "b", "d", "b"]
    assert parsed.texts["del"] == ["Marked", "four", "four"]
    assert parsed.texts["ins"] == ["marked", "five", "five"]
    assert parsed.texts["dd"] == ["4", "2", "2", "2"]
    assert "exact Jaccard similarity of their texts is at least 0.5" in parsed.text("p")


def test_the_text_of_an_earlier_call_is_not_at_hand(tmp_path):
    deduplicate(["one two three four"], id=["old"], db=tmp_path / "d")
    found = deduplicate(
        ["one two three four", "x y z w", "x y z v"], id=["a", "b", "c"], db=tmp_path / "d"
    )

    parsed = page_of(found, tmp_path)

    assert [text for text in parsed.texts["bdi"] if text in ("old", *"abc")] == [
        "c", "b", "a", "old",
    ]  # fmt: skip
    assert parsed.texts["del"] == ["Marked", "v"]
    assert parsed.text("p").count("Its text is not at hand.") == 1


def test_nothing_removed_makes_a_page_and_what_cannot_be_one_is_refused(tmp_path):
    path, nothing = tmp_path / "a.jsonl", deduplicate(["one", "two"])
    path.write_text('{"text": "a b c d"}\n{"text": "a b c e"}\n')
    found = deduplicate(path)
    path.write_text('{"text": "changed"}\n')

    assert "No document was removed." in page_of(nothing, tmp_path).text("p")
    with pytest.raises(simdb.OptionError, match="cannot be written"):
        nothing.report(tmp_path / "none" / "page.html")
    with pytest.raises(simdb.InputError, match=r"a\.jsonl"):
        found.report(tmp_path / "page.html")


def test_a_page_replaces_no_file_of_the_reference(tmp_path):
    (tmp_path / "reference").mkdir()
    held = tmp_path / "reference" / "page.html"
    held.write_text("a b c d")

    found = deduplicate(["a b c d", "e"], against=tmp_path / "reference")
    with pytest.raises(simdb.OptionError, match="which stays as it is"):
        found.report(held)

    assert found.data == ["e"]
    assert held.read_text() == "a b c d"
