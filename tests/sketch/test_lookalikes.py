"""Look-alikes: with "lenient", words that readers take for one another are equal, and no others."""

import random
import re
import unicodedata

import pytest
from over import over

import simdb
from simdb.core.cold import section
from simdb.sketch import lookalikes
from simdb.sketch.lookalikes import folded, without_entities
from simdb.sketch.normalisation import cleaned, spelled

LENIENT = simdb.Simhash(normalisation="lenient")
CYRILLIC = str.maketrans(
    "aceopxyABCEHIKMOPTXis",
    "\u0430\u0441\u0435\u043e\u0440\u0445\u0443\u0410\u0412\u0421\u0415\u041d\u0406"
    "\u041a\u041c\u041e\u0420\u0422\u0425\u0456\u0455",
)
ENGLISH = "The quick brown fox jumps over a lazy dog, and I can see it is no accident."
RUSSIAN = (
    "\u041c\u044b \u0432\u0438\u0434\u0435\u043b\u0438, \u043a\u0430\u043a "
    "\u0441\u043e\u0431\u0430\u043a\u0430 \u0438 \u043a\u043e\u0442 \u0441 "
    "\u0443\u0442\u0440\u0430 \u0441\u043f\u0430\u043b\u0438 \u0443 "
    "\u043e\u043a\u043d\u0430, \u0430 \u043f\u043e\u0442\u043e\u043c "
    "\u0443\u0448\u043b\u0438."
)
GREEK = (
    "\u039f \u039f\u03b4\u03c5\u03c3\u03c3\u03ad\u03b1\u03c2 "
    "\u03b3\u03cd\u03c1\u03b9\u03c3\u03b5 \u03c3\u03c4\u03b7\u03bd "
    "\u0399\u03b8\u03ac\u03ba\u03b7 \u03ba\u03b1\u03b9 \u03b5\u03af\u03b4\u03b5 "
    "\u03c4\u03bf\u03bd \u038c\u03bc\u03b7\u03c1\u03bf"
)


def lenient(text):
    return cleaned(spelled(text, LENIENT), LENIENT)


def replaced(text, table, share, seed):
    """Return the text with some of the letters of the table replaced."""
    draw = random.Random(seed)
    return "".join(
        chr(table[ord(each)]) if ord(each) in table and draw.random() < share else each
        for each in text
    )


@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
def test_letters_of_another_script_in_a_text_make_no_difference(share):
    to_latin = {cyrillic: latin for latin, cyrillic in CYRILLIC.items()}
    for seed in range(20):
        assert lenient(replaced(ENGLISH, CYRILLIC, share, seed)) == lenient(ENGLISH)
        assert lenient(replaced(RUSSIAN, to_latin, share, seed)) == lenient(RUSSIAN)
        assert lenient(replaced(GREEK, {ord("\u03bf"): ord("o")}, share, seed)) == lenient(GREEK)


@over(
    ("text", "meant"),
    [
        ("\u0430 \u0441\u043e\u0440 of tea", "a cop of tea"),
        ("\u0412\u0410NK, th\u0435 \u0406n", "BANK, the In"),
        ("w\u03bfrd, \u0585ne, \ua4d0\ua4e1UE, \u13a0ay", "word, one, BLUE, Day"),
        (
            "\u043f\u0440\u03bf\u0441\u0442\u043e \u0432\u0441\u0451",
            "\u043f\u0440\u043e\u0441\u0442\u043e \u0432\u0441\u0435",
        ),
        (
            "Windows \u0438 c\u043e\u0431\u0430\u043a\u0430, \u043ec\u0430",
            "Windows \u0438 \u0441\u043e\u0431\u0430\u043a\u0430, \u043e\u0441\u0430",
        ),
        ("\u0663\u06f5\uff15 \u0967\U0001d7d8", "355 10"),
        (
            "\u06a9\u062a\u0627\u0628\u06cc \u06c1\u06d5\u06be",
            "\u0643\u062a\u0627\u0628\u064a \u0647\u0647\u06be",
        ),
        ("\u06be\u0630\u0627", "\u0647\u0630\u0627"),
        ("\uff21\uff42\uff43 \U0001d41b\u24d2", "Abc bc"),
        ("\u0394T = 1", "\u0394\u03a4 = 1"),
        ("two\u2800words", "two words"),
        ("caf&eacute; &#1072;nd &#x430; AT&amp;T &#65;", "cafe and a AT&T A"),
    ],
)
def test_a_look_alike_becomes_what_it_looks_like(text, meant):
    assert spelled(text, LENIENT) == meant


