"""Decoding: bytes become text by their mark, their declaration, the given encoding or a guess."""

import codecs

import numpy as np
import pyarrow
import pytest
from over import over

import simdb
from simdb.core.arrow import TextColumn
from simdb.core.decoding import as_texts, decoded, known_encoding, text_column

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
    pytest.importorskip("charset_normalizer")
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
