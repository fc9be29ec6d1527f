"""Decoding: bytes become text by their mark, their declaration, the given encoding or a guess.

Guesses are tried on texts in the languages for which the encodings were made.
"""

import codecs
import sys

import numpy as np
import pyarrow
import pytest
from over import over

import simdb
from simdb.core import decoding
from simdb.core.arrow import TextColumn
from simdb.core.decoding import (
    as_texts,
    decoded,
    encoding_of,
    guessed_wide,
    hint,
    is_damaged,
    known_encoding,
    text_column,
)
from simdb.core.errors import InputError

JAPANESE, FRENCH = "\u65e5\u672c\u8a9e\u306e\u672c", "caf\u00e9 \u201cx\u201d"
RUSSIAN = "\u0411\u0443\u043b\u0433\u0430\u043a\u043e\u0432"


@over(
    ("declaration", "encoding", "text"),
    [
        ('<meta charset="gb2312">', "gb18030", JAPANESE),
        ("<META http-equiv=content-type content='text/html; charset=GBK'>", "gb18030", JAPANESE),
        ("<meta charset=latin1>", "cp1252", FRENCH),
        ("<meta charset=x-sjis>", "cp932", JAPANESE),
        ("<!doctype html>\n<html><head><meta charset=euc-jp>", "euc_jp", JAPANESE),
        ("<!-- <meta charset=koi8-r> --><html><meta charset=windows-1251>", "cp1251", RUSSIAN),
        ("  \n<?xml version='1.0' encoding='windows-1252'?>", "cp1252", FRENCH),
        ("<?xml version='1.0' encoding='koi8-r'?><rss>", "koi8-r", RUSSIAN),
        ("<?xml version='1.0' encoding='koi8-r'?><html><meta charset=cp1251>", "cp1251", RUSSIAN),
        ("<meta name=d content='of charset=koi8-r'><meta charset=cp1251>", "cp1251", RUSSIAN),
        ("<meta charset=iso-2022-jp>", "iso2022_jp", JAPANESE),
        ("<meta charset=utf-16>", "utf-8", JAPANESE),
        ("<meta charset=unicode_escape>", "utf-8", JAPANESE),
        ("<meta charset=base64>", "utf-8", JAPANESE),
        ("<meta charset=nonsense>", "utf-8", JAPANESE),
        ("", "utf-8", JAPANESE),
    ],
)
def test_a_page_is_decoded_by_what_it_declares(declaration, encoding, text):
    page = f"{declaration}<p>{text}</p>"

    assert decoded(page.encode(encoding)) == page


