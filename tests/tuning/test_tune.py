"""Advice suits the texts, follows judged pairs and what a sample shows, and names what is wrong.

Seeds are fixed.  Each estimated number of features is a mean over 500 documents; the number of
levels of one has a standard deviation of about 1, so that of the mean is 0.05, which is 0.2
features at 10 features and 1 at 28.  The limits below are 4 standard deviations away or more, a
chance of failing below 1e-4.
"""

import json
import random
from dataclasses import replace

import numpy as np
import pytest
from over import over

import simdb
from simdb.core import kernel
from simdb.sketch.tuning.sample import (
    TAG,
    changed_words,
    count_words,
    drawn,
    features_by_levels,
    features_by_minima,
    is_telling,
    writing_of,
)
from simdb.sketch.tuning.tune import flags_of

FOX = "the quick brown fox jumps over the lazy dog near the river bank"
CONSONANTS = "bcdfghjklmnprstvz"
THAI = "\u0e01\u0e02\u0e04\u0e07\u0e08\u0e0a\u0e14\u0e15\u0e16\u0e17\u0e19\u0e1a\u0e1b\u0e1e\u0e21"


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
    assert advice.options.similarity == pytest.approx(0.8, abs=0.05)
    assert advice.measure == "jaccard"


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


def test_in_scripts_without_spaces_each_character_is_a_word():
    generator = random.Random(2)
    texts = ["".join(generator.choices(THAI, k=12)) for _ in range(300)]

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
    assert str(advice).startswith(f"simdb dedup SOURCE... {advice.flags}\nsimdb create DB ")
    assert row["commands"] == advice.commands
    assert f"\nmeasure {advice.measure}\n" in str(advice)
    assert all(reason.split()[0] in str(advice) for reason in advice.reasons)


@over(
    ("duplicates", "others"), [(0, 0), (1, 0), (0, 1), (1, 1), (1, 49), (49, 1), (0, 50), (50, 0)]
)
def test_few_pairs_of_a_kind_leave_the_advice_to_the_texts(titles, advised, duplicates, others):
    labels = [True] * duplicates + [False] * others
    pairs = [(at, at + 100) for at in range(len(labels))]

    advice = simdb.tune(titles, pairs, labels)

    assert advice.options == advised.options
    assert advice.reasons[:-2] == advised.reasons[:-1]
    assert f"{duplicates} duplicate" in advice.reasons[-2]
    assert "say too little" in advice.reasons[-2]
    assert (advice.pair_count, advice.precision, advice.blocking) == (0, None, False)


@over(("duplicates", "others"), [(2, 2), (2, 30), (30, 2), (3, 5)])
def test_two_pairs_of_each_kind_are_used(titles, duplicates, others):
    labels = [True] * duplicates + [False] * others
    pairs = [(titles[at], changed(titles[at], 1, at)) for at in range(duplicates)]
    pairs += [(titles[at], titles[at + 100]) for at in range(others)]

    advice = simdb.tune(titles, pairs, labels)

    assert advice.pair_count == duplicates + others
    assert advice.precision is not None


def candidates(texts, kept, others):
    """Return pairs of texts: duplicates share `kept` words of eight, other pairs `others`."""
    shared = [kept] * 30 + [others] * 30
    pairs = [(texts[at], changed(texts[at], 8 - count, at)) for at, count in enumerate(shared)]
    return pairs, [True] * 30 + [False] * 30


SEEMS, ASKS = "seem to be candidates of a blocking step", "say blocking=True"


def test_candidates_of_a_blocking_step_are_inferred_and_named(titles):
    # Duplicates that share 4 words of 8 are less alike than a few of a million unrelated titles.
    judged = candidates(titles, 4, 2)

    inferred = simdb.tune(titles, *judged, documents=10**6)
    given = simdb.tune(titles, *judged, documents=10**6, blocking=True)
    denied = simdb.tune(titles, *judged, documents=10**6, blocking=False)

    assert (inferred.options, inferred.flags) == (given.options, given.flags)
    assert (inferred.blocking, given.blocking, denied.blocking) == (True, True, False)
    assert [SEEMS in each.reason for each in (inferred, given, denied)] == [True, False, False]
    assert [ASKS in each.reason for each in (inferred, given, denied)] == [False, False, True]
    assert "A search of all 1,000,000 documents would also match" in inferred.reason
    assert inferred.recall.value > denied.recall.value + 0.2
    assert not {"dedup", "query"} & inferred.commands.keys()
    assert inferred.commands["compare"] == "database.compare(left, right)"
    assert list(denied.commands) == ["dedup", "create", "query", "python"]


