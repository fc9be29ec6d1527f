"""Text to weights: every variant against plain definitions."""

import random
from collections.abc import Callable
from typing import Any

import feature_oracle as oracle
import mmh3
import numpy as np
import pytest
from feature_oracle import features_of, tokens_of, weights_of
from hypothesis import given, strategies as st
from over import over

from simdb.core.errors import InputError
from simdb_ext import _sketch

OPTIONS: dict[str, Any] = {
    "unit": "words", "shingle": 3, "lowercase": True, "seed": 0, "replace": False, "start": 0,
}  # fmt: skip
SCRIPTS = (
    "abcXYZ019_ .,-\n\t\x00\x1c\x7f",
    "\xe9\xc9\xdf\xa0\xb5 a",
    "\u0130\u0131\u01c5\u0301\u1e9e\u03a3\u03c2\u2019\u2028 \u200bK\u212a",
    "\u5317\u4eac\u3042\u30a2\uac00\u3000\u3002\uff21 a",
    "\U00010400\U00020000\U0001f600\U000e0100\u5317 a",
)


def assert_projects(sketch: Any, texts: list[str], **changed: Any) -> None:
    options = OPTIONS | changed
    weights, features = sketch.project_texts(texts, **options)

    assert weights.dtype == np.int32
    assert features.dtype == np.int64
    assert weights.shape == (len(texts), 128)
    for text, row, count in zip(texts, weights.tolist(), features.tolist(), strict=True):
        tokens = tokens_of(text, options["unit"], options["lowercase"])
        contents = [token.encode() for token in tokens]
        found, number = weights_of(features_of(contents, options["shingle"], options["seed"]))
        assert (row, count) == (found.tolist(), number), text


def random_texts(seed: int, count: int, length_max: int) -> list[str]:
    chance = random.Random(seed)
    return [
        "".join(chance.choices(chance.choice(SCRIPTS), k=chance.randrange(length_max)))
        for _ in range(count)
    ]


def assert_same(sketch: Any, texts: list[Any], **changed: Any) -> None:
    options = OPTIONS | changed
    wanted, wanted_features = oracle.remembered(oracle.project_texts, texts, **options)
    weights, features = sketch.project_texts(texts, **options)

    np.testing.assert_array_equal(features, wanted_features)
    np.testing.assert_array_equal(weights, wanted)


def test_a_hash_is_that_of_mmh3(sketch: Any) -> None:
    content = bytes(random.Random(1).randbytes(200))
    pieces = [content[length % 7 : length % 7 + length] for length in range(130)]

    for seed in (0, 1, 2**32 - 1):
        weights, _ = sketch.project_tokens(
            [[piece] for piece in pieces], shingle=1, seed=seed, replace=False, start=0
        )

        # The signs of the weights of a single token are the bits of both words of its hash.
        for piece, row in zip(pieces, weights.tolist(), strict=True):
            assert row == weights_of(features_of([piece], 1, seed))[0].tolist()


@given(st.lists(st.binary(max_size=300), max_size=12), st.integers(0, 2**32 - 1))
def test_tokens_of_any_length_under_any_seed_have_the_hashes_of_mmh3(
    tokens: list[bytes], seed: int
) -> None:
    words = [mmh3.hash64(token, seed, signed=False) for token in tokens]
    given = {"shingle": 1, "seed": seed, "replace": False, "start": 0}
    for variant in _sketch.variants():
        before = _sketch.select(variant)
        try:
            # Together, as a kernel hashes several at a time, and each by itself.
            _, together, _ = _sketch.count_tokens([tokens], **given)
            weights, _ = _sketch.project_tokens([[token] for token in tokens], **given)
        finally:
            _sketch.select(before)

        assert together.tolist() == list(dict.fromkeys(first for first, _ in words))
        bits = np.packbits(weights > 0, axis=1, bitorder="little").view(np.uint64)
        assert bits.reshape(-1, 2).tolist() == [list(each) for each in words]


@over("unit", ["words", "characters"])
@over("shingle", [1, 2, 3, 8])
def test_random_text_is_projected_by_the_definition(sketch: Any, unit: str, shingle: int) -> None:
    texts = random_texts(shingle, 24, 40)

    assert_projects(sketch, texts, unit=unit, shingle=shingle, seed=7)


@over("unit", ["words", "characters"])
@over("lowercase", [False, True])
def test_every_ascii_character_has_its_place(sketch: Any, unit: str, lowercase: bool) -> None:
    texts = [f"a{chr(code)}B {chr(code)} c" for code in range(128)]

    assert_projects(sketch, texts, unit=unit, shingle=2, lowercase=lowercase)


