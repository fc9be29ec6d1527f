"""Markup: extracts the visible text of HTML pages, which are decoded and declare nothing more.

Only this module imports `selectolax`, an optional package.  Its Lexbor parser builds the same tree
as browsers do, for any page.  The tree is walked without recursion.  The begin and the end of a
block separate words; tags inside a line, as in "<b>near</b>dup", do not.

The parser needs time in the square of the length if elements are nested thousands deep, if one
tag has thousands of attributes, and if formatting elements that are never closed are opened again
in every block; such pages are refused.  Counting a few bytes shows that a page is ordinary.  Only a
page with thousands of elements without an end, or a long stretch without the end of a tag, is read
tag by tag, and only as exactly as the decision needs.
"""

import codecs
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from simdb.columns.arrow import TextColumn, Texts
from simdb.columns.decoding import as_texts
from simdb.ground.checks import installed
from simdb.ground.errors import InputError
from simdb.settings.text_sketch import TextSketch

REMEDY = "pip install selectolax"

# A browser shows nothing of these elements, or something other than their text.
HIDDEN_TAGS = """
    audio canvas datalist head iframe noembed noframes noscript object rp script style svg template
    title video
"""
# Elements that are in no list are parts of a line.
BLOCK_TAGS = """
    address article aside blockquote body br button caption center dd details dialog dir div dl dt
    fieldset figcaption figure footer form frameset h1 h2 h3 h4 h5 h6 header hgroup hr html img
    input legend li listing main menu nav ol optgroup option p plaintext pre search section select
    summary table tbody td textarea tfoot th thead tr ul xmp
"""
LINK_TAGS = "a"
TEXT, BLOCK, LINE, LINK, HIDDEN = range(5)
GAP = "\n"
MARK = codecs.BOM_UTF8
# It marks where a line break may split a word, and does not belong to the word.
SOFT_HYPHEN = "\u00ad"
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

_TAG = re.compile(rb"""<!--|<(/?)([a-zA-Z][^\s/>]*)((?:[^>"']+|"[^"]*"|'[^']*')*)""")
_ATTRIBUTE = re.compile(rb"""[^\s/>=][^\s/>=]*(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s>"'][^\s>]*))?""")


class Markup:
    """The step of the pipeline from pages to texts."""

    def __init__(self, options: TextSketch) -> None:
        """Raise OptionError if the parser is not installed."""
        self._parser = _load()
        self._has_title = options.html_title
        self._has_links = options.html_links
        self._repeats = _repeats(tuple(options.html_weights))

    def apply(self, pages: Texts, *, replace: bool, start: int) -> list[str]:
        """Return the text of each page; error messages number the pages from `start`."""
        contents = _contents(pages, start, replace)
        return [self._visible(page, position) for position, page in enumerate(contents, start)]

    def _visible(self, content: bytes, position: int) -> str:
        """Return the visible text of a page in UTF-8, and its title and links if asked for."""
        check_nesting(content, position)
        try:
            tree = self._parser.LexborHTMLParser(content, scripting=True)
        except (ValueError, RuntimeError) as error:
            raise InputError(f"document {position} cannot be read as HTML: {error}") from error
        hidden: set[int] = set()
        if b"hidden" in content.lower():
            hidden = {node.mem_id for node in tree.css("[hidden]")}
        title = tree.css_first("head > title") if self._has_title else None
        links: list[str] = []
        pieces = _walked(tree.root, _kinds(), hidden, links, self._repeats)
        if title is not None:
            times = 1 + self._repeats.get(title.tag_id, 0)
            pieces = [*[title.text(), GAP] * times, *pieces]
        if self._has_links:
            pieces += [GAP + link for link in links]
        return "".join(pieces).replace(SOFT_HYPHEN, "").strip()


def as_read(texts: Sequence[Any], sketch: TextSketch) -> list[Any]:
    """Return texts as a reader sees them: the visible text of HTML if `sketch` reads HTML.

    None stays None, and so does a page that cannot be read.
    """
    if sketch.markup == "none":
        return list(texts)
    markup, known = Markup(sketch), as_texts(list(texts), errors="replace")
    return [text if text is None else _or_itself(markup, text) for text in known]