@over(
    "text",
    [
        "\u0420\u041e\u0421\u0410",  # nothing tells its script
        "\u0430 \u0441 \u043d\u0438\u043c\u0438 CO \u0438 PC beside Windows",  # both are meant
        "\u042fndex",
        "\u03bcm \u03c3x \u03b1 = 1",  # symbols
        "T\u30b7\u30e3\u30c4",  # Latin and katakana
        "\u062f\u06cc \u069a",  # Pashto
        "AT&T; &unknown; &; &#; R&D",
        "il1 O0 rn m",
    ],
)
def test_words_that_are_meant_as_they_are_stay(text):
    assert spelled(text, LENIENT) == text


def test_a_word_of_one_script_stays_in_a_text_of_that_script():
    for text in (ENGLISH, RUSSIAN):
        assert folded(text) == text
    greek = spelled(GREEK, simdb.Simhash(normalisation="nfkc", marks="drop"))
    assert folded(greek) == greek


def scripts_of(word):
    """Return the scripts of the letters of a word, by the first word of their names."""
    return {unicodedata.name(each).split()[0] for each in word}


def test_a_word_never_gets_letters_of_several_scripts_and_digits_are_of_ascii():
    draw = random.Random(7)
    pool = (
        "abceop",
        "\u0430\u0441\u0435\u043e\u0440\u0431\u0434",
        "\u03b1\u03bf\u03bd\u03b2",
        "\u0410\u0412\u0415",
        "ABE",
        "\u0585\u057d",
        "  ",
        "\u0663\u06f5",
    )
    for _ in range(2000):
        text = "".join(draw.choice(draw.choice(pool)) for _ in range(draw.choice((3, 12, 40))))
        made = folded(text)
        assert len(made) == len(text)
        assert not any(each.isdecimal() and not each.isascii() for each in made)
        for old, new in zip(
            re.findall(r"[^\W\d_]+", text), re.findall(r"[^\W\d_]+", made), strict=True
        ):
            assert old == new or len(scripts_of(new)) == 1, (ascii(text), ascii(made))


def test_the_table_has_letters_and_digits_of_unicode_alone():
    pairs = re.findall(r"(\w+)=(\w)", section(lookalikes.TABLES, "letters"))
    single = re.findall(r"(\w+)=(\w+)", section(lookalikes.TABLES, "single"))

    letters = {chr(int(code, 16)): like for code, like in pairs}
    assert all(each.isalpha() and not each.isascii() for each in letters)
    assert all(like.isascii() and like.isalpha() for like in letters.values())
    assert (letters["\u0430"], letters["\u0406"], letters["\u039f"]) == ("a", "I", "O")
    others = {chr(int(a, 16)): chr(int(b, 16)) for a, b in single}
    digits = {a: b for a, b in others.items() if a.isdecimal()}
    assert all(int(a) == int(b) for a, b in digits.items())
    assert len(digits) == 640
    assert len(others) == 647


def test_entities_of_half_a_kind_stay():
    assert without_entities("&#0; &#x110000; &#1072") == "\ufffd \ufffd &#1072"
    assert without_entities("a & b &amp c") == "a & b &amp c"


def test_a_long_word_takes_time_in_proportion():
    word = "\u0430" * 200_000 + "b" * 200_000  # would not end if words were tried place by place

    assert folded(word) == "a" * 200_000 + "b" * 200_000


def test_lenient_sketches_of_look_alikes_are_equal_by_every_way(open_database, tmp_path):
    texts = [ENGLISH, RUSSIAN, "AT&amp;T and 25 years of \u0643\u062a\u0627\u0628\u064a", GREEK]
    copies = [
        replaced(ENGLISH, CYRILLIC, 0.4, 3), RUSSIAN.replace("\u043e", "o"),
        "AT&#38;T \u0430nd \u0662\u0665 years of \u06a9\u062a\u0627\u0628\u06cc", GREEK,
    ]  # fmt: skip
    for kind in (simdb.Simhash, simdb.Minhash):
        sketch = kind(normalisation="lenient")
        database = open_database(tmp_path / kind.__name__, options=simdb.Options(sketch=sketch))
        database.insert_many(range(4), texts)

        for found in database.query_many(copies):
            assert next(iter(found)).similarity == 1
        assert {database.query(each)[0].similarity for each in copies} == {1}
    result = simdb.deduplicate(texts + copies, sketch=LENIENT)
    assert len(result.removed_ids) == 4