def test_a_text_shorter_than_a_shingle_is_one_feature(sketch: Any) -> None:
    assert_projects(sketch, ["", "one", "one two", "one two three", "a b c d"], shingle=3)


@over("letter", ["\xe9", "\u0416", "\u2019", "\u5317", "\U0001f600", "\U00010400"])
@over("wide", ["", "\u2019", "\U0001f600"])
def test_a_character_may_stand_at_any_place_among_ascii(
    sketch: Any, letter: str, wide: str
) -> None:
    plain = "The quick_brown fox, 12 Lazy DOGS (jumped) over--under; a b c " * 3
    texts = [plain[:at] + letter + plain[at:110] + wide for at in range(110)]

    assert_same(sketch, texts, shingle=1)
    assert_same(sketch, texts, shingle=1, lowercase=False)


def test_the_compiled_table_is_that_of_the_definition() -> None:
    # What is assigned, and the edges of the planes beyond.
    planes = [code for plane in range(3, 17) for code in range(plane << 16, (plane << 16) + 512)]
    ends = [code for plane in range(3, 17) for code in range((plane << 16) - 64, plane << 16)]
    # The basic plane is cut in every variant.
    codes = [*range(0x10000, 0x20200), *range(0x2A600, 0x33500), *planes, *ends]
    blocks = [codes[start : start + 4096] for start in range(0, len(codes), 4096)]
    texts = ["-".join(f"a{chr(code)}{chr(code)}b" for code in block) for block in blocks]

    assert_same(_sketch, texts, shingle=1)


@over("unit", ["words", "spaceless"])
def test_every_variant_cuts_the_basic_plane_alike(sketch: Any, unit: str) -> None:
    codes = [*range(0xD800), *range(0xE000, 0x10000)]
    texts = [
        " ".join(f"{chr(code)}A{chr(code)}" for code in codes[start : start + 1500])
        for start in range(0, len(codes), 1500)
    ]

    assert_same(sketch, texts, unit=unit, shingle=1)


@over("length", [*range(70), 255, 256, 257])
def test_words_of_any_length_are_hashed_alike(sketch: Any, length: int) -> None:
    texts = [f"{'x' * length} tail", f"head {'X' * length}", "\u00e9" * length + " \u5317"]

    assert_same(sketch, texts, shingle=1)


@over("length", [63, 64, 65, 4095, 4096, 4097, 8191, 8192, 8193, 30000])
@over("letter", ["Q", "\u00c9", "\u0416", "\U00010400"])
def test_a_word_may_be_longer_than_a_window(sketch: Any, length: int, letter: str) -> None:
    word = letter * length
    texts = [word, f"{word} a", f"a {word}", f"{word[1:]}-{word} b c {word}"]

    assert_same(sketch, texts, shingle=2)


@over("unit", ["words", "characters"])
@over("script", range(len(SCRIPTS)))
def test_long_text_is_cut_alike_across_windows(sketch: Any, unit: str, script: int) -> None:
    letters = random.Random(script).choices(SCRIPTS[script] + " ", k=20000)
    texts = ["".join(letters), " " * 5000 + "a" + " " * 5000 + "b" + " " * 5000]

    assert_same(sketch, texts, unit=unit, shingle=5)


@over("unit", ["words", "characters"])
def test_the_longest_shingle_reaches_over_windows(sketch: Any, unit: str) -> None:
    texts = ["ab cd " * 5000, "a " * 1023, "a " * 1024, "a " * 1025]

    assert_same(sketch, texts, unit=unit, shingle=1024)


@over("unit", ["words", "characters"])
def test_equal_features_by_the_thousand_are_all_counted(sketch: Any, unit: str) -> None:
    texts = [letter * length for letter in "a\u5317" for length in (4000, 4097, 20000)]

    assert_same(sketch, texts, unit=unit, shingle=1)
    assert_same(sketch, texts, unit=unit, shingle=2)


@over("shingle", [1, 2, 5])
def test_texts_of_any_number_of_words_are_counted_alike(sketch: Any, shingle: int) -> None:
    words = [f"{'w' * (i % 20)}{i * i}" for i in range(260)]
    texts = [" ".join(words[:count]) for count in range(260)]

    assert_same(sketch, texts, shingle=shingle)


