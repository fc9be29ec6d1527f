"""Scripts without spaces are cut by character: every kernel against the plain definition."""

import random
from functools import cache

import feature_oracle as oracle
import numpy as np
from hypothesis import given, strategies as st
from over import over
from script_oracle import SYLLABLES, made_text, words_of

from simdb_ext import _sketch

TEXT = {"lowercase": False, "shingle": 2, "seed": 0, "replace": False, "start": 0}
TOKENS = {"shingle": 2, "seed": 0, "replace": False, "start": 0}
BY_CHARACTER = {"words": "cjk", "spaceless": "spaceless"}  # by the kernel's unit
# Letters, marks, digits and punctuation of many scripts, of 1 to 4 bytes.
ALPHABET = (
    "aZ_9 .-\u00e9\u0416\u0627\u05d0\u0915\u093f\u0301\u200b\u200d\u2019"
    "\u0e01\u0e34\u0e48\u0e50\u0e2f\u0e81\u0eb5\u0ed1\u1780\u17d2\u17e1\u17d4\u1000\u103b\u1041"
    "\u0f40\u0f71\u0fb1\u0f0b\u0f20\ua98f\ua9c0\ua9d0\ua9cf\u1b05\u1b44\uaa00\uaa29\u1950\u1980"
    "\u19b0\u1a20\u1a60\uaa80\uaab0\u1bc0\u3105\ua000\uff76\uff9e\uff70\uff21\u5317\u3042\u30ac\uac00"
    "\U00010400\U00011700\U0001171d\U00011005\U00011305\U00011301\U00011ee0\U00018800\U0001b170"
    "\U0001b002\U00020000\U0001f600"
)

known_words = cache(words_of)  # every variant is tested on the same texts


def assert_cut(sketch, texts, unit, **changed):
    """Compare the weights of texts with those of the tokens that the definition gives."""
    weights, features = sketch.project_texts(texts, unit=unit, **(TEXT | changed))
    tokens = [known_words(text, BY_CHARACTER[unit]) for text in texts]
    wanted, wanted_features = oracle.remembered(oracle.project_tokens, tokens, **TOKENS)

    np.testing.assert_array_equal(features, wanted_features)
    np.testing.assert_array_equal(weights, wanted)


@over("unit", BY_CHARACTER)
@over("script", SYLLABLES)
def test_a_text_of_each_script_is_cut_by_the_definition(sketch, unit, script):
    text = made_text(script, 300, seed=1)

    assert_cut(sketch, [text, f"simdb {text} 42", text[:1], text[1:2]], unit)


@given(st.lists(st.text(st.sampled_from(ALPHABET), max_size=80), min_size=1, max_size=4))
def test_mixed_text_is_cut_by_the_definition_in_every_variant(texts):
    for name in _sketch.variants():
        before = _sketch.select(name)
        for unit in BY_CHARACTER:
            assert_cut(_sketch, texts, unit)
        _sketch.select(before)


@over("unit", BY_CHARACTER)
@over("letter", "\u0e48\u0e51\u0f0b\uff76\U00018800")
@over("wide", ["", "\U0001f600"])
def test_a_letter_may_stand_at_any_place_of_a_block(sketch, unit, letter, wide):
    plain = "The quick_brown fox, 12 Lazy DOGS (jumped) over--under; a b c " * 3
    thai = made_text("thai", 60, seed=2)
    texts = [plain[:at] + letter + plain[at:110] + wide for at in range(0, 110, 3)]
    texts += [thai[:at] + letter + "x" + letter + thai[at:110] + wide for at in range(0, 70)]

    assert_cut(sketch, texts, unit)


@over("unit", BY_CHARACTER)
@over("letter", ["\u0e48", "\U00018800"])
def test_a_run_of_letters_may_be_longer_than_a_window(sketch, unit, letter):
    run = letter * 4096

    assert_cut(sketch, [run, f"{run} a", f"ab{run}", f"{run[1:]}-{run}\u5317{run}"], unit)


@over("unit", BY_CHARACTER)
def test_a_word_goes_on_from_one_window_to_the_next(sketch, unit):
    long = "x" * 5000
    texts = [made_text("khmer", 1300, seed)[: 4090 + seed] + f"word{long}" for seed in range(12)]

    assert_cut(sketch, texts, unit)


@over("unit", BY_CHARACTER)
def test_long_mixed_text_is_cut_alike_across_windows(sketch, unit):
    for seed in range(2):
        text = "".join(random.Random(seed).choices(ALPHABET, k=20000))

        assert_cut(sketch, [text], unit)
