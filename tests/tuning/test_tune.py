"""Advice suits the texts, follows judged pairs, and names what is wrong with its arguments."""

import json
import random

import numpy as np
import pytest
from over import over

import simdb
from simdb.sketch.tuning.tune import flags_of

FOX = "the quick brown fox jumps over the lazy dog near the river bank"
CONSONANTS = "bcdfghjklmnprstvz"
THAI = "\u0e01\u0e02\u0e04\u0e07\u0e08\u0e0a\u0e14\u0e15\u0e16\u0e17\u0e19\u0e1a\u0e1b\u0e1e\u0e21"
HAN = "".join(map(chr, range(0x4E00, 0x4E80)))


def vocabulary(generator, count=3000):
    return [
        "".join(generator.choice(CONSONANTS) + generator.choice("aeiou") for _ in range(length))
        for length in (generator.randint(1, 4) for _ in range(count))
    ]


def records(count, length, seed=1):
    """Return random texts of `length` words."""
    generator = random.Random(seed)
    words = vocabulary(generator)
    return [" ".join(generator.choices(words, k=length)) for _ in range(count)]


def changed(text, count, seed):
    """Return the text with `count` other words."""
    generator = random.Random(seed)
    words = text.split()
    for at in generator.sample(range(len(words)), count):
        words[at] = f"other{generator.randint(0, 10**9)}"
    return " ".join(words)


@pytest.fixture(scope="module")
def titles():
    return records(400, 8)


@pytest.fixture(scope="module")
def advised(titles):
    return simdb.tune(titles)


@pytest.fixture(scope="module")
def judged(titles):
    """Pairs by text: a third of the words of a duplicate differ; other pairs share a third."""
    duplicates = [(text, changed(text, 3, at)) for at, text in enumerate(titles[:30])]
    others = [(text, changed(text, 6, at)) for at, text in enumerate(titles[30:60])]
    return duplicates + others, [True] * 30 + [False] * 30


@pytest.fixture(scope="module")
def advised_by_pairs(titles, judged):
    return simdb.tune(titles, *judged)


def test_pages_get_the_defaults():
    advice = simdb.tune(records(150, 300))

    assert advice.options.sketch == simdb.Simhash()
    assert advice.options.similarity == pytest.approx(0.889, abs=0.03)


def test_short_texts_get_smaller_shingles_and_a_lower_threshold(advised):
    sketch = advised.options.sketch
    assert sketch.shingle < 3 or sketch.unit == "characters"
    assert advised.options.similarity < 0.85
    assert (advised.words, advised.topic, advised.pair_count) == (8, "sketch", 0)
    assert (advised.precision, advised.recall) == (None, None)
    assert advised.remedy == f"simdb dedup SOURCE... {advised.flags}"
    assert any("fewer than 30 words" in reason for reason in advised.reasons)


def found_share(path, options, texts, copies):
    """Return the share of copies whose query finds the text at the same position."""
    with simdb.open(path, "x", options=options) as database:
        database.insert_many(range(len(texts)), texts)
        matches = database.query_many(copies)
        return np.mean([at in [each.id for each in matches[at]] for at in range(len(copies))])


def test_the_advised_threshold_finds_edited_records_that_the_default_misses(
    titles, advised, tmp_path
):
    folder = tmp_path
    # Each copy differs in two words of eight.
    copies = [changed(text, 2, at) for at, text in enumerate(titles)]

    assert found_share(folder / "usual", simdb.Options(), titles, copies) < 0.05
    assert found_share(folder / "advised", advised.options, titles, copies) > 0.3


@pytest.mark.few(1)
@pytest.mark.parametrize("letters", [THAI, HAN])
def test_in_scripts_without_spaces_each_character_is_a_word(letters):
    generator = random.Random(2)
    texts = ["".join(generator.choices(letters, k=12)) for _ in range(300)]

    advice = simdb.tune(texts)

    assert advice.words == 12
    assert advice.options.sketch.unit == "words"
    assert advice.options.similarity < 0.85
    assert any("without spaces" in reason for reason in advice.reasons)


def test_markup_is_left_out():
    bare = records(200, 80)
    texts = [f"<div class='row'><p>{text}</p></div>" for text in bare]

    advice = simdb.tune(texts)

    assert advice.options.similarity == simdb.tune(bare).options.similarity
    assert advice.options.sketch.markup == "html"
    assert advice.flags.startswith("--markup html")


