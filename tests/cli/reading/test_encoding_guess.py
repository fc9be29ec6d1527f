"""Encoding guesses, on texts in the languages for which the encodings were made."""

import pytest

from simdb.cli.reading.encoding_guess import guessed_encoding, guessed_wide

CHINESE = (
    "\u5e8a\u524d\u660e\u6708\u5149\uff0c\u7591\u662f\u5730\u4e0a\u971c\u3002\u4e3e\u5934\u671b"
)
TAIWANESE = (
    "\u6f22\u7687\u91cd\u8272\u601d\u50be\u570b\uff0c\u5fa1\u5b87\u591a\u5e74\u6c42\u4e0d\u5f97"
)
JAPANESE = (
    "\u543e\u8f29\u306f\u732b\u3067\u3042\u308b\u3002\u540d\u524d\u306f\u307e\u3060\u7121\u3044"
)
KOREAN = "\ub3d9\ud574\ubb3c\uacfc \ubc31\ub450\uc0b0\uc774 \ub9c8\ub974\uace0 \ub2f3\ub3c4\ub85d"
RUSSIAN = (
    "\u0412\u0441\u0435 \u0441\u0447\u0430\u0441\u0442\u043b\u0438\u0432\u044b\u0435"
    " \u0441\u0435\u043c\u044c\u0438 \u043f\u043e\u0445\u043e\u0436\u0438"
)
GERMAN = "Z\u00fcrich, die gr\u00f6\u00dfte Stadt, hat vier H\u00fcgel"
QUOTED = "\u201cquoted\u201d text \u2013 with dashes\u2019"
TEXTS = [
    (CHINESE, "gb18030"), (CHINESE, "utf-16-le"), (CHINESE, "utf-16-be"), (TAIWANESE, "big5"),
    (TAIWANESE, "gb18030"), (JAPANESE, "euc_jp"), (JAPANESE, "shift_jis"), (KOREAN, "euc_kr"),
    (RUSSIAN, "cp1251"), (RUSSIAN, "koi8-r"), (GERMAN, "latin-1"), (QUOTED, "cp1252"),
]  # fmt: skip


def where_utf8_fails(content):
    with pytest.raises(UnicodeDecodeError) as caught:
        content.decode("utf-8")
    return caught.value.start


@pytest.mark.parametrize(("text", "encoding"), TEXTS)
@pytest.mark.parametrize("before", ["", "import this\n" * 2000], ids=["alone", "late"])
def test_the_encoding_of_a_text_is_guessed(text, encoding, before):
    content = (before + text).encode(encoding)

    is_wide = b"\0" in content
    guess = (
        guessed_wide(content) if is_wide else guessed_encoding(content, where_utf8_fails(content))
    )

    assert guess == encoding


def test_utf8_with_some_damage_is_utf8():
    content = JAPANESE.encode() + b"\xff\xfe" + JAPANESE.encode()

    assert guessed_encoding(content, where_utf8_fails(content)) is None


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_utf_16_and_utf_32_are_recognised_by_their_nul_bytes(encoding):
    assert guessed_wide("A wide text, line 1\r\n\tline 2".encode(encoding)) == encoding


@pytest.mark.parametrize(
    "content", [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", b"\0\0\0\0", b"text " * 40 + b"\0", b"\0"]
)
def test_other_content_with_nul_bytes_is_binary(content):
    assert guessed_wide(content) is None
