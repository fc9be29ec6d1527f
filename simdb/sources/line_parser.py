"""Line parser: the door to msgspec, which parses JSON lines faster than the standard library.

msgspec reads the whole of every line, but makes Python objects only of its id and its text.  What
it accepts and `json` refuses is kept from it: bytes that are not UTF-8 in fields that are skipped,
and whole numbers with more digits than Python converts.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from typing import Any

from simdb import kernel
from simdb.sources.records import Reading

DIGITS = b"0123456789"
# The id of the objects that mark ends of lines: a number that no file can know.
MARK = 2**62 + int.from_bytes(os.urandom(7), "big")


class LineParser:
    """A parser of lines that hold an object with a text and perhaps an id."""

    def __init__(self, msgspec: Any, reading: Reading) -> None:
        """Parse the fields that `reading` names; ValueError for names that msgspec cannot take."""
        names = {"text": reading.text_field, "id": reading.id_field}
        kind = msgspec.defstruct(
            "Fields", [("text", str), ("id", Any, None)], rename=names, gc=False
        )
        decoder = msgspec.json.Decoder(kind)
        self._decode, self._decode_all = decoder.decode, decoder.decode_lines
        self._marker = b"\n%b\n" % msgspec.json.encode(kind("", MARK))
        self._refusals = (msgspec.MsgspecError, ValueError, RecursionError)
        self._digits_max = getattr(sys, "get_int_max_str_digits", int)()

    def accepts(self, block: bytes) -> bool:
        """Return whether the parser refuses all that `json` refuses in lines of this block."""
        return kernel.is_utf8(block) and not has_number(block, self._digits_max)

    def parse_block(self, block: bytes) -> list[Any] | None:
        """Parse lines that all end with a line feed, in one call; return what `parse` returns.

        Returns None unless each line holds exactly one object that the parser accepts.  msgspec
        reads the objects one after the other and does not look at line feeds, so an object that
        marks its end is put after each line.
        """
        marked = block.replace(b"\n", self._marker)
        count = (len(marked) - len(block)) // (len(self._marker) - 1)
        try:
            parsed = self._decode_all(marked)
        except self._refusals:
            return None
        values, marks = parsed[::2], [each.id for each in parsed[1::2]]
        return values if len(values) == count and marks == [MARK] * count else None

    def parse(self, lines: Iterator[bytes]) -> list[Any]:
        """Parse lines up to the first one that is refused; return objects with `text` and `id`."""
        parsed: list[Any] = []
        with suppress(*self._refusals):
            # The list keeps what was parsed before an exception.
            parsed.extend(map(self._decode, lines))
        return parsed


def line_parser(reading: Reading) -> LineParser | None:
    """Return a parser for these fields; None if msgspec is missing or cannot parse them."""
    try:
        return LineParser(import_module("msgspec"), reading)
    except (ImportError, ValueError):
        return None


def has_number(block: bytes, digits_max: int) -> bool:
    """Return whether more than `digits_max` digits follow each other; 0 is no limit.

    So many digits lie on a multiple of `digits_max`, so only those places are looked at.
    """
    if not digits_max:
        return False
    for number, byte in enumerate(block[::digits_max]):
        if byte in DIGITS:
            place = number * digits_max
            before = block[max(0, place - digits_max) : place]
            after = block[place : place + digits_max + 1]
            rest = len(before.rstrip(DIGITS)) + len(after.lstrip(DIGITS))
            if len(before) + len(after) - rest > digits_max:
                return True
    return False