def test_blocks_of_features_are_counted_alike(sketch: Any) -> None:
    numbers = [*range(4020, 4110, 7), 8100, 8128, 8150]
    texts = [" ".join(map(str, range(count))) for count in numbers]

    assert_same(sketch, texts, shingle=1)


def test_many_texts_are_taken_in_chunks(sketch: Any) -> None:
    texts = [f"text number {i} of many" if i % 3 else "\u5317" for i in range(3000)]

    assert_same(sketch, texts)


@over("unit", ["words", "characters"])
def test_what_is_no_text_is_replaced_if_asked(sketch: Any, unit: str) -> None:
    broken = ["a\ud800b \udc00\ud800", "\udfff", b"a\xff\xfeb \xe5\x8c", b"\xed\xa0\x80"]
    mended = ["a?b ??", "?", b"a\xff\xfeb \xe5\x8c".decode(errors="replace"), "\ufffd" * 3]
    options = OPTIONS | {"unit": unit, "replace": True}

    weights, features = sketch.project_texts(broken, **options)

    wanted, wanted_features = sketch.project_texts(mended, **options)
    np.testing.assert_array_equal(weights, wanted)
    np.testing.assert_array_equal(features, wanted_features)


@over("code", [0xD800, 0xDFFF])
@over("letter", ["\u0416", "\U0001f600"])
def test_a_surrogate_is_found_at_any_place(sketch: Any, letter: str, code: int) -> None:
    texts = [letter * at + chr(code) + letter * (70 - at) for at in range(71)]
    texts += [letter + "a" * at + chr(code) for at in range(40)]

    for text in texts:
        with pytest.raises(InputError, match="document 1 has a lone surrogate"):
            sketch.project_texts(["\ud7ff\ue000" * 20 + letter, text], **OPTIONS)


@over(
    ("text", "cause"),
    [("a\ud800", UnicodeEncodeError), (b"a\xff", UnicodeDecodeError), (7, type(None))],
)
def test_the_first_broken_text_is_named(sketch: Any, text: Any, cause: type) -> None:
    texts = ["fine", b"fine", text, "a\udc00", b"\xff", None]

    with pytest.raises(InputError, match=r"^document 102 ") as caught:
        sketch.project_texts(texts, **(OPTIONS | {"start": 100}))

    assert isinstance(caught.value.__cause__, cause)


@over(
    "changed", [{"unit": "lines"}, {"shingle": 0}, {"shingle": 1025}, {"seed": -1}, {"seed": 2**32}]
)
def test_impossible_options_are_refused(sketch: Any, changed: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="is"):
        sketch.project_texts(["text"], **(OPTIONS | changed))


@over("shingle", [1, 2, 3, 9])
def test_given_tokens_are_hashed_as_they_are(sketch: Any, shingle: int) -> None:
    documents = [[], [""], ["One", b"\xff\x00", "\u5317\u4eac", ""], ["a b"] * 5, ("x",) * 9]

    weights, features = sketch.project_tokens(
        documents, shingle=shingle, seed=5, replace=False, start=0
    )

    wanted = oracle.project_tokens(documents, shingle=shingle, seed=5, replace=False, start=0)
    np.testing.assert_array_equal(weights, wanted[0])
    np.testing.assert_array_equal(features, wanted[1])


def test_many_given_tokens_are_as_good_as_few(sketch: Any) -> None:
    documents = [[str(i) * (i % 40) for i in range(count)] for count in (0, 3, 20000, 0, 9)]
    documents += [["\u5317", "x"]] * 2000
    options = {"shingle": 4, "seed": 0, "replace": False, "start": 0}

    weights, features = sketch.project_tokens(documents, **options)

    wanted, wanted_features = oracle.remembered(oracle.project_tokens, documents, **options)
    np.testing.assert_array_equal(weights, wanted)
    np.testing.assert_array_equal(features, wanted_features)


@over("document", ["text", b"text", 7, None, ["a", 7], ["a", "\ud800"]])
def test_what_is_no_list_of_tokens_is_named(sketch: Any, document: Any) -> None:
    with pytest.raises(InputError, match=r"^document 11 "):
        sketch.project_tokens([["a"], document], shingle=1, seed=0, replace=False, start=10)


def test_a_variant_is_chosen_by_name(sketch: Any) -> None:
    choose: Callable[[str], str] = sketch.select
    used = choose(sketch.variants()[0])

    assert used in sketch.variants()
    assert choose(used) == sketch.variants()[0]
    with pytest.raises(ValueError, match="no variant 'none'"):
        choose("none")
