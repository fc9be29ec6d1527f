"""Labelled collections are read from their files, and judged as a loop over all pairs does."""

import gzip
import json
from itertools import combinations
from random import Random

import pytest

FOX = "the quick brown fox jumps over the lazy dog near the old stone bridge by the river bank"


def test_core_is_read_with_the_groups_that_its_labels_make(tmp_path, labelled):
    names = "core_id", "processed_title", "processed_abstract", "labelled_duplicates"
    rows = [
        dict(zip(names, row, strict=True))
        for row in ([1, "a", "b c", ["2"]], ["3", "", "e", []], ["4", "f", "", None])
    ]
    rows.append({"core_id": "2", "original_title": "d", "labelled_duplicates": [1, 3]})
    with gzip.open(tmp_path / "core.jsonl.gz", "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)

    texts, groups = labelled.read_core(tmp_path / "core.jsonl.gz")

    assert texts == {"1": "a b c", "2": "d", "3": "e", "4": "f"}
    assert groups["1"] == groups["2"] == groups["3"] != groups["4"]


def test_news_copy_is_read_with_the_groups_that_its_pairs_make(tmp_path, labelled):
    articles = {name: {"article": f"text {name}", "headline": "h"} for name in "abcde"}
    (tmp_path / "data.json").write_text(json.dumps(articles), encoding="utf-8")
    (tmp_path / "pairs.json").write_text('[["a", "c"], ["e", "c"]]', encoding="utf-8")

    texts, groups = labelled.read_news_copy(tmp_path / "data.json", tmp_path / "pairs.json")

    assert texts["b"] == "text b"
    assert groups["a"] == groups["c"] == groups["e"]
    assert len(set(groups.values())) == 3


def test_a_label_of_no_document_is_named(tmp_path, labelled):
    with pytest.raises(ValueError, match="a label names 'a' and 'z'"):
        labelled.components(["a"], [("a", "z")])


@pytest.mark.parametrize("seed", range(5))
def test_scores_are_those_of_a_loop_over_all_pairs(labelled, seed):
    chance = Random(seed)
    ids = [str(at) for at in range(30)]
    truth, found = ({id: chance.randrange(9) for id in ids} for _ in range(2))
    pairs = [(truth[a] == truth[b], found[a] == found[b]) for a, b in combinations(ids, 2)]
    both, left, right = (sum(map(each, pairs)) for each in (all, lambda p: p[0], lambda p: p[1]))
    expected = left * right / len(pairs)

    scores = labelled.pair_scores(truth, found)

    assert scores["precision"] == pytest.approx(both / right)
    assert scores["recall"] == pytest.approx(both / left)
    assert scores["f1"] == pytest.approx(2 * both / (left + right))
    index = (both - expected) / ((left + right) / 2 - expected)
    assert labelled.rand_index(truth, found) == pytest.approx(index)
    assert labelled.rand_index(truth, truth) == 1


def test_the_program_judges_files(tmp_path, labelled, monkeypatch, capsys):
    texts = {"a": FOX, "b": f"{FOX} today", "c": "something else entirely about birds and nests"}
    articles = {id: {"article": text} for id, text in texts.items()}
    (tmp_path / "data.json").write_text(json.dumps(articles), encoding="utf-8")
    (tmp_path / "pairs.json").write_text('[["a", "b"]]', encoding="utf-8")
    paths = [str(tmp_path / name) for name in ("data.json", "pairs.json")]
    monkeypatch.setattr("sys.argv", ["labelled.py", "news", *paths, "--characters", "5"])

    labelled.main()

    assert capsys.readouterr().out.splitlines() == [
        f"{policy} ari 1.000 precision 1.000 recall 1.000 f1 1.000"
        for policy in ("star", "connected")
    ]
