"""Table blocks: cuts CSV and TSV files into blocks of whole rows.

A quote opens a quoted text if it follows a delimiter or the end of a line, and the next one closes
it unless it is doubled; any other quote stands for itself.  So the places of the quotes tell, from
the start of the file on, where a row can end.  The standard library and pyarrow read the same rows.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from simdb.sources.content import DOCUMENT_BYTES_MAX

QUOTE, LINE_FEED, RETURN = b'"\n\r'

I64 = npt.NDArray[np.int64]


class TableBlock(NamedTuple):
    """Some bytes of a table, where they start, and its quoted texts, see `quoted`.

    Without `quotes` the standard library must read the block: a quoted text is not closed.
    """

    start: int
    content: bytes
    quotes: I64 | None


class BlockRows(NamedTuple):
    """The rows of a block that are not empty: where they start and stop, and their lines.

    `lines`: how many lines of the block are before each row.
    """

    starts: I64
    stops: I64
    lines: I64


class TableBlocks:
    """The blocks of whole rows of a table; its last row gets a line feed if it has none."""

    def __init__(self, blocks: Iterable[tuple[int, bytes]], delimiter: str) -> None:
        """Read `blocks` of whole lines, which begin with a row."""
        self._source = iter(blocks)
        self._delimiter = delimiter
        self.rest: Iterator[bytes] = iter(())

    def __iter__(self) -> Iterator[TableBlock]:
        """Yield the blocks; if no row ends for very long, stop, and leave all else to `rest`."""
        held, start = b"", 0
        for first, piece in self._source:
            start = start if held else first
            content = held + piece if held else piece
            quotes = quoted(content, self._delimiter)
            stop = len(content) if len(quotes) % 2 == 0 else _last_end(content, quotes)
            held = content[stop:]
            if stop:
                is_ended = held or content.endswith(b"\n")
                whole = content[:stop] if held else content if is_ended else content + b"\n"
                yield TableBlock(start, whole, quotes[: bisect_left(quotes, stop)])
                start += stop
            if len(held) > DOCUMENT_BYTES_MAX:
                self.rest = chain([held], (piece for _, piece in self._source))
                return
        if held:
            yield TableBlock(start, held, None)


def quoted(content: bytes, delimiter: str) -> I64:
    """Return where quoted texts open and close, in turn; `content` begins with a row.

    A doubled quote can be in it, too, as the end of a text and the start of the next one.
    """
    codes = np.frombuffer(content, np.uint8)
    quotes = np.flatnonzero(codes == QUOTE)
    if not len(quotes):
        return quotes
    is_edge = np.zeros(256, np.bool_)
    is_edge[[LINE_FEED, RETURN, ord(delimiter)]] = True
    is_double = np.diff(quotes, append=len(codes) + 1) == 1  # with the next one
    opens = is_edge[codes[quotes - 1]]
    opens[0] |= quotes[0] == 0
    closes = is_edge[codes[np.minimum(quotes + 1, len(codes) - 1)]]
    closes[-1] |= quotes[-1] == len(codes) - 1
    is_usual = (opens[2::2] | is_double[1:-1:2]).all() and (closes | is_double)[1::2].all()
    if is_usual and opens[0]:
        return quotes
    return _one_by_one(quotes, opens, is_double.tolist())


def rows_of(content: bytes, quotes: I64) -> BlockRows:
    """Return the rows of a block; each ends with a line feed outside quoted texts."""
    codes = np.frombuffer(content, np.uint8)
    feeds = np.flatnonzero(codes == LINE_FEED)
    numbers = np.arange(len(feeds))
    if len(quotes):
        # What is between the line feeds has an even number of quotes if no text is open.
        is_end = np.searchsorted(quotes, feeds) % 2 == 0
        feeds, numbers = feeds[is_end], numbers[is_end]
    stops = feeds + 1
    starts, lines = np.append(0, stops[:-1]), np.append(0, numbers[:-1] + 1)
    sizes = stops - starts
    is_row = (sizes > len("\r\n")) | ((sizes == len("\r\n")) & (codes[starts] != RETURN))
    return BlockRows(starts[is_row], stops[is_row], lines[is_row])


def first_row(content: bytes, delimiter: str) -> bytes:
    """Return the first row of `content` with its line feed; nothing if it does not end there."""
    quotes = quoted(content, delimiter)
    feed = content.find(b"\n")
    while feed >= 0 and bisect_left(quotes, feed) % 2:
        feed = content.find(b"\n", feed + 1)
    return content[: feed + 1]


def _last_end(content: bytes, quotes: I64) -> int:
    """Return where the last row ends that is whole; 0 if there is none."""
    place = len(content)
    while place:
        feed = content.rfind(b"\n", 0, place)
        before = bisect_left(quotes, feed)
        if feed < 0 or before % 2 == 0:
            return feed + 1
        place = int(quotes[before - 1])
    return 0


def _one_by_one(quotes: I64, opens: npt.NDArray[np.bool_], is_double: list[bool]) -> I64:
    """Return what `quoted` does where some quotes stand for themselves."""
    openings = np.flatnonzero(opens).tolist()
    found: list[int] = []
    at = 0
    while (number := bisect_left(openings, at)) < len(openings):
        found.append(openings[number])
        at = openings[number] + 1
        while at < len(quotes) and is_double[at]:
            at += 2
        if at < len(quotes):
            found.append(at)
        at += 1
    return quotes[np.array(found, np.int64)]
