"""Stop words, stems, counts and weights of features: every variant against plain definitions."""

import random
from collections import Counter
from functools import cache, partial

import feature_oracle as oracle
import mmh3
import numpy as np
import pytest
from feature_oracle import UNITS, arguments_of, features_of, tokens_of, weights_of
from over import over
from test_sketch_text import OPTIONS, random_texts

TEXTS = [
    "The cats sat on the mats, and the cat's mat was THE best of mats",
    "", "   ", "the", "a b a b a b a b", "\u5317\u4eac the \u5317\u4eac cats",
    "one two three " * 50, "x" * 300 + " cats " + "x" * 300,
]  # fmt: skip


def stem(words: list[str]) -> list[str]:
    """Stem words in a simple way: no plural, and nothing for "gone"."""
    return ["" if word == "gone" else word.rstrip("s") or word for word in words]


def features_in(text, shingle, unit="words"):
    return features_of([token.encode() for token in tokens_of(text, unit, True)], shingle)


@over("dimensions", [128, 256])
@over("counting", ["binary", "log-tf"])
@over("shingle", [1, 2, 3])
def test_features_are_counted_once_or_by_logarithm(sketch, counting, shingle, dimensions):
    options = OPTIONS | {"shingle": shingle, "counting": counting, "dimensions": dimensions}

    weights, numbers = sketch.project_texts(TEXTS, **options)

    for text, row, number in zip(TEXTS, weights, numbers.tolist(), strict=True):
        wanted, count = weights_of(features_in(text, shingle), counting, None, dimensions)
        assert (row.dtype, number) == (wanted.dtype, count)
        np.testing.assert_array_equal(row, wanted)


@over("dimensions", [128, 256])
@over("counting", ["tf", "binary", "log-tf"])
@over("count", [0, 1, 3, 40])
def test_a_table_multiplies_the_counts(sketch, counting, count, dimensions):
    known = sorted({
        feature[0] >> 16 for text in TEXTS for feature in features_in(text, 1).tolist()
    })  # fmt: skip
    idf = {word: 1024 + 97 * at for at, word in enumerate(known[:count])}
    options = OPTIONS | {"shingle": 1, "counting": counting, "dimensions": dimensions}

    weights, numbers = sketch.project_texts(TEXTS, **options, idf=arguments_of(idf))

    for text, row, number in zip(TEXTS, weights, numbers.tolist(), strict=True):
        wanted, count = weights_of(features_in(text, 1), counting, idf, dimensions)
        assert number == count
        np.testing.assert_array_equal(row, wanted)


