"""Nesting: refuses HTML pages that the parser would need quadratic time for.

The parser needs time in the square of the length if elements are nested thousands deep, if one
tag has thousands of attributes, and if formatting elements that are never closed are opened again
in every block.  Counting a few bytes shows that a page is ordinary.  Only a page with thousands of
elements without an end, or a long stretch without the end of a tag, is read tag by tag, and only
as exactly as the decision needs.
"""

import re
from collections import Counter

import numpy as np

from simdb.ground.errors import InputError

DEPTH_MAX = 4000
ATTRIBUTES_MAX = 2000
# How often formatting elements may be opened again in one page: some tenths of a second.
REOPENED_MAX = 200_000
# A page with at most so many unclosed elements and no longer tag is parsed in a moment.
UNCLOSED_FEW = 1000
TAG_BYTES_FEW = 1 << 14

# These elements have no end tag, or end where the next one begins; alone they never nest deep.
FLAT = [b"br", b"img", b"li", b"p", b"td", b"tr", b"option", b"input", b"dd", b"dt", b"th", b"hr",
        b"link", b"meta", b"wbr", b"area", b"base", b"col", b"embed", b"param", b"source",
        b"track", b"tbody", b"thead", b"tfoot"]  # fmt: skip
FORMATTING = frozenset([b"a", b"b", b"big", b"code", b"em", b"font", b"i", b"nobr", b"s", b"small",
                        b"strike", b"strong", b"tt", b"u"])  # fmt: skip
RAW = frozenset([b"script", b"style", b"textarea", b"title", b"xmp", b"iframe", b"noembed",
                 b"noframes", b"noscript", b"plaintext"])  # fmt: skip
ALIKE_MOST = 3  # of equal formatting elements, the parser opens no more than these again

_TAG = re.compile(
    rb"""<!--|<(/?)([a-zA-Z][^\s/>]*)((?:[^>"']+|"[^"]*"|'[^']*')*)""",
)
_ATTRIBUTE = re.compile(
    rb"""[^\s/>=][^\s/>=]*(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s>"'][^\s>]*))?""",
)


def check_nesting(page: bytes, position: int) -> None:
    """Raise InputError for a page that would take the parser too long."""
    if not _is_ordinary(page):
        problem = _Reading(page).problem()
        if problem is not None:
            raise InputError(
                f"document {position} cannot be read as HTML in reasonable time: {problem}; is it"
                " a page?  Leave it out, or pass its text to a sketch without markup='html'"
            )


def _is_ordinary(page: bytes) -> bool:
    """Return whether, by counts of bytes, few elements stay open and no tag is long."""
    codes = np.frombuffer(page, np.uint8)
    closings = np.flatnonzero(codes == ord(">"))
    longest = int(np.diff(closings, prepend=0, append=len(codes)).max(initial=0))
    following = codes[1:][codes[:-1] == ord("<")]
    starts = int(np.count_nonzero((following | 32) - np.uint8(ord("a")) < 26))
    ends = int(np.count_nonzero(following == ord("/")))
    # More ends than starts come from tags inside quotes or from elements that were never opened.
    is_even = max(ends - starts, len(closings) - len(following)) <= UNCLOSED_FEW
    if longest > TAG_BYTES_FEW or not is_even:
        return False
    unclosed = starts - ends
    for name in FLAT:
        if unclosed <= UNCLOSED_FEW:
            return True
        unclosed -= max(page.count(b"<" + name) - page.count(b"</" + name), 0)
    return unclosed <= UNCLOSED_FEW


class _Reading:
    """A reader of the tags of one page, from the first to the last."""

    def __init__(self, page: bytes) -> None:
        """Start at the first tag of `page`."""
        self._page = page
        self._stack: list[bytes] = []
        self._open: Counter[bytes] = Counter()
        # Formatting elements that were not closed, even if a block around them was.
        self._formatting: dict[bytes, Counter[bytes]] = {}
        self._formatting_count = 0
        self._reopened = 0

    def problem(self) -> str | None:
        """Return why the page would take the parser long; None if it would not."""
        at, page = 0, self._page
        while (tag := _TAG.search(page, at)) is not None:
            at = tag.end()
            if tag.group(2) is None:
                at = _after(page, b"-->", at - 2)
                continue
            name = tag.group(2).lower()
            if tag.group(1):
                self._close(name)
            else:
                self._begin(name, tag.group(3))
                if name in RAW:
                    at = _after_raw(page, name, at)
            problem = self._excess(tag.group(3))
            if problem is not None:
                return problem
        return None

    def _begin(self, name: bytes, attributes: bytes) -> None:
        """Count an opening tag."""
        self._reopened += self._formatting_count
        if name not in FLAT and not attributes.endswith(b"/"):
            self._stack.append(name)
            self._open[name] += 1
        if name in FORMATTING:
            alike = self._formatting.setdefault(name, Counter())
            if name in (b"a", b"nobr"):
                self._formatting_count -= alike.total()
                alike.clear()
            if alike[attributes] < ALIKE_MOST:
                alike[attributes] += 1
                self._formatting_count += 1

    def _close(self, name: bytes) -> None:
        """Count a closing tag: it also closes the elements opened inside its own."""
        if self._open[name]:
            while (last := self._stack.pop()) != name:
                self._open[last] -= 1
            self._open[name] -= 1
        alike = self._formatting.get(name)
        if alike:
            youngest = next(reversed(alike))
            alike[youngest] -= 1
            self._formatting_count -= 1
            if not alike[youngest]:
                del alike[youngest]

    def _excess(self, attributes: bytes) -> str | None:
        """Return which limit the page exceeds so far; None if it keeps all."""
        if len(self._stack) > DEPTH_MAX:
            return f"elements are nested more than {DEPTH_MAX} deep"
        if self._reopened > REOPENED_MAX:
            return "formatting elements that are never closed extend over too many others"
        if len(attributes) > 2 * ATTRIBUTES_MAX:
            count = sum(1 for _ in _ATTRIBUTE.finditer(attributes))
            if count > ATTRIBUTES_MAX:
                return f"a tag has {count} attributes, more than {ATTRIBUTES_MAX}"
        return None


def _after(page: bytes, ending: bytes, start: int) -> int:
    """Return the position after the next `ending`, or the end of the page."""
    found = page.find(ending, start)
    return len(page) if found < 0 else found + len(ending)


def _after_raw(page: bytes, name: bytes, start: int) -> int:
    """Return the position of the end tag of an element without tags inside, or the page's end."""
    found = re.compile(rb"</" + name, re.IGNORECASE).search(page, start)
    return len(page) if found is None else found.start()