def parser_version() -> str:
    """Give the version of the installed parser, or "" if it is not installed."""
    # Loaded when needed: with all that it imports it is a tenth of the import of simdb.
    metadata = import_module("importlib.metadata")
    try:
        return str(metadata.version("selectolax"))
    except metadata.PackageNotFoundError:
        return ""


def check_nesting(page: bytes, position: int) -> None:
    """Raise InputError for a page that would take the parser too long."""
    if not _is_ordinary(page):
        problem = _Reading(page).problem()
        if problem is not None:
            raise InputError(
                f"document {position} cannot be read as HTML in reasonable time: {problem}; is it"
                " a page?  Leave it out, or pass its text to a sketch without markup='html'"
            )


def _or_itself(markup: Markup, page: str) -> str:
    try:
        return markup.apply([page], replace=True, start=0)[0]
    except InputError:
        return page


def _contents(pages: Texts, start: int, replace: bool) -> Iterator[bytes]:
    """Yield pages in UTF-8 without a byte order mark; InputError for a lone surrogate."""
    if isinstance(pages, TextColumn):
        yield from (content.removeprefix(MARK) for content in pages.contents())
        return
    for position, page in enumerate(pages, start):
        try:
            yield page.encode("utf-8", "replace" if replace else "strict").removeprefix(MARK)
        except UnicodeEncodeError as error:
            raise InputError(f"document {position} has a lone surrogate: {error}") from error


def _walked(
    root: Any,
    kinds: Mapping[int, int],
    hidden: Collection[int],
    links: list[str],
    repeats: Mapping[int, int],
) -> list[str]:
    """Return the pieces of visible text below `root`; append targets of visible links to `links`.

    `hidden`: the nodes that have the attribute `hidden`.  `repeats`: by tag, how often the text of
    an element comes once more, as blocks at the end.
    """
    pieces: list[str] = []
    again: list[str] = []
    above: list[tuple[Any, int, int]] = []
    node = root
    while True:
        kind = kinds.get(node.tag_id, LINE)
        if kind == TEXT:
            pieces.append(node.text_content or "")
        elif kind != HIDDEN and not (hidden and node.mem_id in hidden):
            if kind == BLOCK:
                pieces.append(GAP)
            elif kind == LINK:
                links.append(node.attributes.get("href") or "")
            child = node.first_child
            if child is not None:
                above.append((node, kind, len(pieces)))
                node = child
                continue
        following = node.next
        while following is None:
            if not above:
                return pieces + again
            node, kind, begun = above.pop()
            if repeats and node.tag_id in repeats:
                again += [GAP, *pieces[begun:], GAP] * repeats[node.tag_id]
            if kind == BLOCK:
                pieces.append(GAP)
            following = node.next
        node = following


@cache
def _repeats(weights: tuple[str, ...]) -> dict[int, int]:
    """Return how often the text of an element is repeated, by its parser's tag number."""
    parser = _load()
    pairs = (each.split("=") for each in weights)
    return {parser.create_tag(tag).tag_id: int(weight) - 1 for tag, weight in pairs}


@cache
def _kinds() -> dict[int, int]:
    """Return the kind of each element (TEXT, BLOCK, LINK or HIDDEN) by its parser's tag number."""
    parser = _load()
    numbers = {parser.LexborHTMLParser("text").body.first_child.tag_id: TEXT}
    kinds = {BLOCK: BLOCK_TAGS, HIDDEN: HIDDEN_TAGS, LINK: LINK_TAGS}
    for kind, tags in kinds.items():
        numbers.update((parser.create_tag(tag).tag_id, kind) for tag in tags.split())
    return numbers


@cache
def _load() -> Any:
    """Import the parser; OptionError if it is not installed."""
    return installed("selectolax.lexbor", f"markup='html' needs the package selectolax: {REMEDY}")


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