def test_a_large_table_gives_every_weight(sketch):
    chance = random.Random(1)
    idf = {chance.getrandbits(48): chance.randrange(1, 65536) for _ in range(5000)}
    tokens = [str(at) for at in range(3000)]
    idf |= {mmh3.hash64(token, 0, signed=False)[0] >> 16: at + 1
            for at, token in enumerate(tokens[::2])}  # fmt: skip
    options = {"shingle": 1, "seed": 0, "replace": False, "start": 0}

    weights, _ = sketch.project_tokens(
        [[token] for token in tokens], **options, idf=arguments_of(idf)
    )

    wanted = [at // 2 + 1 if at % 2 == 0 else 5000 for at in range(3000)]
    np.testing.assert_array_equal(np.abs(weights[:, 0]), np.float32(wanted) / UNITS)


@over("shingle", [1, 3])
def test_stop_words_go_before_shingles_are_made(sketch, shingle):
    vocabulary = sketch.Vocabulary(0, ["the", "and", "\u5317"], None)
    options = OPTIONS | {"shingle": shingle}

    weights, features = sketch.project_texts(TEXTS, **options, vocabulary=vocabulary)

    left = [
        [word for word in tokens_of(text, "words", True) if word not in ("the", "and", "\u5317")]
        for text in TEXTS
    ]
    wanted, wanted_features = sketch.project_tokens(
        left, shingle=shingle, seed=0, replace=False, start=0
    )
    np.testing.assert_array_equal(weights, wanted)
    np.testing.assert_array_equal(features, wanted_features)


def test_stems_take_the_place_of_tokens(sketch):
    asked: list[str] = []
    vocabulary = sketch.Vocabulary(0, ["the"], lambda words: [asked.extend(words), stem(words)][1])
    texts = [*TEXTS, "gone with the winds", "a gone b"]

    weights, features = sketch.project_texts(texts, **OPTIONS, vocabulary=vocabulary)
    again, _ = sketch.project_texts(texts, **OPTIONS, vocabulary=vocabulary)

    left = [
        [
            word if len(word) > 255 else stem([word])[0]
            for word in tokens_of(text, "words", True)
            if word not in ("the", "gone")
        ]
        for text in texts
    ]
    wanted, wanted_features = sketch.project_tokens(left, shingle=3, seed=0, replace=False, start=0)
    np.testing.assert_array_equal(weights, wanted)
    np.testing.assert_array_equal(features, wanted_features)
    np.testing.assert_array_equal(again, wanted)
    assert len(asked) == len(set(asked))


def test_given_tokens_are_translated_too(sketch):
    vocabulary = sketch.Vocabulary(7, ["stop"], stem)
    documents = [["cats", "stop", "", b"mats", b"\xff\xfes", "x" * 300], [], ["stop"]]
    options = {"shingle": 1, "seed": 7, "replace": False, "start": 0}

    weights, features = sketch.project_tokens(documents, **options, vocabulary=vocabulary)

    left = [["cat", "", "mat", b"\xff\xfes", "x" * 300], [], []]
    wanted, wanted_features = sketch.project_tokens(left, **options)
    np.testing.assert_array_equal(weights, wanted)
    np.testing.assert_array_equal(features, wanted_features)


def test_a_vocabulary_forgets_and_still_answers_alike(sketch):
    vocabulary = sketch.Vocabulary(0, ["the"], stem, limit=3)
    texts = random_texts(2, 3000, 60)

    first, _ = sketch.project_texts(texts[:1500], **OPTIONS, vocabulary=vocabulary)
    second, _ = sketch.project_texts(texts[1500:], **OPTIONS, vocabulary=vocabulary)

    fresh = sketch.Vocabulary(0, ["the"], stem)
    wanted, _ = sketch.project_texts(texts, **OPTIONS, vocabulary=fresh)
    np.testing.assert_array_equal(np.concatenate([first, second]), wanted)


def test_a_text_of_very_many_new_words_is_stemmed_whole(sketch):
    words = [f"word{at}s" for at in range(20_000)]
    vocabulary = sketch.Vocabulary(0, [], stem)

    weights, _ = sketch.project_texts([" ".join(words)], **OPTIONS, vocabulary=vocabulary)

    wanted, _ = sketch.project_tokens([stem(words)], shingle=3, seed=0, replace=False, start=0)
    np.testing.assert_array_equal(weights, wanted)


@over("unit", ["words", "characters", "whitespace"])
@over("shingle", [1, 2])
def test_distinct_features_come_in_the_order_of_their_first_places(sketch, unit, shingle):
    texts = [*TEXTS, *random_texts(5, 40, 300)]
    if unit == "whitespace":
        texts = [text for text in texts if "\x1c" not in text]

    offsets, hashes, counts = sketch.count_texts(
        texts, **OPTIONS | {"unit": unit, "shingle": shingle}
    )

    assert (offsets.dtype, hashes.dtype, counts.dtype) == (np.int64, np.uint64, np.uint32)
    for at, text in enumerate(texts):
        wanted = Counter(map(tuple, features_in(text, shingle, unit).tolist()))
        part = slice(offsets[at], offsets[at + 1])
        assert hashes[part].tolist() == [feature[0] for feature in wanted]
        assert counts[part].tolist() == list(wanted.values())


def test_features_of_given_tokens_are_counted(sketch):
    documents = [["a", "b", "a"], [], ["b"]]

    offsets, hashes, counts = sketch.count_tokens(
        documents, shingle=1, seed=0, replace=False, start=0
    )

    a, b = (mmh3.hash64(token, 0, signed=False)[0] for token in (b"a", b"b"))
    assert offsets.tolist() == [0, 2, 2, 3]
    assert hashes.tolist() == [a, b, b]
    assert counts.tolist() == [2, 1, 1]


def long_and_strange(module, counting, unit, has_table):
    """Return what a module makes of long texts: fingerprints and vectors."""
    chance = random.Random(3)
    words = ["".join(chance.choices("abcdefs", k=chance.randrange(1, 6))) for _ in range(4000)]
    texts = [*random_texts(6, 4, 6000), " ".join(words), "y" * 9000 + " " + "z" * 5000]
    idf = {chance.getrandbits(48): 9 for _ in range(100)} if has_table else None
    if has_table and module is not oracle:
        idf = arguments_of(idf)
    options = OPTIONS | {"unit": unit, "counting": counting, "shingle": 2}
    return module.project_texts(texts, **options, idf=idf)


defined = cache(partial(long_and_strange, oracle))


@over("counting, unit", [("tf", "words"), ("binary", "whitespace"), ("log-tf", "words")])
@over("has_table", [False, True])
def test_long_and_strange_texts_agree_with_the_definition(sketch, counting, unit, has_table):
    found = long_and_strange(sketch, counting, unit, has_table)

    expected = defined(counting, unit, has_table)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])