def test_pairs_at_random_are_no_candidates(titles):
    # The other pairs are drawn as unrelated ones are: 2.5 standard deviations, a chance of 0.006.
    judged = [(text, changed(text, 2, at)) for at, text in enumerate(titles[:30])]
    judged += list(zip(titles[30:80], titles[80:130], strict=True))

    advice = simdb.tune(titles, judged, [True] * 30 + [False] * 50)

    assert not advice.blocking
    assert SEEMS not in advice.reason


def test_where_no_unrelated_document_matches_candidates_are_searched_for(titles):
    advice = simdb.tune(titles, *candidates(titles, 7, 4))

    assert SEEMS in advice.reason
    assert not advice.blocking
    assert "dedup" in advice.commands


def test_the_words_for_python_make_the_options(advised):
    assert eval(advised.commands["python"], {"simdb": simdb}) == advised.options
    assert advised.commands["query"].endswith(f"--similarity {advised.options.similarity:g}")


def test_the_words_with_weights_name_the_table_that_is_made_first(titles, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    advice = simdb.tune(titles)
    table = simdb.fit_idf(titles)
    simdb.save_idf(table, "texts.idf")
    sketch = simdb.Simhash(weighting="tf-idf", idf=table)
    weighted = replace(advice, options=simdb.Options(sketch=sketch), idf_flags="--output texts.idf")

    assert next(iter(weighted.commands)) == "idf"
    assert weighted.commands["idf"] == "simdb idf SOURCE... --output texts.idf"
    assert eval(weighted.commands["python"], {"simdb": simdb}) == weighted.options


def test_bytes_arrow_columns_and_odd_texts_are_taken(titles):
    texts = [text.encode() for text in titles[:50]] + ["", "\ud800 lone", "\x00"] + titles[50:]

    assert simdb.tune(texts).words == 8


@over(
    ("arguments", "message"),
    [
        ({"texts": "one text"}, "texts must be a list"),
        ({"texts": []}, "there are no texts"),
        ({"texts": ["", "..."]}, "none of the 2 texts contains a word"),
        ({"texts": ["a", 5]}, "text 1 is int"),
        ({"texts": ["a b", "c d"], "pairs": [(0, 1)]}, "together"),
        ({"texts": ["a b"], "labels": [1]}, "together"),
        ({"texts": ["a b", "c d"], "pairs": [(0, 1)], "labels": [1, 0]}, "1 pairs have 2 labels"),
        ({"texts": ["a b"], "pairs": [(0, 0)], "labels": ["yes"]}, "label 0 is 'yes'"),
        ({"texts": ["a b"], "pairs": [(0, 7)] * 4, "labels": [1, 1, 0, 0]}, "names text 7"),
        ({"texts": ["a b"], "pairs": [(0, 0, 1)] * 4, "labels": [1, 1, 0, 0]}, "pair 0 is"),
        ({"texts": ["a b"], "pairs": [(0, 1.5)] * 4, "labels": [1, 1, 0, 0]}, "pair 0 is float"),
        ({"texts": {"x": "a b"}, "pairs": [("x", "y")] * 4, "labels": [1, 1, 0, 0]}, "'y'"),
        ({"texts": {"x": "a b"}, "pairs": [("x", [])] * 4, "labels": [1, 1, 0, 0]}, "not the id"),
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


def test_all_flags_have_one_threshold(advised):
    assert flags_of(simdb.Simhash(), 0.8) == ("--similarity 0.8", "")
    assert advised.flags.endswith(f"--similarity {advised.options.similarity:g}")
    assert advised.as_dict()["measure"] == advised.measure == "jaccard"


CHINESE = "\u8fd9\u662f\u4e00\u4e2a\u6587\u672c"
THANKS = "\u0e02\u0e2d\u0e1a\u0e04\u0e38\u0e13\u0e21\u0e32\u0e01"


def sample_of(texts):
    return drawn(texts, len(texts), np.random.default_rng(0))


def test_shares_of_scripts_count_texts_that_are_mostly_in_them():
    sample = sample_of(
        ["only English", CHINESE, f"{CHINESE} API", THANKS, f"{THANKS} a long English"]
    )

    assert sample.spaceless == 3 / 5


def test_tags_are_found_and_other_signs_are_none():
    tags = ["<p>", "</p>", '<a href="x">', "<br/>", "<br />", "<H1 id=x>"]
    others = ["a < b", "x <y", "<3", "<>", "< p >", "List<", "<a@b.org>"]

    assert all(map(TAG.fullmatch, tags))
    assert not any(map(TAG.search, others))


def test_the_median_is_of_texts_with_words():
    assert sample_of(["", "...", "one two three", "one two three four five"]).words == 4


def test_a_sample_is_a_part_of_many_texts():
    sample = sample_of([f"text number {at}" for at in range(5000)])

    assert len(sample.texts) == len(set(sample.texts)) == 2000
    assert sample.total == 5000


def test_tags_are_no_words():
    sample = sample_of(
        ["<p class='one'>two words</p>", '<a href="x y z">two words</a>', "two words"]
    )

    assert sample.words == 2
    assert sample.marked == 2 / 3


LETTERS = "abcdefghijklmnopqrstuvwxyz"
ARABIC = "\u0643\u064f\u0644\u064f\u0651 \u0627\u0644\u0646\u0651\u064e\u0627\u0633\u0650"
WIDE = "\uff36\uff2f\uff2c\uff0e\uff11\uff12"


def texts(count, seed, *, wrong=0.0):
    """Return texts of frequent words, of which a share of the letters is wrong."""
    chance = random.Random(seed)
    words = ["".join(chance.choice(LETTERS) for _ in range(7)) for _ in range(400)]

    def shown(word):
        return "".join(chance.choice(LETTERS) if chance.random() < wrong else each for each in word)

    return [" ".join(shown(chance.choice(words)) for _ in range(60)) for _ in range(count)]


@pytest.mark.parametrize(
    ("added", "share", "options"),
    [
        ("plain words", 1.0, {}),
        ("\u4e2d\u6587\uff0c\u3002\uff01", 1.0, {}),  # full width punctuation is in no word
        (WIDE, 0.05, {"normalisation": "nfkc"}),
        (ARABIC, 0.05, {"marks": "drop"}),
        ("\u0131\u015f\u0131k", 0.9, {"turkic_case": True}),
        ("\u0131\u015f\u0131k", 0.1, {}),
        ("h\u0435llo", 0.05, {"normalisation": "lenient", "marks": "drop"}),
    ],
    ids=ascii,
)
def test_options_follow_from_characters(added, share, options):
    some = texts(100, 1)
    written = [f"{each} {added}" if at < share * 100 else each for at, each in enumerate(some)]

    assert writing_of(written).options == options


@pytest.mark.parametrize(("wrong", "is_noisy"), [(0.0, False), (0.01, True), (0.05, True)])
def test_wrong_letters_are_seen(wrong, is_noisy):
    assert writing_of(texts(200, 2, wrong=wrong)).is_noisy == is_noisy


def test_advice_has_the_options_and_says_why():
    written = [f"{each} {WIDE} {ARABIC}" for each in texts(60, 3, wrong=0.03)]

    advice = simdb.tune(written)

    sketch = advice.options.sketch
    assert (sketch.normalisation, sketch.marks) == ("nfkc", "drop")
    assert "--normalisation nfkc --marks drop" in advice.flags
    assert "forms of characters" in advice.reason
    assert "points or a tatweel" in advice.reason
    assert "--unit characters --shingle 5" in advice.flags
    assert "shingles of 5 characters, so copies with wrong letters" in advice.reason
    assert simdb.fingerprint(written[0], sketch).bits


def deduplicated(texts, advice):
    made = advice.options
    return simdb.deduplicate(texts, sketch=made.sketch, similarity=made.similarity)


def test_advice_for_words_of_two_scripts_makes_look_alikes_equal():
    originals = texts(40, 3)
    copies = [each.replace("a", "\u0430").replace("e", "\u0435") for each in originals]

    advice = simdb.tune(originals + copies)

    assert advice.options.sketch.normalisation == "lenient"
    assert "--normalisation lenient --marks drop" in advice.flags
    assert "50% of them have words of two scripts" in advice.reason
    assert len(deduplicated(originals + copies, advice).removed_ids) == 40


def test_advice_finds_copies_with_wrong_letters():
    originals = texts(100, 3, wrong=0.0)
    chance = random.Random(7)

    def misread(text):
        return "".join("x" if chance.random() < 0.05 else letter for letter in text)

    read = [misread(text) for text in originals for _ in range(2)]
    advice = simdb.tune(read)
    found = deduplicated(read, advice)

    pairs = list(zip(found.removed_ids.tolist(), found.representatives.tolist(), strict=True))
    assert len(simdb.deduplicate(read)) == 200
    assert len(pairs) >= 95
    assert [row - 1 for row, _ in pairs] == [kept for _, kept in pairs]


def test_advice_for_turkic_texts_folds_their_capitals():
    advice = simdb.tune([f"{each} \u0131\u015f\u0131k" for each in texts(60, 4)])

    assert advice.options.sketch.turkic_case
    assert "--turkic-case" in advice.flags


PAGE = 0.889


@over(
    ("text", "words"),
    [
        ("", 0),
        ("...", 0),
        ("three short words", 3),
        ("\u8fd9\u662f\u4e2d\u6587", 4),  # Chinese
        ("\u0e02\u0e2d\u0e1a\u0e04\u0e38\u0e13", 6),  # Thai: five letters, and a vowel sign
        ("\u0e02\u0e2d thank you", 4),
    ],
)
def test_words_are_counted_and_letters_of_scripts_without_spaces(text, words):
    assert count_words([text, "x y"]).tolist() == [words, 2]


def test_a_text_may_change_as_many_words_as_leave_its_shingles_at_the_threshold():
    pages, numbers = changed_words(300, PAGE), [changed_words(at, PAGE) for at in (100, 30, 10, 3)]

    assert (1 - pages / 300) ** 3 == pytest.approx(PAGE)
    assert changed_words(3000, PAGE) == pytest.approx(10 * pages)
    # A shorter text may change fewer words, but a larger share.
    assert [pages, *numbers] == sorted([pages, *numbers], reverse=True)
    assert numbers[2] / 10 > numbers[1] / 30 > pages / 300
    assert numbers[1] == pytest.approx((pages * pages / 10) ** 0.5)
    assert (changed_words(1, 0.1), changed_words(0, PAGE)) == (1, 0)


def vectors_of(count, dimensions):
    texts = [" ".join(f"w{at}x{each}" for each in range(count + 2)) for at in range(500)]
    weights = simdb.fingerprints(texts, simdb.Simhash(dimensions=dimensions)).weights
    return kernel.quantise(weights)[1]


@pytest.mark.parametrize(("count", "tolerance", "dimensions"), [(1, 0.1, 128), (20, 3, 64)])
def test_few_features_are_counted_by_levels(count, tolerance, dimensions):
    found = features_by_levels(vectors_of(count, dimensions))

    assert found == pytest.approx(count, abs=tolerance)


@pytest.mark.parametrize("count", [60, 300])
def test_many_features_cannot_be_counted_by_levels(count):
    found = features_by_levels(vectors_of(count, 128))

    assert found is None or found > 29


@over("count", [1, 10, 28, 300])
def test_features_are_counted_by_minima(count):
    texts = [" ".join(f"w{at}x{each}" for each in range(count + 2)) for at in range(500)]

    found = features_by_minima(simdb.signatures(texts).minima)

    # One estimate has an error of 1 / sqrt(128), their median of 0.5 %.
    assert found == pytest.approx(count, rel=0.05)


@over(
    ("sketch", "expected"),
    [
        (simdb.Simhash(), True),
        (simdb.Simhash(unit="whitespace", shingle=1), True),
        (simdb.Simhash(unit="characters"), False),
        (simdb.Simhash(weighting="tf"), False),
        (simdb.Simhash(store_volatility=False), False),
        (simdb.Simhash(tokeniser="a:b"), False),
        (simdb.Minhash(), True),
        (simdb.Minhash(stored_bits=8), False),
        (simdb.Minhash(family="one-permutation"), False),
        (simdb.Minhash(weighting="bag"), False),
    ],
)
def test_some_sketches_tell_the_number_of_words(sketch, expected):
    assert is_telling(sketch) is expected


def test_an_average_hides_no_outliers():
    # A quarter of very long documents changes nothing: the middle half is looked at.
    short, long = vectors_of(5, 128), vectors_of(300, 128)

    assert features_by_levels(np.concatenate([short, long[:100]])) < 8
