"""Scripts without spaces: what one changed character costs, and which characters are tokens."""

from itertools import pairwise

import numpy as np
import pytest
from over import over
from script_oracle import SYLLABLES, made_text, words_of

import simdb
from simdb.sketch.sketcher import Sketcher

CJK = {"by_character": "cjk"}
THAI = "\u0e01\u0e34\u0e19\u0e02\u0e49\u0e32\u0e27"  # kin khao


def weights(document, **settings):
    return simdb.fingerprint(document, simdb.Simhash(**settings)).weights


def same(left, right, **settings):
    return np.array_equal(weights(left, **settings), weights(right, **settings))


@pytest.mark.parametrize("by_character", ["spaceless", "cjk"])
@pytest.mark.parametrize("script", SYLLABLES)
def test_the_tokens_of_a_text_are_those_of_the_definition(script, by_character):
    text = f"simdb {made_text(script, 200, 1)}\u0e5142\u4e00"

    assert same(text, words_of(text, by_character), by_character=by_character)


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


@over("value", ["Spaceless", "all", 1, None])
def test_another_name_is_refused(value):
    with pytest.raises(simdb.OptionError, match="by_character must be one of '', 'spaceless'"):
        simdb.Simhash(by_character=value)


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