@over("count", [1, 63, 64, 65, 500, 2047, 2049, 9000])
def test_many_short_tokens_are_each_kept_once(sketch, count):
    characters = "".join(map(chr, range(0x4E00, 0x4E00 + count)))
    options = OPTIONS | {"counting": "binary", "shingle": 1}

    weights, features = sketch.project_texts([characters, 2 * characters, "\u4e00"], **options)

    wanted, _ = oracle.project_texts([characters], **options | {"counting": "tf"})
    assert features.tolist() == [count, count, 1]
    np.testing.assert_array_equal(weights[0], wanted[0])
    np.testing.assert_array_equal(weights[1], wanted[0])


def test_what_does_not_fit_together_is_refused(sketch):
    entries, directory, default = arguments_of({1 << 24: 7})

    for changed in (
        {"counting": "idf"},
        {"counting": ""},
        {"unit": "sentences"},
        {"vocabulary": sketch.Vocabulary(1, [], None)},
        {"unit": "characters", "vocabulary": sketch.Vocabulary(0, [], None)},
        {"idf": (entries.astype(np.int64), directory, default)},
        {"idf": (entries, directory[:-1], default)},
        {"idf": (entries, np.zeros(4, np.uint32), default)},
        {"idf": (entries, directory, 0)},
        {"idf": (entries, directory, 65536)},
        {"dimensions": 64},
        {"dimensions": 129},
    ):
        with pytest.raises(
            ValueError, match=r"unit|counting|seed|entries|directory|default|dimensions"
        ):
            sketch.project_texts(["a"], **OPTIONS | changed)


def test_a_directory_that_lies_reads_nothing_outside(sketch):
    entries = np.array([1 << 40, 1 << 50], np.uint64)
    directory = np.array([0, 2**32 - 1, 5, 2**31, 2], np.uint32)

    weights, _ = sketch.project_texts(
        ["some words of text"], **OPTIONS | {"shingle": 1}, idf=(entries, directory, 9)
    )

    assert np.isfinite(weights).all()


def test_a_stemmer_that_loses_words_is_an_error(sketch):
    vocabulary = sketch.Vocabulary(0, [], lambda words: words[1:])

    with pytest.raises(ValueError, match="stems"):
        sketch.project_texts(["two words"], **OPTIONS, vocabulary=vocabulary)
