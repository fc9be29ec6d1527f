"""Scripts without spaces: what one changed character costs, and which characters are tokens."""

from itertools import pairwise

import numpy as np
import pytest
from over import over
from script_oracle import SYLLABLES, made_text, with_changes, words_of

import simdb
from simdb.sketch.sketcher import Sketcher

CJK = {"by_character": "cjk"}
THAI = "\u0e01\u0e34\u0e19\u0e02\u0e49\u0e32\u0e27"  # kin khao
SEEDS = range(5)


def weights(document, **settings):
    return simdb.fingerprint(document, simdb.Simhash(**settings)).weights


def same(left, right, **settings):
    return np.array_equal(weights(left, **settings), weights(right, **settings))


def kept(script, sketch):
    """Return the mean similarity of texts to their copies with 1 of 100 characters changed."""
    make = simdb.signatures if isinstance(sketch, simdb.Minhash) else simdb.fingerprints
    texts = [made_text(script, 800, seed) for seed in SEEDS]
    pairs = [make([text, with_changes(text, seed)], sketch) for seed, text in enumerate(texts)]
    return sum(simdb.similarity(*pair) for pair in pairs) / len(pairs)


# A similarity of about 0.965 is estimated with a standard deviation below 0.01, Jaccard's of about
# 0.94 below 0.025; the means of five differ by four of their standard deviations with a chance of
# less than 1 in 10,000.
@pytest.mark.parametrize(
    ("sketch", "margin"), [(simdb.Simhash(), 0.025), (simdb.Minhash(), 0.06)], ids=["sim", "min"]
)
def test_a_changed_character_costs_no_more_than_in_a_japanese_text(sketch, margin):
    japanese = kept("japanese", sketch)

    assert kept("thai", sketch) > japanese - margin
    assert japanese > 0.88


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