def test_signs_that_only_look_like_tags_are_no_markup():
    texts = [f"if a < b and c > d: {text} < {text}" for text in records(200, 40)]

    assert simdb.tune(texts).options.sketch.markup == "none"


def test_pairs_by_position_by_id_and_by_text_are_the_same(titles, judged):
    pairs, labels = judged
    texts = [text for pair in pairs for text in pair] + titles[60:100]
    positions = [(2 * at, 2 * at + 1) for at in range(len(pairs))]
    names = [f"n{at}" for at in range(len(texts))]
    by_id = dict(zip(names, texts, strict=True))

    one = simdb.tune(iter(texts), np.array(positions), np.array(labels))
    two = simdb.tune(by_id, [(f"n{left}", f"n{right}") for left, right in positions], labels)
    three = simdb.tune(texts, pairs, labels)

    assert one == two == three


def test_advice_can_be_printed_and_stored_as_json(advised_by_pairs):
    advice = advised_by_pairs

    row = json.loads(json.dumps(advice.as_dict()))
    assert row["flags"] == advice.flags
    assert row["similarity"] == advice.options.similarity
    assert row["precision"]["low"] <= row["precision"]["value"] <= row["precision"]["high"]
    assert advice.flags in repr(advice)
    assert "precision" in repr(advice)
    assert str(advice).startswith(advice.flags)
    assert all(reason.split()[0] in str(advice) for reason in advice.reasons)


def test_bytes_arrow_columns_and_odd_texts_are_taken(titles):
    texts = [text.encode() for text in titles[:50]] + ["", "\ud800 lone", "\x00"] + titles[50:]

    assert simdb.tune(texts).words == 8


@over(
    ("arguments", "message"),
    [
        ({"texts": "one text"}, "texts must be a list"),
        ({"texts": []}, "there are no texts"),
        ({"texts": ["", "..."]}, "none of 2 texts has a word"),
        ({"texts": ["a", 5]}, "text 1 is int"),
        ({"texts": ["a b", "c d"], "pairs": [(0, 1)]}, "together"),
        ({"texts": ["a b"], "labels": [1]}, "together"),
        ({"texts": ["a b", "c d"], "pairs": [(0, 1)], "labels": [1, 0]}, "1 pairs have 2 labels"),
        ({"texts": ["a b"], "pairs": [(0, 0)], "labels": ["yes"]}, "label 0 is 'yes'"),
        ({"texts": ["a b"], "pairs": [(0, 0)], "labels": [1]}, "1 label with 1 duplicate"),
        ({"texts": ["a b"], "pairs": [(0, 7)] * 4, "labels": [1, 1, 0, 0]}, "names text 7"),
        ({"texts": ["a b"], "pairs": [(0, 0, 1)] * 4, "labels": [1, 1, 0, 0]}, "pair 0 is"),
        ({"texts": ["a b"], "pairs": [(0, 1.5)] * 4, "labels": [1, 1, 0, 0]}, "pair 0 is float"),
        ({"texts": {"x": "a b"}, "pairs": [("x", "y")] * 4, "labels": [1, 1, 0, 0]}, "'y'"),
        ({"texts": {"x": "a b"}, "pairs": [("x", [])] * 4, "labels": [1, 1, 0, 0]}, "no id"),
        ({"texts": ["a b"], "blocking": True}, "candidates of a blocking step; give pairs="),
        ({"texts": ["a b"], "documents": 0}, "documents"),
        ({"texts": ["a b"], "seed": -1}, "seed"),
    ],
)  # fmt: skip
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(simdb.Error, match=message):
        simdb.tune(**arguments)


@over("texts", [[FOX], 2 * [FOX], [FOX, f"{FOX} a"], ["a", "b"]])
def test_texts_that_are_all_alike_get_advice(texts):
    # Copies of equal texts differ more than these, which ended with StopIteration.
    assert 0 < simdb.tune(texts).options.similarity < 1


def test_flags_for_dedup_have_the_exact_similarity_that_the_threshold_means():
    assert flags_of(simdb.Simhash(), 0.889)[:2] == ("--similarity 0.8", "--similarity 0.889")
    weighted = simdb.Simhash(weighting="tf")
    assert flags_of(weighted, 0.7)[0] == flags_of(weighted, 0.7)[1]