@over("mark", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_byte_order_mark_precedes_a_declaration_and_the_given_encoding(mark):
    page = f"<meta charset=koi8-r><p>{JAPANESE}"

    assert decoded(page.encode(mark), "cp1251") == page
    assert decoded(codecs.BOM_UTF16_BE + page.encode("utf-16-be"), "cp1251") == page


def test_valid_utf8_is_utf8_whatever_a_page_declares():
    page = f"<html><meta charset=iso-8859-1><p>{FRENCH}"

    assert decoded(page.encode()) == page
    assert decoded(page.encode(), "cp1251") == page
    assert decoded(RUSSIAN.encode("koi8-r"), "koi8-r") == RUSSIAN
    declared = f"<meta charset=cp1251><p>{RUSSIAN}"
    assert decoded(declared.encode("cp1251"), "koi8-r") == declared
    with pytest.raises(simdb.InputError, match="no UTF-16 byte order mark"):
        decoded(b"plain ascii!", "utf-16")


def test_a_declared_charset_that_does_not_fit_is_passed_over():
    page = f"<meta charset=utf-8><p>{RUSSIAN}"

    assert decoded(page.encode("cp1251"), "cp1251") == page
    with pytest.raises(UnicodeDecodeError):
        decoded(page.encode("cp1251"))
    damaged = f"<meta charset=shift_jis><p>{JAPANESE}".encode("cp932") + b"\x81"
    assert decoded(damaged, errors="replace").endswith(f"{JAPANESE}\ufffd")


def test_a_byte_without_a_character_is_a_control_character_as_in_browsers():
    page = b"<meta charset=windows-1252>caf\xe9 \x81"

    assert decoded(page) == "<meta charset=windows-1252>caf\u00e9 \x81"


def test_a_text_that_talks_about_declarations_declares_nothing():
    text = f"Write <meta charset=koi8-r> into the head: {RUSSIAN}"

    assert decoded(text.encode("cp1251"), "cp1251") == text


def test_a_declaration_further_than_the_standard_looks_is_none():
    page = b"<!--" + b" " * 1024 + b"--><meta charset=latin1>caf\xe9"

    with pytest.raises(UnicodeDecodeError):
        decoded(page)


def test_a_guess_is_only_made_if_it_is_asked_for():
    letter = "Die gr\u00f6\u00dfte Universit\u00e4t f\u00fchrt f\u00fcr Studierende F\u00e4cher."

    assert decoded(letter.encode("cp1252"), known_encoding("guess")) == letter
    with pytest.raises(UnicodeDecodeError):
        decoded(letter.encode("cp1252"))


def test_what_cannot_be_decoded_is_named_by_its_position():
    page = b"<meta charset=utf-8>caf\xe9"

    with pytest.raises(simdb.InputError, match=r"document 5 is not valid UTF-8.*errors='replace'"):
        as_texts(["", page], start=4)
    assert as_texts(["a", page], errors="replace") == ["a", "<meta charset=utf-8>caf\ufffd"]


@over("kind", ["binary", "large_binary", "binary_view"])
def test_a_column_of_bytes_is_decoded_and_what_needs_nothing_stays_where_it_is(kind):
    page = f"<meta charset=cp1251><p>{RUSSIAN}"
    plain = f"{JAPANESE}, and more than twelve bytes"
    contents = [plain.encode(), page.encode("cp1251"), None, b"", "\ufeffa".encode(), b" b"]
    array = pyarrow.array(contents, pyarrow.binary()).cast(getattr(pyarrow, kind)())

    column = text_column(array)

    assert isinstance(column, TextColumn)
    assert list(column) == [plain, page, None, "", "a", " b"]
    assert int(column.addresses[0]) == array.buffers()[2].address


def test_a_string_that_is_none_is_refused_by_its_position_or_replaced():
    array = pyarrow.array([b"one", b"caf\xe9"]).view(pyarrow.string())

    with pytest.raises(simdb.InputError, match="document 1 is not valid UTF-8"):
        text_column(array)
    assert list(text_column(array, errors="replace")) == ["one", "caf\ufffd"]


def test_a_decoded_column_is_not_decoded_again():
    page = f"<meta charset=iso-2022-jp><p>{JAPANESE}"
    column = text_column(pyarrow.array([page]))

    assert text_column(column, "koi8-r") is column
    assert np.shares_memory(as_texts(column, "koi8-r").addresses, column.addresses)


CHINESE = (
    "\u5e8a\u524d\u660e\u6708\u5149\uff0c\u7591\u662f\u5730\u4e0a\u971c\u3002\u4e3e\u5934\u671b"
)
TAIWANESE = (
    "\u6f22\u7687\u91cd\u8272\u601d\u50be\u570b\uff0c\u5fa1\u5b87\u591a\u5e74\u6c42\u4e0d\u5f97"
)
TOKYO = (
    "\u6771\u4eac\u306f\u65e5\u672c\u306e\u9996\u90fd\u3067\u3042\u308a\u3001\u4e16\u754c"
    "\u3067\u3082\u6700\u5927\u7d1a\u306e\u90fd\u5e02\u3067\u3059\u3002\u3053\u3053\u3067"
    "\u306f\u591a\u304f\u306e\u4eba\u3005\u304c\u50cd\u3044\u3066\u3044\u307e\u3059\u3002"
    "\u96fb\u8eca\u306f\u6642\u9593\u901a\u308a\u306b\u5230\u7740\u3057\u307e\u3059\u3002"
)
KOREAN = "\ub3d9\ud574\ubb3c\uacfc \ubc31\ub450\uc0b0\uc774 \ub9c8\ub974\uace0 \ub2f3\ub3c4\ub85d"
FAMILIES = (
    "\u0412\u0441\u0435 \u0441\u0447\u0430\u0441\u0442\u043b\u0438\u0432\u044b\u0435 \u0441"
    "\u0435\u043c\u044c\u0438 \u043f\u043e\u0445\u043e\u0436\u0438 \u0434\u0440\u0443\u0433 "
    "\u043d\u0430 \u0434\u0440\u0443\u0433\u0430, \u043a\u0430\u0436\u0434\u0430\u044f \u043d"
    "\u0435\u0441\u0447\u0430\u0441\u0442\u043b\u0438\u0432\u0430\u044f \u0441\u0435\u043c"
    "\u044c\u044f \u043d\u0435\u0441\u0447\u0430\u0441\u0442\u043b\u0438\u0432\u0430 \u043f"
    "\u043e-\u0441\u0432\u043e\u0435\u043c\u0443. \u0412\u0441\u0435 \u0441\u043c\u0435\u0448"
    "\u0430\u043b\u043e\u0441\u044c \u0432 \u0434\u043e\u043c\u0435 \u041e\u0431\u043b\u043e"
    "\u043d\u0441\u043a\u0438\u0445."
)
GERMAN = (
    "Die gr\u00f6\u00dfte Universit\u00e4t f\u00fchrt f\u00fcr Studierende \u00fcber hundert"
    " F\u00e4cher; sp\u00e4ter \u00f6ffnen gr\u00f6\u00dfere Geb\u00e4ude."
)
SCHOOL = (
    "Les \u00e9l\u00e8ves \u00e9taient d\u00e9j\u00e0 arriv\u00e9s \u00e0 l'\u00e9cole, et le"
    " ma\u00eetre, tr\u00e8s f\u00e2ch\u00e9, ferma la fen\u00eatre."
)
CZECH = (
    "P\u0159\u00edli\u0161 \u017elu\u0165ou\u010dk\u00fd k\u016f\u0148 \u00fap\u011bl"
    " \u010f\u00e1belsk\u00e9 \u00f3dy"
)
QUOTED = "\u201cquoted\u201d text \u2013 with dashes\u2019"
WIDE_ENCODINGS = ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"]
TEXTS = [
    (CHINESE, "gb18030"), (CHINESE, "utf-16-le"), (CHINESE, "utf-16-be"), (TAIWANESE, "big5"),
    (TOKYO, "euc_jp"), (TOKYO, "shift_jis"), (KOREAN, "euc_kr"), (FAMILIES, "cp1251"),
    (FAMILIES, "koi8-r"), (GERMAN, "latin-1"), (SCHOOL, "latin-1"), (CZECH, "cp1250"),
    (QUOTED, "cp1252"), (GERMAN, "utf-8"), (TOKYO, "utf-8"), ("plain", "ascii"),
]  # fmt: skip


def where_utf8_fails(content):
    with pytest.raises(UnicodeDecodeError) as caught:
        content.decode("utf-8")
    return caught.value.start


@pytest.mark.parametrize(("text", "encoding"), TEXTS)
@pytest.mark.parametrize("before", ["", "import this\n" * 2000], ids=["alone", "late"])
def test_a_text_can_be_decoded_by_the_guess(text, encoding, before):
    content = (before + text).encode(encoding)

    assert content.decode(encoding_of(content)) == before + text


def test_a_message_names_a_guess_and_says_that_it_is_one():
    content = "caf\u00e9".encode("latin-1")

    assert hint(content, 3) == "use encoding='cp1252' (a guess) or errors='replace'"


def test_without_the_library_a_message_says_how_to_get_a_guess(monkeypatch):
    monkeypatch.setitem(sys.modules, "charset_normalizer", None)

    message = hint("caf\u00e9".encode("latin-1"), 3)

    assert message.startswith("name its encoding, such as encoding='latin-1', or use errors=")
    assert message.endswith("pip install charset-normalizer adds a guess here")


def test_only_so_many_messages_of_a_run_have_a_guess(monkeypatch):
    monkeypatch.setattr(decoding, "_hints", iter((0, decoding.HINTS_MAX)))

    first, second = (hint(b"caf\xe9", 3) for _ in range(2))

    assert "cp1252" in first
    assert second == "name its encoding, such as encoding='latin-1', or use errors='replace'"


def test_utf8_with_some_damage_is_utf8():
    content = TOKYO.encode() + b"\xff\xfe" + TOKYO.encode()

    assert is_damaged(content, where_utf8_fails(content))
    assert encoding_of(content) == encoding_of(TOKYO.encode()[:-1]) == "utf-8-sig"


@over("encoding", WIDE_ENCODINGS)
def test_utf_16_and_utf_32_are_recognised_by_their_nul_bytes(encoding):
    content = "A wide text, line 1\r\n\tline 2".encode(encoding)

    assert guessed_wide(content) == encoding_of(content) == encoding


@over("content", [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", b"\0\0\0\0", b"text " * 40 + b"\0", b"\0"])
def test_other_content_with_nul_bytes_is_binary(content):
    assert guessed_wide(content) is None
    with pytest.raises(InputError, match="binary content"):
        encoding_of(content)


def test_bytes_of_numpy_are_decoded_like_those_of_python():
    array = np.array([b"red green blue white", b"red green blue black"])

    with simdb.open(None) as database:
        database.insert_many(["a", "b"], array)

        assert database.query("red green blue white")[0].id == "a"
    assert as_texts(list(array)) == ["red green blue white", "red green blue black"]
