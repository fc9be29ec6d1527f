"""Cleaning: texts that look equal are equal, and the kernel cleans as Unicode's own data say."""

import random
import re
import unicodedata

import pytest

import simdb
from simdb.core import kernel
from simdb.sketch.normalisation import composed, lower_cased
from simdb.sketch.winnowing import WordOrder
from simdb_ext import _sketch

# Derived property Default_Ignorable_Code_Point, DerivedCoreProperties.txt.
UNSEEN = re.compile(
    "[\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)
GERMAN = "Der Stra\xdfenbahnfahrer f\xe4hrt heute wieder durch die gro\xdfe Stadt und gr\xfc\xdft"
GREEK = (
    "\u039f \u039f\u03b4\u03c5\u03c3\u03c3\u03ad\u03b1\u03c2 \u03b3\u03cd\u03c1\u03b9\u03c3\u03b5"
    " \u03c3\u03c4\u03b7\u03bd \u0399\u03b8\u03ac\u03ba\u03b7"
)
VIETNAMESE = "T\u1ea5t c\u1ea3 m\u1ecdi ng\u01b0\u1eddi sinh ra \u0111\u1ec1u \u0111\u01b0\u1ee3c"
KOREAN = (
    "\ubaa8\ub4e0 \uc778\uac04\uc740 \ud0dc\uc5b4\ub0a0 \ub54c\ubd80\ud130"
    " \uc790\uc720\ub85c\uc6b0\uba70 \uadf8"
)
PERSIAN = (
    "\u06a9\u062a\u0627\u0628\u200c\u0647\u0627\u06cc \u062a\u0627\u0632\u0647 \u0631\u0627"
    " \u0645\u06cc\u200c\u062e\u0648\u0627\u0646\u0645 \u0648 \u0628\u0647"
)
ARABIC = (
    "\u0643\u064f\u0644\u064f\u0651 \u0627\u0644\u0646\u064e\u0651\u0627\u0633\u0650"
    " \u064a\u064f\u0648\u0644\u064e\u062f\u064f\u0648\u0646\u064e"
)
HEBREW = (
    "\u05db\u05b8\u05bc\u05dc \u05d1\u05b0\u05bc\u05e0\u05b5\u05d9"
    " \u05d4\u05b8\u05d0\u05b8\u05d3\u05b8\u05dd \u05e0\u05d5\u05b9\u05dc\u05b0\u05d3\u05d5\u05bc"
)
ENGLISH = "All human beings are born free and equal in dignity and rights, with reason"


def cleaned(text, *, lowercase=True, turkic=False, strays=True):
    cleaning = kernel.TURKIC * turkic + kernel.STRAYS * strays
    return kernel.cleaned(text, lowercase=lowercase, compose=composed, cleaning=cleaning)


def fingerprint(text, **options):
    return simdb.fingerprint(text, simdb.Simhash(**options)).bits


def without_marks(text):
    """Return the text without its non-spacing marks, and without the tatweel."""
    apart = unicodedata.normalize("NFD", text)
    return "".join(each for each in apart if unicodedata.category(each) != "Mn" != each != "\u0640")


@pytest.mark.parametrize(
    ("text", "copy"),
    [
        (GERMAN, GERMAN.replace("fahrer", "fah\xadrer").replace("wieder", "wie\xadder")),
        (ENGLISH, ENGLISH.replace("human", "hu\u200bman").replace("rights", "rig\u2060hts")),
        (ENGLISH, ENGLISH.replace("dignity", "dig-\nnity").replace("reason", "rea-\r\n    son")),
        (GERMAN, GERMAN.upper()),
        (GERMAN.replace("\xdf", "ss"), GERMAN.replace("\xdf", "\u1e9e")),
        (GREEK, GREEK.upper()),
        (GREEK, unicodedata.normalize("NFD", GREEK)),
        (VIETNAMESE, unicodedata.normalize("NFD", VIETNAMESE)),
        (KOREAN, unicodedata.normalize("NFD", KOREAN)),
        (PERSIAN, PERSIAN.replace("\u200c", "")),
        ("office of first difficulty floors", "o\ufb03ce of \ufb01rst di\ufb03culty \ufb02oors"),
        ("\u0130stanbul is a city", "i\u0307stanbul is a city"),
    ],
    ids=str,
)
def test_what_looks_equal_is_equal_by_default(text, copy):
    raw = {"clean": False, "normalisation": "none"}

    for form in (str, str.encode):
        assert fingerprint(form(copy)) == fingerprint(text)
    assert fingerprint(copy, **raw) != fingerprint(text, **raw)


# The controls that Unicode takes for white space; to Python U+001C to U+001F are white space, too.
SPACES = "\t\n\x0b\f\r\x85"
STRAYS = [chr(code) for code in (*range(0x20), *range(0x7F, 0xA0), *range(0xFFF9, 0xFFFD))]
STRAYS = [each for each in STRAYS if each not in SPACES]


def test_what_pdf_and_word_leave_inside_words_is_dropped():
    for stray in STRAYS:
        copy = ENGLISH.replace("human", f"hu{stray}man").replace("free", f"{stray}free{stray}")
        assert fingerprint(copy) == fingerprint(copy.encode()) == fingerprint(ENGLISH), ascii(stray)
        assert fingerprint(copy, unit="whitespace") == fingerprint(ENGLISH, unit="whitespace")
        assert fingerprint(copy, unit="characters") == fingerprint(ENGLISH, unit="characters")
        assert fingerprint(copy, edition=1) != fingerprint(ENGLISH, edition=1)
        assert fingerprint(copy, clean=False) == fingerprint(copy, clean=False, edition=1)


def test_white_space_still_parts_words():
    for space in SPACES:
        assert fingerprint(ENGLISH.replace(" ", space)) == fingerprint(ENGLISH), ascii(space)
    assert fingerprint("a\ufffdb\u2800c") == fingerprint("a b c")


@pytest.mark.parametrize("variant", _sketch.variants())
@pytest.mark.parametrize("plain", ["a", "\xe9", "\u0142", "\U0001d41b"], ids=ascii)
def test_a_stray_is_dropped_wherever_it_is(variant, plain):
    before = _sketch.select(variant)
    try:
        for length in (1, 31, 129, 161, 300):
            for stray in "\0\x08\x0e\x1f\x7f":
                for at in range(length + 1):
                    text = plain * at + stray + plain * (length - at)
                    assert cleaned(text) == plain * length
                    assert cleaned(text, strays=False) == text
    finally:
        _sketch.select(before)


def test_words_have_their_places_though_strays_are_in_them():
    text = "one t\x1fwo\0 \ufffcthree\x1d fo\ufff9ur-\nfive \x0b \x1c six"

    places = WordOrder(simdb.Simhash()).places(text)

    found = [text[start:stop] for start, stop in places.tolist()]
    assert found == ["one", "t\x1fwo", "three", "fo\ufff9ur-\nfive", "six"]
    assert len(found) == len(cleaned(text).split())


def test_a_database_of_the_first_edition_keeps_it(open_database, tmp_path):
    stray = ENGLISH.replace("human", "hu\0man")
    earlier = simdb.Options(sketch=simdb.Simhash(edition=1, normalisation="lenient"))
    open_database(tmp_path, options=earlier).close()

    # The usual options mean the stored edition.
    options = simdb.Options(sketch=simdb.Simhash(normalisation="lenient"))
    with simdb.open(tmp_path, options=options) as database:
        assert database.options.sketch.edition == 1
        database.insert("text", ENGLISH)

        assert not database.query(stray, similarity=0.95)
    with pytest.raises(simdb.OptionError, match=r"sketch\.shingle is 3, not 2"):
        simdb.open(tmp_path, options=simdb.Options(sketch=simdb.Simhash(shingle=2)))


def test_a_table_brings_its_edition(tmp_path):
    for edition in (1, 2):
        sketch = simdb.Simhash(weighting="tf-idf", edition=edition)
        simdb.save_idf(simdb.fit_idf([ENGLISH, GERMAN], sketch), tmp_path / str(edition))
        table = simdb.load_idf(tmp_path / str(edition))

        assert simdb.Simhash(weighting="tf-idf", idf=table).edition == edition
    with pytest.raises(simdb.OptionError, match="edition was 2, not 1"):
        simdb.Simhash(weighting="tf-idf", idf=table, edition=1)


@pytest.mark.parametrize("text", [ARABIC, HEBREW, VIETNAMESE, GREEK], ids=["ar", "he", "vi", "el"])
@pytest.mark.parametrize("options", [{"marks": "drop"}, {"normalisation": "lenient"}], ids=str)
def test_points_and_accents_are_left_out_on_demand(text, options):
    bare = unicodedata.normalize("NFC", without_marks(text))

    assert fingerprint(text, **options) == fingerprint(bare)
    assert fingerprint(bare.replace(bare[3], bare[3] + "\u0640"), **options) == fingerprint(bare)


def test_marks_that_are_vowels_stay():
    assert fingerprint(
        "\u0915\u093f\u0924\u093e\u092c \u0915\u0941\u091b \u0914\u0930", marks="drop"
    ) == fingerprint("\u0915\u093f\u0924\u093e\u092c \u0915\u0941\u091b \u0914\u0930")
    assert fingerprint(
        "\u0e01\u0e34\u0e19\u0e02\u0e49\u0e32\u0e27\u0e17\u0e35\u0e48\u0e1a\u0e49\u0e32\u0e19",
        marks="drop",
    ) == fingerprint(
        "\u0e01\u0e34\u0e19\u0e02\u0e49\u0e32\u0e27\u0e17\u0e35\u0e48\u0e1a\u0e49\u0e32\u0e19"
    )


@pytest.mark.parametrize(
    "options",
    [{"turkic_case": True, "clean": False}, {"turkic_case": True, "lowercase": False}],
    ids=str,
)
def test_turkic_case_needs_folding(options):
    with pytest.raises(simdb.OptionError, match="clean=True and lowercase=True"):
        simdb.Simhash(**options)


def drawn_text(draw):
    """Return a text in which everything that cleaning knows is often side by side."""
    pool = (
        "aZ9_-", "-\n", "-\r\n  ", "\xad\n", " \t\n", "\xdf\u1e9e\u03c2\u03a3\u017f\xb5",
        "iI\u0130\u0131", "\u0307\u0301\u0323\u0327", "\xad\u200b\u200d\ufe0f\ufeff",
        "\u2010\u2013\u2019\u201c\u2026", "\ufb01\u0390\u1fb3",
        "\u3042\u3099\uac00\u1161\u11a8", "\u05d0\u05bc\u05b7\u0627\u0651\u064e",
        "\U0001f468\U000e0041", "ab" * 40, "-" * 3, "\xe9" * 33, "\0\x08\x0b\x0e\x1b\x1c\x1f",
        "\x7f\x80\x85\x9f\xa0", "\ufff8\ufff9\ufffa\ufffb\ufffc\ufffd",
    )  # fmt: skip
    return "".join(draw.choice(draw.choice(pool)) for _ in range(draw.choice((3, 40, 400))))


def is_letter(character):
    """Return whether words have the character, which is no digit and no word by itself."""
    kind = unicodedata.category(character)
    is_cjk = "\u3040" <= character <= "\u30ff" or "\uac00" <= character <= "\ud7af"
    return (kind[0] in "LMN" or kind == "Pc") and not is_cjk and not "0" <= character <= "9"


def is_stray(character):
    """Return whether PDF or Word leaves the character in words: a control that is no space, ..."""
    is_control = unicodedata.category(character) == "Cc" and character not in "\t\n\x0b\f\r\x85"
    return is_control or "\ufff9" <= character <= "\ufffc"


def cleaned_by_rules(text, *, lowercase, turkic, strays):
    """Clean a text rule by rule, one after the other."""
    text = unicodedata.normalize("NFC", text)
    is_lower = {lower for each in map(chr, range(0x3000)) if (lower := lower_cased(each)) != each}
    out, at = [], 0
    while at < len(text):
        before = text[at - 1] if at else ""
        line_end = re.compile(r"[-\xad](\r\n|\n|\r)[ \t]*").match(text, at)
        if line_end and before and is_letter(before) and text[line_end.end() :][:1] in is_lower:
            at = line_end.end()
            continue
        each = text[at]
        at += 1
        if UNSEEN.match(each) or (strays and is_stray(each)):
            continue
        if lowercase and turkic and each == "I":
            each = "\u0131"
        elif lowercase and each == "\u0307" and before and before in "iI\u0130":
            continue
        elif lowercase and each != "\u0130":
            several = unicodedata.normalize("NFC", each.upper())
            folded = lower_cased(several if len(each.upper()) > 1 else each.casefold())
            each = folded if folded != lower_cased(each) else each
        out.append(each)
    return "".join(out)


@pytest.mark.parametrize(("at", "seed"), [(0, 1), (-1, 2)])
def test_the_kernel_cleans_by_the_rules(at, seed):
    draw, before = random.Random(seed), _sketch.select(_sketch.variants()[at])
    try:
        for _ in range(60):
            text, rules = drawn_text(draw), {"lowercase": draw.random() < 0.8}
            rules["turkic"] = rules["lowercase"] and draw.random() < 0.3
            rules["strays"] = draw.random() < 0.8
            assert cleaned(text, **rules) == cleaned_by_rules(text, **rules), ascii(text)
    finally:
        _sketch.select(before)


def test_texts_in_nfc_are_not_composed_and_all_others_are():
    draw, asked = random.Random(5), []
    for _ in range(300):
        text = drawn_text(draw)
        kernel.cleaned(text, lowercase=True, compose=lambda each: asked.append(each) or each)
        was_asked = asked.pop() == text if asked else False
        # The quick check may ask in vain, but never leaves out a text.
        assert was_asked or unicodedata.is_normalized("NFC", text)
    kernel.cleaned(VIETNAMESE + GERMAN + KOREAN, lowercase=True, compose=asked.append)
    assert not asked


def test_every_way_to_a_sketch_cleans(open_database, tmp_path):
    texts = [GERMAN, GERMAN.upper(), PERSIAN, VIETNAMESE, ENGLISH.replace("human", "hu\xadman")]
    copies = [unicodedata.normalize("NFD", each.replace("\u200c", "")) for each in texts]
    for kind in (simdb.Simhash(), simdb.Minhash(permutations=16)):
        database = open_database(tmp_path / type(kind).__name__, options=simdb.Options(sketch=kind))
        database.insert_many(range(len(texts)), texts)

        alone = [database.query(each)[0] for each in copies]
        together = [next(iter(each)) for each in database.query_many(copies)]

        assert alone == together
        assert {each.similarity for each in alone} == {1}
