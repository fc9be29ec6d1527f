"""Texts of all scripts: which characters make a token, and which texts are equal."""

import unicodedata
from typing import get_args

import numpy as np
import pytest
from over import over

import simdb
from simdb.core.choices import NormalisationName

BOM = "\ufeff"
CHINESE = "\u5e8a\u524d\u660e\u6708\u5149\uff0c\u7591\u662f\u5730\u4e0a\u971c\u3002"
JAPANESE = "\u30d7\u30ed\u30b0\u30e9\u30e0\u3092Python3\u3067\u66f8\u304f"
KOREAN = "\ub300\ud55c\ubbfc\uad6d \ub9cc\uc138"
THAI = "\u0e20\u0e32\u0e29\u0e32\u0e44\u0e17\u0e22 \u0e01\u0e34\u0e19\u0e02\u0e49\u0e32\u0e27"
ARABIC = "\u0627\u0644\u0633\u064e\u0651\u0644\u0627\u0645\u064f \u0639\u0644\u064a\u0643\u0645"
HEBREW = "\u05e9\u05b8\u05c1\u05dc\u05d5\u05b9\u05dd \u05e2\u05d5\u05dc\u05dd"
HINDI = "\u0928\u092e\u0938\u094d\u0924\u0947 \u0926\u0941\u0928\u093f\u092f\u093e"
FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
WAVES = ["\U0001f44b", "\U0001f44b\U0001f3fb", "\U0001f44b\U0001f3ff"]
ACCENTED = "Cr\u00e8me br\u00fbl\u00e9e, na\u00efve fa\u00e7ade, \u1ea4\u1ed9 \uac01"
MIXED = (
    f"{CHINESE} {JAPANESE} {THAI} {ARABIC} {HEBREW} {HINDI} {FAMILY} {ACCENTED} \u0416\u0443\u043a"
)
SCRIPTS = [CHINESE, JAPANESE, KOREAN, THAI, ARABIC, HEBREW, HINDI, FAMILY, ACCENTED, MIXED]
UNITS = ("words", "characters", "whitespace")


def weights(document, **settings):
    return simdb.fingerprint(document, simdb.Simhash(**settings)).weights


def same(left, right, **settings):
    return np.array_equal(weights(left, **settings), weights(right, **settings))


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        (CHINESE, [each for each in CHINESE if each not in "\uff0c\u3002"]),
        (JAPANESE, [*"\u30d7\u30ed\u30b0\u30e9\u30e0\u3092", "python3", *"\u3067\u66f8\u304f"]),
        (KOREAN, [*"\ub300\ud55c\ubbfc\uad6d", *"\ub9cc\uc138"]),
        (THAI, [*"".join(THAI.split())]),
        (ARABIC, ARABIC.split()),
        (HEBREW, HEBREW.split()),
        (HINDI, HINDI.split()),
        (f"smile {FAMILY}done", ["smile", "done"]),
        (
            "\u0416\u0423\u041a\u6708x\u03a3\u03a3",
            ["\u0436\u0443\u043a", "\u6708", "x\u03c3\u03c3"],
        ),
    ],
    ids=ascii,
)
def test_words_are_those_of_the_script(text, tokens):
    assert same(text, tokens, shingle=2)


def test_emoji_are_characters_but_no_words():
    assert simdb.fingerprint(f"{FAMILY} {''.join(WAVES)}").is_empty
    assert same(FAMILY, list(FAMILY), unit="characters", shingle=2, clean=False)
    seen = FAMILY.replace("\u200d", "")
    assert same(f"{FAMILY} {WAVES[1]}", [seen, WAVES[1]], unit="whitespace", shingle=1)
    distinct = {simdb.fingerprint(each, simdb.Simhash(unit="whitespace")).bits for each in WAVES}
    assert len(distinct) == len(WAVES)


@over("unit", UNITS)
def test_composed_and_decomposed_text_are_equal_unless_nothing_is_normalised(unit):
    composed = unicodedata.normalize("NFC", ACCENTED)
    decomposed = unicodedata.normalize("NFD", ACCENTED)

    assert same(composed, decomposed, unit=unit, normalisation="nfc")
    assert same(composed, decomposed, unit=unit, normalisation="nfkc")
    assert not same(composed, decomposed, unit=unit, normalisation="none")


@pytest.mark.parametrize(
    "document", [BOM + MIXED, (BOM + MIXED).encode(), MIXED.encode("utf-8-sig")]
)
def test_a_byte_order_mark_changes_no_words(document):
    assert same(document, MIXED)
    assert same(document, MIXED, normalisation="nfkc")


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("normalisation", get_args(NormalisationName))
def test_text_and_its_utf_8_are_one_document_in_every_script(unit, normalisation):
    settings = {"unit": unit, "normalisation": normalisation}

    for text in SCRIPTS:
        assert same(text, text.encode(), **settings), ascii(text)
