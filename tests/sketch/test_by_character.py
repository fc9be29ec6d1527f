"""Scripts without spaces: what one changed character costs, and which characters are tokens."""

import unicodedata
from itertools import pairwise

import numpy as np
import pytest
from over import over
from script_oracle import SYLLABLES, made_text, with_changes, words_of

import simdb
from simdb.sketch.sketcher import Sketcher

CJK = {"by_character": "cjk"}
THAI = "\u0e01\u0e34\u0e19\u0e02\u0e49\u0e32\u0e27"  # kin khao
SPACELESS_ONLY = sorted(SYLLABLES.keys() - {"japanese"})
SEEDS = range(5)


def weights(document, **settings):
    return simdb.fingerprint(document, simdb.Simhash(**settings)).weights


def same(left, right, **settings):
    return np.array_equal(weights(left, **settings), weights(right, **settings))


def kept(script, sketch):
    """Return the mean similarity of texts to their copies with 1 of 100 characters changed."""
    found = []
    for seed in SEEDS:
        text = made_text(script, 800, seed)
        changed = with_changes(text, seed)
        if isinstance(sketch, simdb.Minhash):
            signatures = [simdb.signature(each, sketch) for each in (text, changed)]
            found.append(simdb.similarity(*signatures))
        else:
            left, right = (simdb.fingerprint(each, sketch) for each in (text, changed))
            found.append(simdb.similarity(left, right))
    return sum(found) / len(found)


# A similarity of about 0.965 is estimated with a standard deviation below 0.01, Jaccard's of about
# 0.94 below 0.025; the means of five differ by four of their standard deviations with a chance of
# less than 1 in 10,000.
@pytest.mark.few(1)
@pytest.mark.parametrize("script", SPACELESS_ONLY)
@pytest.mark.parametrize(
    ("sketch", "margin"), [(simdb.Simhash(), 0.025), (simdb.Minhash(), 0.06)], ids=["sim", "min"]
)
def test_a_changed_character_costs_no_more_than_in_a_japanese_text(script, sketch, margin):
    japanese = kept("japanese", sketch)

    assert kept(script, sketch) > japanese - margin
    assert japanese > 0.88


@pytest.mark.few(1)
@pytest.mark.parametrize("script", SPACELESS_ONLY)
def test_a_changed_character_costs_much_if_only_cjk_is_cut(script):
    assert kept(script, simdb.Simhash(by_character="cjk")) < 0.9


@pytest.mark.parametrize("by_character", ["spaceless", "cjk"])
@pytest.mark.parametrize("script", SYLLABLES)
def test_the_tokens_of_a_text_are_those_of_the_definition(script, by_character):
    text = f"simdb {made_text(script, 200, 1)}\u0e5142\u4e00"

    assert same(text, words_of(text, by_character), by_character=by_character)


@over("script", SPACELESS_ONLY)
def test_no_letter_and_no_mark_is_lost(script):
    text = made_text(script, 50, 2)
    letters = [each for each in text if unicodedata.category(each)[0] in "LM"]

    assert same(text, letters, shingle=1)
    assert any(unicodedata.category(each)[0] == "M" for each in letters) or script == "halfwidth"


def test_a_tone_mark_makes_another_text():
    assert not same(THAI, THAI.replace("\u0e49", "\u0e48"), shingle=1)
    assert not same(THAI, THAI.replace("\u0e49", ""), shingle=1)


def test_spaces_between_words_change_nothing():
    apart = [THAI[:3], THAI[3:]]

    for space in (" ", "\n", ", "):
        assert same(space.join(apart), THAI)
        assert not same(space.join(apart), THAI, **CJK)


def test_numbers_and_words_of_other_scripts_stay_whole():
    text = f"{THAI[0]}\u0e51\u0e52\u0e53Python3{THAI[1]}2024e\u0301"

    assert same(text, [THAI[0], "\u0e51\u0e52\u0e53python3", THAI[1], "2024\xe9"], shingle=2)


def test_a_mark_of_no_script_is_a_word_after_such_a_letter():
    assert same(f"{THAI[0]}\u0301\u0301{THAI[2]}", [THAI[0], "\u0301\u0301", THAI[2]], shingle=2)


@pytest.mark.parametrize("unit", ["characters", "whitespace", "moz"])
def test_other_units_have_no_such_option(unit):
    moz = {"weighting": "tf", "dimensions": 64, "lowercase": False, "clean": False}
    settings = moz if unit == "moz" else {}
    usual, cjk = (
        simdb.Simhash(unit=unit, by_character=name, **settings) for name in ("spaceless", "cjk")
    )

    assert usual == cjk
    assert usual.by_character == ""
    assert simdb.Simhash(tokeniser="shlex:split").by_character == ""


def test_the_default_comes_back_with_the_unit():
    characters = simdb.Simhash(unit="characters")
    settings = {**characters.feature_settings, "unit": "words"}

    assert simdb.Simhash(**settings).by_character == "spaceless"


@over("value", ["Spaceless", "all", 1, None])
def test_another_name_is_refused(value):
    with pytest.raises(
        simdb.OptionError, match="by_character must be one of '', 'spaceless', 'cjk'"
    ):
        simdb.Simhash(by_character=value)
    with pytest.raises(
        simdb.OptionError, match="by_character must be one of '', 'spaceless', 'cjk'"
    ):
        simdb.Minhash(unit="characters", by_character=value)


def test_an_idf_table_brings_its_own_choice():
    texts = [f"{THAI} {number}" for number in range(5)]
    old = simdb.fit_idf(texts, simdb.Simhash(shingle=1, weighting="tf-idf", **CJK))

    sketch = simdb.Simhash(shingle=1, weighting="tf-idf", idf=old)

    assert sketch.by_character == "cjk"
    with pytest.raises(simdb.OptionError, match="by_character was 'cjk', not 'spaceless'"):
        simdb.Simhash(shingle=1, weighting="tf-idf", idf=old, by_character="spaceless")


@pytest.mark.parametrize("by_character", ["spaceless", "cjk"])
def test_features_are_named_by_the_tokens_that_they_are_made_of(by_character):
    sketcher = Sketcher(simdb.Simhash(shingle=2, by_character=by_character))
    tokens = words_of(THAI + " a", by_character)

    named = sketcher.features(THAI + " a")

    pairs = pairwise(tokens)
    assert named.shingles == list(dict.fromkeys(" ".join(pair) for pair in pairs))
